"""A store of text options."""

import pytest

from ingest.api import ConfigInvalidError
from ingest.catalog import Catalog
from ingest.config.single_store import single_store


def test_values_get_the_type_of_their_option():
    options = {"port": "9999", "timeout": "5s", "thrift2.host": "localhost", "thrift2.port": "1"}
    store, _ = single_store("hbase", options, name="options", lookup=Catalog())
    found = store.settings.model_dump()
    assert (found["port"], found["timeout"], found["thrift2"]) == (9999, 5.0, {"host": "localhost", "port": 1})


def test_text_that_looks_like_a_number_stays_text():
    store, _ = single_store("rocksdb", {"path": "2026"}, name="options", lookup=Catalog())
    assert store.settings.model_dump()["path"] == "2026"


def test_an_option_and_a_group_of_the_same_name_are_refused():
    with pytest.raises(ConfigInvalidError, match="thrift2"):
        single_store("hbase", {"thrift2.host": "h", "thrift2": "x"}, name="options", lookup=Catalog())

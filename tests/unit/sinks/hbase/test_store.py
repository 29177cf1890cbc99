"""The store on top of a client of HBase."""

from unittest.mock import MagicMock, create_autospec

import pytest

from ingest.api import Durability, StoreRefusedError
from sinks.hbase import store as module
from sinks.hbase.client import HBaseClient
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore


@pytest.fixture
def client(monkeypatch) -> MagicMock:
    made: MagicMock = create_autospec(HBaseClient, instance=True)
    monkeypatch.setattr(module, "_client", lambda _settings: made)
    return made


@pytest.fixture
def store(client) -> HBaseStore:
    return HBaseStore(HBaseSettings(host="localhost"))


class TestReplaceCell:
    def test_one_call_if_nothing_competes(self, client, store):
        client.replace.return_value = True
        assert store.replace_cell("t", b"r", b"f:q", b"1", b"2")
        client.replace.assert_called_once_with("t", b"r", b"f:q", before=b"1", value=b"2")
        client.values.assert_not_called()

    @pytest.mark.parametrize(("found", "is_replaced"), [({b"f:q": b"2"}, True), ({b"f:q": b"3"}, False), ({}, False)])
    def test_cell_is_read_if_an_earlier_attempt_may_have_written_it(self, client, store, found, is_replaced):
        client.replace.return_value = False
        client.values.return_value = found
        assert store.replace_cell("t", b"r", b"f:q", b"1", b"2") is is_replaced


class TestRefusalOfADurability:
    @pytest.mark.parametrize(
        ("version", "family", "durability", "refused"),
        [
            ("3.0.0-alpha-4", b"far", Durability.SKIP, True),
            ("10.1", b"far", Durability.SKIP, True),
            ("3.0.0-alpha-4", b"near", Durability.SKIP, False),
            ("3.0.0-alpha-4", b"far", Durability.SYNC, False),
            ("2.6.1", b"far", Durability.SKIP, False),
            (None, b"far", Durability.SKIP, False),
            ("Unknown", b"far", Durability.SKIP, False),
        ],
    )
    def test_hbase_3_refuses_rows_of_a_replicated_family_without_log(
        self, client, store, version, family, durability, refused
    ):
        client.replicated_families.return_value = frozenset([b"far"])
        client.version.return_value = version
        error = store.refusal_of("t", family, durability)
        assert (error is not None) is refused
        if error is not None:
            assert isinstance(error, StoreRefusedError)
            assert error.message.startswith('a family of table "t" is replicated, and HBase 3 refuses rows without')
            assert error.message.endswith('family "far"')

    def test_version_of_the_servers_is_that_of_the_client(self, client, store):
        client.version.return_value = "2.6.1"
        assert store.server_version() == "2.6.1"

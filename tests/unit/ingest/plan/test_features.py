"""How the features of a table store its rows, by its record, and the readers that they put above each other."""

import json
from pathlib import Path

import pytest

from ingest.api import ConfigError, FamilySpec, TableSpec
from ingest.api.table_reader import ReaderPlace, Recorded, RowKeys
from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.features import added_columns, open_reader, planned_to_read, recorded_of, row_keys
from sinks.memory import MemoryStore
from sinks.rewriting.update_readers import RawReader
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.row_keys import UpdateRowKeys
from tests.support.updated_table import TABLE, UpdateWriter

FILE = {
    "version": 1,
    "stores": {"s": {"rocksdb": {"path": "./data"}}},
    "tables": {
        "counters": {"families": {"c": {}}, "updates": {"processor": "sum"}},
        "events": {"families": {"c": {}}, "blobs": {}},
        "plain": {"families": {"c": {}}},
    },
    "pipelines": {
        "p": {
            "source": {"files": {"path": "./in"}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{body}"}}],
            "sinks": [{"attr2hbase": {"table": "plain"}}],
        }
    },
}


@pytest.fixture
def plain():
    """A store with a table without features, `plain`."""
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec("plain", (FamilySpec(b"f"),), buckets=4))
    return store


def test_row_keys_are_stored_as_they_are_without_a_feature():
    keys = row_keys(Recorded(4, {}))
    assert type(keys) is RowKeys
    assert keys.logical(b"a\x00") == b"a\x00"
    assert keys.range_of(b"a", None) == (b"a", None)
    assert keys.whole(b"a\x00") == b"a\x00"


def test_the_record_says_how_row_keys_are_stored():
    store = UpdateWriter(buckets=3).store
    store.set_property(TABLE, "of_another_use", None, "long")
    recorded = recorded_of(store, TABLE)
    assert recorded == Recorded(3, {"updates": '{"processor": "sum"}'})
    assert isinstance(row_keys(recorded), UpdateRowKeys)
    assert Recorded.of(store, TABLE).properties["of_another_use"] == "long"


def test_a_table_without_features_is_read_as_it_is(plain):
    reader = open_reader(ReaderPlace(plain, "plain", recorded_of(plain, "plain")), {})
    assert isinstance(reader, PlainReader)
    assert reader.distribution is not None
    assert reader.distribution.buckets == 4


def test_an_option_of_a_feature_that_the_table_lacks_is_refused(plain):
    place = ReaderPlace(plain, "plain", recorded_of(plain, "plain"), frozenset({"raw"}))
    with pytest.raises(ConfigError, match='table "plain" has no deferred updates') as raised:
        open_reader(place, {})
    assert raised.value.hint == "leave the option raw out"
    assert isinstance(open_reader(place, {}, without_effect={"raw"}), PlainReader)


def test_an_option_of_a_feature_that_the_table_has_is_taken():
    store = UpdateWriter().store
    reader = open_reader(ReaderPlace(store, TABLE, recorded_of(store, TABLE), frozenset({"raw"})), {})
    assert isinstance(reader, RawReader)


def test_an_option_may_add_a_column_to_a_data_frame():
    (column,) = added_columns({"blobs", "raw"})
    assert (column.name, column.fields["start_time"]) == ("update_row", "bigint")
    assert added_columns({"blobs"}) == []


def test_what_readers_need_is_planned_of_declared_tables(tmp_path: Path):
    (tmp_path / "p.yaml").write_text(json.dumps(FILE))
    configuration = load(str(tmp_path / "p.yaml"), env={}, lookup=Catalog())

    def planned(table: str, store: str = "s"):
        return planned_to_read(configuration, store, table, Catalog())

    assert json.loads(planned("counters")["updates"].identity())["processor"] == "sum"
    events = planned("events")["blobs"]
    assert (events.blobs.name, events.owner) == ("events_blobs", None)
    others = planned("events_blobs_meta")["blobs"]
    assert (others.blobs, others.owner) == (None, "events")
    assert [planned("plain"), planned("absent"), planned("counters", "other")] == [{}, {}, {}]

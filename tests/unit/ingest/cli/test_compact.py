"""`ingest compact`, on an embedded store whose service is stopped."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.rewriting.table_lease import LEASE, TableLease
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.keys import UpdateKey, start_of
from sinks.updates.marks import MARK, TableMark

FILE = """
version: 1
stores: {local: {rocksdb: {path: ./data}}}
tables:
  counters: {families: {c: {}}, updates: {processor: sum}}
  plain: {families: {c: {}}}
  unwritten: {families: {c: {}}, updates: {processor: sum}}
pipelines:
  hits:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks: [{hbase: {table: counters, row_key: {template: "%{host}"}, cells: [{family: c, qualifier: hits, value: "1"}]}}]
"""
HOUR = 3_600_000
T = 1_700_000_000_000 // HOUR * HOUR


@pytest.fixture
def file(folder) -> str:
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        store.ensure_table(TableSpec("counters", (FamilySpec(b"c"),)))
        store.set_property("counters", UPDATES, None, "{}")
        for host in (b"a", b"b"):
            for number in range(6):
                time_ms = T + number * HOUR // 2
                store.apply(
                    "counters", [Put(UpdateKey(host, start_of(time_ms, 0)).encoded(), {b"c:hits": b"2"}, time_ms)]
                )
    return "p.yaml"


@contextmanager
def opened() -> Iterator[RocksDBStore]:
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    try:
        yield store
    finally:
        store.close()


def mark(time_ms: int) -> None:
    with opened() as store:
        assert store.set_property("counters", MARK, None, TableMark(time_ms, {}).to_text())


def test_updates_of_each_window_become_one(ingest, file):
    mark(T + 5 * HOUR // 2)
    dry = ingest("compact", file, "counters", "--dry-run", "--older-than", "0s", "--output", "json").json
    done = ingest("compact", file, "counters", "--older-than", "0s", "--output", "json").json
    assert (dry.pop("dry_run"), done.pop("dry_run")) == (True, False)
    seconds = dry.pop("seconds"), done.pop("seconds")
    assert all(0 <= each < 60 for each in seconds)
    assert dry == done
    assert done == {
        "table": "counters",
        "bound_ms": T + 5 * HOUR // 2,
        "keys": 2,
        "update_rows": 12,
        "written": 6,
        "replaced": 12,
        "left": 0,
        "examples": [],
        "rows_per_key": {"p50": 6, "p99": 6},
    }
    again = ingest("compact", file, "counters", "--older-than", "0s", "--window", "1d", "--output", "json").json
    assert again["replaced"] in (4, 6)  # one or two days
    with opened() as store:
        assert LEASE not in store.properties("counters")


def test_newer_updates_stay(ingest, file):
    mark(T + 5 * HOUR // 2)
    result = ingest("compact", file, "counters")
    assert result.code == 0, result.err
    assert "8 update rows up to 2023-11-14T23:30:00.000Z replaced" in result.out + result.err
    assert ingest("compact", file, "counters", "--output", "json").json["replaced"] == 0


def test_table_without_a_mark_is_not_compacted(ingest, file):
    result = ingest("compact", file, "counters")
    assert (result.code, "has no complete micro-batch yet" in result.err) == (0, True)
    assert ingest("compact", file, "counters", "--output", "json").json["bound_ms"] is None


def test_store_of_a_running_service_is_refused(ingest, file):
    mark(T)
    with opened():
        result = ingest("compact", file, "counters")
        assert (result.code, "is held by process" in result.err) == (4, True)
        assert ingest("compact", file, "counters", "--dry-run").code == 0


def test_lease_of_a_killed_compaction_is_taken_over(ingest, file):
    mark(T + 5 * HOUR // 2)
    with opened() as store:
        TableLease("counters", "compaction", process="killed").take(store)
    assert ingest("compact", file, "counters").code == 0
    with opened() as store:
        TableLease("counters", "compaction").take(store)  # of this process, so it is alive
    result = ingest("compact", file, "counters")
    assert (result.code, "are being rewritten: a compaction by pid" in result.err) == (4, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["countres"], 3, 'did you mean "counters"?'),
        (["plain"], 2, "has no deferred updates"),
        (["unwritten"], 2, "no pipeline of the file writes"),
        (["counters", "--window", "0s"], 2, "--window is shorter than a millisecond"),
        (["counters", "--older-than", "1 year"], 2, '--older-than: "1 year" is not a duration'),
    ],
)
def test_refused(ingest, file, arguments: list[str], code: int, message: str):
    result = ingest("compact", file, *arguments)
    assert (result.code, message in result.err) == (code, True), result.err

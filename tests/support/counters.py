"""A pipeline file with a table of deferred updates in an embedded store, and its updates."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingest.api import FamilySpec, Put, TableSpec
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES
from sinks.updates.keys import UpdateKey, update_id_of

FILE = """
version: 1
service: {http: {listen: "127.0.0.1:1"}}  # no service answers there
stores: {local: {rocksdb: {path: ./data}}}
tables:
  counters: {families: {c: {}}, updates: {processor: sum}}
  plain: {families: {c: {}}}
  unwritten: {families: {c: {}}, updates: {processor: sum}}
pipelines:
  hits:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks:
      - hbase: {table: counters, row_key: {template: "%{host}"}, cells: [{family: c, qualifier: hits, value: "1"}]}
"""
IDENTITY = '{"columns": [], "options": {"type": "decimal"}, "processor": "sum"}'
HOUR = 3_600_000
T = 1_700_000_000_000 // HOUR * HOUR


def written(folder: Path) -> str:
    """Write the file, and six updates of two rows, half an hour apart; returns its name."""
    (folder / "p.yaml").write_text(FILE)
    with opened() as store:
        store.ensure_table(TableSpec("counters", (FamilySpec(b"c"),)))
        store.set_property("counters", UPDATES, None, IDENTITY)
        for host in (b"a", b"b"):
            for number in range(6):
                time_ms = T + number * HOUR // 2
                store.apply(
                    "counters", [Put(UpdateKey(host, update_id_of(time_ms, 0)).encoded(), {b"c:hits": b"2"}, time_ms)]
                )
    return "p.yaml"


@contextmanager
def opened() -> Iterator[RocksDBStore]:
    """The store in the working directory."""
    store = RocksDBStore(RocksDBSettings(path="./data"))
    store.open()
    try:
        yield store
    finally:
        store.close()


def commit(time_ms: int, table: str = "counters") -> None:
    """Set the committed position of a table."""
    with opened() as store:
        before = store.properties(table).get(COMMITTED)
        assert store.set_property(table, COMMITTED, before, CommittedPosition(time_ms, {}).to_text())

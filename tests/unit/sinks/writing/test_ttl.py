"""The time to live of an event's cells, from the option of a sink to a store with buckets."""

from pathlib import Path

import pytest

from ingest.api import (
    Capabilities,
    Delete,
    Event,
    FamilySpec,
    MappingError,
    Mutation,
    Put,
    Scan,
    TableSpec,
    WriteCounts,
    WriteRejectedError,
)
from ingest.plan.assemble import store_sink
from ingest.testing.events import settings_of
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.plain_reader import PlainReader
from sinks.writing.apply_staged import apply_staged
from sinks.writing.messages import Prepared, StoreResult, packed_probe, unpacked_probe
from sinks.writing.sending import DirectSender
from sinks.writing.staging import StagingWriter
from sinks.writing.writer import Writer
from tests.support.parts import planned
from tests.support.way import Way, sink_of
from tests.support.without_spark import spec_of

BATCH_MS = 1_000
HBASE_LIKE = Capabilities(written_by_driver=False, creates_families=False, creates_tables=False)


def event(row: bytes, ttl: bytes, **cells: bytes) -> Event:
    return Event(b"", {"2hb_": row, "ttl": ttl} | {f"2hb_f:{name}": value for name, value in cells.items()})


def test_cells_of_a_row_expire_each_after_its_own_time_to_live() -> None:
    now = [BATCH_MS]
    store = MemoryStore(clock_ms=lambda: now[0])
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=4))
    settings = settings_of(Attr2HBaseSettings, "{table: t, ttl: '%{ttl}'}")
    sink = sink_of([DirectSender(store)], capabilities=HBASE_LIKE)
    written = Way(Attr2HBase(settings), sink)
    written.begin(spec_of(BATCH_MS), Prepared(declared={"t": RowFormat(4)}), WriteCounts())
    for each in (
        event(b"r", b"5ms", a=b"1", b=b"1", c=b"1"),
        event(b"r", b"9ms", b=b"2"),
        event(b"r", b"", c=b"2"),
        event(b"s", b"5ms", a=b"1"),
    ):
        assert written.write(each) is None
    written.flush()

    def seen() -> dict[bytes, dict[bytes, bytes]]:
        rows = PlainReader.of(store, "t").scan(Scan())
        return {row.key: {cell.qualifier: cell.value for cell in row.cells} for row in rows}

    assert seen() == {b"r": {b"a": b"1", b"b": b"2", b"c": b"2"}, b"s": {b"a": b"1"}}
    now[0] = BATCH_MS + 6
    assert seen() == {b"r": {b"b": b"2", b"c": b"2"}}
    now[0] = BATCH_MS + 10
    assert seen() == {b"r": {b"c": b"2"}}


def test_the_rows_of_a_probe_have_it_too() -> None:
    settings = settings_of(Attr2HBaseSettings, "{table: t, ttl: '%{ttl}'}")
    [(table, put)] = Attr2HBase(settings).map(event(b"r", b"5ms", a=b"1"), BATCH_MS)
    assert unpacked_probe(packed_probe(table, [put])) == ("t", [put])
    assert put.ttl_ms == 5


def test_events_fail_whose_cells_a_store_of_the_driver_gives_none(tmp_path: Path) -> None:
    """As those of the mapper of a plugin, whose options no file has."""
    settings = settings_of(Attr2HBaseSettings, "{table: t, ttl: '%{ttl}'}")
    rocksdb = RocksDBSettings(path=str(tmp_path / "store"))
    sink = store_sink(planned("logs", "sinks.rocksdb.store:RocksDBStore", rocksdb), buffer_bytes=1 << 20, deletes=False)
    write = Writer(Attr2HBase(settings), sink).write

    def attempt(number: int, known: StoreResult) -> tuple[list[tuple[bytes, str]], StoreResult]:
        """Row keys of the events that fail, with the codes, and what the task says."""
        folder = str(tmp_path / "incoming" / str(number))
        prepared = Prepared(folder=folder, families={"t": frozenset([b"f"])}, refused=known.refused)
        sink.begin(spec_of(BATCH_MS), prepared.packed(), WriteCounts())
        failed = []
        for row, ttl in ((b"r", b"5ms"), (b"s", b""), (b"r", b"")):
            try:
                assert write(event(row, ttl, a=ttl)) is None
            except MappingError as error:
                failed.append((row, error.code))
        sink.split_end()
        return failed, StoreResult.unpacked(sink.flush().payload)

    none, first = attempt(1, StoreResult())
    assert (none, list(first.refused)) == ([], [("t", b"r")])
    failed, second = attempt(2, first)
    assert (failed, second.refused) == ([(b"r", "write_rejected")], {})
    sink.close()
    assert second.staged is not None
    store = RocksDBStore(rocksdb)
    store.open()
    store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    apply_staged(store, [second.staged])
    rows = list(store.scan("t", Scan()))
    assert [(row.key, row.cells[0].value) for row in rows] == [(b"r", b""), (b"s", b"")]
    store.close()


def test_a_staged_file_has_no_part_of_a_call_that_is_refused(tmp_path: Path) -> None:
    staging = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    staging.begin(str(tmp_path / "a"), {})
    mutations: list[Mutation] = [
        Delete(b"r", 1),
        *(Put(b"r", {b"f:q": b"1"}, 1, ttl_ms=ttl_ms) for ttl_ms in (7, None, 8)),
    ]
    with pytest.raises(WriteRejectedError, match="a rocksdb store keeps no time to live") as caught:
        staging.apply("t", mutations)
    assert (caught.value.indexes, caught.value.hint) == ([1, 3], "write `ttl` of their family under `tables`")
    assert staging.finish() is None

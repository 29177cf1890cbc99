"""The time to live of an event's cells, from the option of a sink to a store with buckets."""

from ingest.api import Capabilities, Event, FamilySpec, Scan, TableSpec, WriteCounts
from ingest.testing.events import settings_of
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.memory import MemoryStore
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.table_reader import TableReader
from sinks.writing.messages import Prepared, packed_probe, unpacked_probe
from sinks.writing.sending import DirectSender
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
        rows = TableReader(store, "t").scan(Scan())
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

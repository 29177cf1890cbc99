"""The readers of a table with deferred updates."""

import pytest

from ingest.api import Cell, ConfigError, Row, Scan, ScanCounts, TimeRange, UpdatesDifferError, next_key
from ingest.api.table_reader import ReaderPlace, Recorded, StoredKey
from sinks.rewriting.update_readers import MergedReader, RawReader
from sinks.scanning.plain_reader import PlainReader
from sinks.updates.feature import UPDATE_ROW, Updates
from sinks.updates.keys import UpdateKey, update_id_of
from sinks.updates.row_keys import UpdateRowKeys
from tests.support.update_rows import SUM
from tests.support.updated_table import TABLE, UpdateWriter

MERGED = [Row(row, (Cell(b"f", b"n", 2, b"4"),)) for row in (b"a", b"b")]
ONE = Scan(b"a", next_key(b"a"))
FIRST, SECOND = (
    {
        "start_time": time,
        "start_split": 0,
        "end_time": time,
        "end_split": 0,
        "is_merged": False,
        "is_orphaned": False,
    }
    for time in (1, 2)
)


@pytest.fixture(params=[None, 3], ids=["plain", "salted"])
def written(request) -> UpdateWriter:
    """A table with two rows, each with two update rows."""
    written = UpdateWriter(buckets=request.param)
    for time in (1, 2):
        for row in (b"a", b"b"):
            written.add(row, update_id_of(time, 0), {b"f:n": b"2"})
    return written


@pytest.fixture
def place(written: UpdateWriter) -> ReaderPlace:
    return ReaderPlace(written.store, TABLE, Recorded.of(written.store, TABLE))


def physical(written: UpdateWriter, row: bytes) -> tuple[bytes, bytes]:
    """The range of physical row keys of a row."""
    key = (written.rows.physical_key() or bytes)(UpdateKey(row, update_id_of(1, 0)).encoded())
    start, stop = UpdateRowKeys().range_of(row, next_key(row))
    bucket = b"" if written.rows.buckets is None else key[:1]
    assert stop is not None
    return bucket + start, bucket + stop


def test_rows_are_merged(place: ReaderPlace, written: UpdateWriter):
    reader = MergedReader(place, SUM)
    assert list(reader.scan(Scan())) == MERGED
    assert MERGED[0] == reader.get(b"a")
    assert reader.get(b"absent") is None
    start, stop = physical(written, b"a")
    assert [(MERGED[0], ())] == list(reader.in_range(Scan(start, stop)))


def test_commands_show_how_rows_are_merged(place: ReaderPlace):
    reader, counts = MergedReader(place, SUM), ScanCounts()
    (shown,) = reader.shown_one(b"a", ONE, counts)
    assert (shown.row, shown.summary, shown.notes) == (MERGED[0], "merged of 2 update rows", [])
    assert shown.more == {"update_rows": 2, "orphaned": 0, "unmerged": []}
    assert [shown] == list(reader.shown(ONE, counts))
    assert [each.row for each in reader.shown(Scan(), counts)] == MERGED
    stats = reader.stats()
    assert stats.counts == {"merged_rows": 4, "update_rows": 8}
    assert stats.text == "4 rows merged of 8 update rows, 2 for each"
    assert list(reader.shown_one(b"absent", Scan(b"absent"), counts)) == []
    assert list(reader.next_command("a")) == ["history", TABLE, "a"]


@pytest.mark.parametrize("scan", [Scan(versions=2), Scan(times=TimeRange(1))])
def test_versions_and_times_are_refused(place: ReaderPlace, scan: Scan):
    reader = MergedReader(place, SUM)
    with pytest.raises(ConfigError, match="cannot be read with"):
        reader.check(scan)
    with pytest.raises(ConfigError, match="cannot be read with"):
        list(reader.shown(scan, ScanCounts()))
    RawReader(place).check(scan)


def test_the_key_of_an_update_row_is_told_from_a_logical_one(place: ReaderPlace, written: UpdateWriter):
    key = (written.rows.physical_key() or bytes)(UpdateKey(b"a", update_id_of(1, 0)).encoded())
    expected = StoredKey(b"a", "the key of an update row; write the logical row key")
    assert expected == MergedReader(place, SUM).stored_key(key)
    assert MergedReader(place, SUM).stored_key(b"a") is None
    assert RawReader(place).stored_key(key) is None


def test_raw_rows_have_what_they_cover(place: ReaderPlace, written: UpdateWriter):
    reader = RawReader(place)
    rows = [Row(row, (Cell(b"f", b"n", time, b"2"),)) for row in (b"a", b"b") for time in (1, 2)]
    assert rows == list(reader.scan(Scan()))
    assert rows[0] == reader.get(b"a")
    assert reader.get(b"a", columns=[b"f:other"]) is None
    start, stop = physical(written, b"a")
    assert [(rows[0], (FIRST,)), (rows[1], (SECOND,))] == list(reader.in_range(Scan(start, stop)))
    assert UPDATE_ROW.fields.keys() == FIRST.keys()
    shown = list(reader.shown(Scan(), ScanCounts()))
    assert rows == [each.row for each in shown]
    assert shown[:2] == list(reader.shown_one(b"a", ONE, ScanCounts()))
    assert shown[0].head == "1970-01-01T00:00:00.001Z split 0"
    interval = {"time": 1, "split": 0}
    assert {"start": interval, "end": interval, "is_merged": False, "is_orphaned": False} == shown[0].about
    assert list(reader.next_command("a")) == []


def test_the_record_of_a_table_decides(place: ReaderPlace):
    below = PlainReader.of(place.store, TABLE)
    with pytest.raises(UpdatesDifferError, match="but the file declares no deferred updates"):
        Updates().reader(below, None, place)
    raw = ReaderPlace(place.store, TABLE, place.recorded, frozenset({"raw"}))
    assert isinstance(Updates().reader(below, None, raw), RawReader)
    assert Updates().reader(below, None, ReaderPlace(place.store, TABLE, Recorded())) is None

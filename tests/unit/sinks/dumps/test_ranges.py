"""Ranges of a table as files: where a file ends, what remains, and the rate."""

from collections.abc import Iterable

import pytest

from ingest.api import ConfigError, FamilySpec, Put, Row, StoreUnavailableError, TableSpec
from sinks.dumps.manifest import DumpedPart, TableFile
from sinks.dumps.ranges import (
    PARTS_OF_RANGE,
    DumpRange,
    DumpTarget,
    Limits,
    RangeDump,
    remaining_of,
)
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.keys import last_update_id_of
from tests.support.clock import Clock
from tests.support.stored_updates import add, create
from tests.support.update_rows import SUM

TABLE = "t"
KEYS = [b"%03d" % number for number in range(10)]
WHOLE = DumpRange(TABLE, b"", None, 0)


class Files:
    """Files of a dump in memory."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Row]] = {}
        self.error: Exception | None = None

    def write(self, table: str, part: int, rows: Iterable[Row]) -> TableFile | None:
        found = list(rows)
        if self.error is not None:
            raise self.error
        if not found:
            return None
        self.rows[part] = found
        return TableFile(f"{table}-{part}", len(found), 1, "", found[0].key, found[-1].key)

    @property
    def keys(self) -> list[list[bytes]]:
        return [[row.key for row in rows] for _, rows in sorted(self.rows.items())]


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.open()
    store.ensure_table(TableSpec(TABLE, (FamilySpec(b"f"),)))
    store.apply(TABLE, [Put(key, {b"f:q": b"v" * 9}, 5) for key in KEYS])
    return store


@pytest.fixture
def files() -> Files:
    return Files()


def dump(store, files: Files, limits: Limits | None = None, **options: object) -> RangeDump:
    targets = {TABLE: options.pop("target", DumpTarget(TABLE, RowFormat.recorded(store, TABLE)))}
    return RangeDump(store, targets, {TABLE: SUM}, files.write, limits, **options)


def test_files_end_by_size(store, files):
    size = 3 + 9 + 40  # key, value and the rest of a cell
    ended = dump(store, files, Limits(file_bytes=4 * size)).run_slice([WHOLE], lambda: True)
    assert files.keys == [KEYS[:4], KEYS[4:8], KEYS[8:]]
    assert [(part.number, part.file is None) for part in ended.parts] == [(0, False), (1, False), (2, False), (3, True)]
    assert (ended.remaining, ended.error) == ([], None)


def test_range_whose_last_file_is_full(store, files):
    ended = dump(store, files, Limits(file_bytes=5 * 52)).run_slice([WHOLE], lambda: True)
    assert files.keys == [KEYS[:5], KEYS[5:]]
    assert ended.parts[-1] == DumpedPart(TABLE, 2, None)


def test_range_without_rows(store, files):
    ended = dump(store, files).run_slice([DumpRange(TABLE, b"x", None, 7)], lambda: True)
    assert ended.parts == [DumpedPart(TABLE, 7, None)]
    assert files.rows == {}


def test_one_file_at_least_is_written(store, files):
    ranges = DumpRange.numbered(TABLE, [(b"", b"005"), (b"005", None)])
    ended = dump(store, files, Limits(file_bytes=3 * 52)).run_slice(ranges, lambda: False)
    assert files.keys == [KEYS[:3]]
    assert ended.remaining == [DumpRange(TABLE, b"002\x00", b"005", 1), DumpRange(TABLE, b"005", None, PARTS_OF_RANGE)]


def test_file_ends_when_its_time_is_up(store, files):
    clock = Clock(0.0)
    store.apply(TABLE, [Put(b"%03d" % number, {b"f:q": b""}, 5) for number in range(250)])
    target = dump(store, files, Limits(file_s=1.0), clock=clock)
    write, files.write = files.write, None
    assert write is not None

    def slow(rows: Iterable[Row]) -> Iterable[Row]:
        for row in rows:
            clock.now += 0.01
            yield row

    target._write = lambda table, part, rows: write(table, part, slow(rows))
    target.run_slice([WHOLE], lambda: True)
    assert [len(rows) for rows in files.rows.values()] == [100, 100, 50]


def test_unavailable_store_is_no_error_of_the_unit(store, files):
    files.error = StoreUnavailableError("away")
    ended = dump(store, files).run_slice([WHOLE], lambda: True)
    assert (ended.parts, ended.remaining, ended.error) == ([], [WHOLE], files.error)


def test_rate(store, files):
    clock, waits = Clock(0.0), []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.now += seconds

    store.apply(TABLE, [Put(b"%05d" % number, {b"f:q": b""}, 5) for number in range(1_000)])
    dump(store, files, Limits(rows_per_s=100), clock=clock, sleep=sleep).run_slice([WHOLE], lambda: True)
    assert sum(waits) == pytest.approx(10.1)  # of 1,010 rows


def test_rate_after_a_pause_is_no_burst(store, files):
    clock, waits = Clock(0.0), []
    store.apply(TABLE, [Put(b"%05d" % number, {b"f:q": b""}, 5) for number in range(1_000)])
    paused = dump(store, files, Limits(rows_per_s=100), clock=clock, sleep=waits.append)
    clock.now += 60.0
    paused.run_slice([WHOLE], lambda: True)
    assert waits[-1] == pytest.approx(9.1)  # of 1,010 rows, one second of the pause counts


@pytest.mark.parametrize("buckets", [None, 3])
@pytest.mark.parametrize("updates", [False, True])
def test_parts_of_all_ranges_are_the_table(files, buckets, updates):
    store = MemoryStore()
    store.open()
    keys = [b"a", b"a\x00", b"a\x00\xff", b"b", b"\xff\xff", b"c" * 50]
    if updates:
        create(store, TABLE, buckets=buckets)
        for time_ms in (1, 2, 3):
            for key in keys:
                add(store, TABLE, key, time_ms, {b"f:v": b"1"})
    else:
        store.ensure_table(TableSpec(TABLE, (FamilySpec(b"f"),), buckets=buckets))
        puts = [Put(key, {b"f:v": b"2"}, 2) for key in keys]
        distribution = Distribution.of(buckets)
        store.apply(TABLE, puts if distribution is None else with_physical_keys(puts, distribution.physical))
    ranges = [(b"", None)] if buckets is None else Distribution(buckets).intervals()
    target = DumpTarget(TABLE, RowFormat.recorded(store, TABLE), last_update_id_of(2))
    remaining = DumpRange.numbered(TABLE, ranges)
    while remaining:  # a file for each row, a slice for each file
        ended = dump(store, files, Limits(file_bytes=1), target=target).run_slice(remaining, lambda: False)
        remaining = ended.remaining
    found = [row for rows in files.rows.values() for row in rows]
    assert {row.key: row.cells[0][2:] for row in found} == dict.fromkeys(keys, (2, b"2"))
    assert len(found) == len(keys)


def test_what_remains_of_an_interrupted_range():
    target = DumpTarget(TABLE, RowFormat(4))
    keys = DumpRange(TABLE, b"\x02", b"\x03", PARTS_OF_RANGE)
    file = TableFile("", 1, 1, "", b"a", b"b")
    bucket = Distribution(4).bucket(b"b")
    assert remaining_of(target, keys, {0: None, 2 * PARTS_OF_RANGE: file}) == keys
    assert remaining_of(target, keys, {PARTS_OF_RANGE: file}) == DumpRange(
        TABLE, bucket + b"b\x00", b"\x03", PARTS_OF_RANGE + 1
    )
    assert remaining_of(target, keys, {PARTS_OF_RANGE: file, PARTS_OF_RANGE + 1: None}) is None
    two = remaining_of(target, keys, {PARTS_OF_RANGE: file, PARTS_OF_RANGE + 1: file})
    assert two is not None
    assert two.part == PARTS_OF_RANGE + 2


def test_range_as_json():
    for keys in (WHOLE, DumpRange("ns:t", b"\x00\xff", b"x", 3)):
        assert DumpRange.from_json(keys.to_json()) == keys


def test_range_has_no_numbers_of_the_next_one():
    with pytest.raises(ConfigError, match="has 100,003 files, and more rows") as refused:
        DumpRange(TABLE, b"", None, 2 * PARTS_OF_RANGE - 1).after(b"a")
    assert "--min-ranges" in (refused.value.hint or "")

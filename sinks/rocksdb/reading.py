"""Reads rows from the iterator of a table."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, Self

from ingest.api import Cell, FamilySpec, Row, ScanCounts, TimeRange
from sinks.rocksdb.keys import (
    CELL,
    CELL_TAIL_BYTES,
    COLUMNS,
    END,
    after,
    column_head,
    decode_text,
    decode_time,
    encode_text,
    row_head,
    version_start,
)
from sinks.rowkeys.fuzzy import RemainingRange

PAGE_BYTES = 8 << 20
"""Size at which a page of a scan ends, to bound memory."""
NEXTS_BEFORE_SEEK = 16
"""Old versions skipped with `next` before a seek, which costs about as much as this many calls."""


class Cursor(Protocol):
    """The methods of RocksDB's iterator that are used here."""

    def valid(self) -> bool:
        """Whether it is positioned at a key."""

    def key(self) -> bytes:
        """The current key."""

    def value(self) -> bytes:
        """The current value."""

    def next(self) -> None:
        """Move to the next key."""

    def seek(self, key: bytes) -> None:
        """Move to the first key that is not smaller."""

    def seek_for_prev(self, key: bytes) -> None:
        """Move to the last key that is not greater."""

    def seek_to_last(self) -> None:
        """Move to the last key."""

    def status(self) -> None:
        """Raise the iterator's error, if any; the next seek clears it."""


def at_key(cursor: Cursor) -> bool:
    """Whether a cursor is at a key; raises RocksDB's error if it stopped at a damaged block, not at the end."""
    if cursor.valid():
        return True
    cursor.status()
    return False


def key_at(cursor: Cursor) -> bytes:
    """The key that a cursor is at, empty at the end; raises RocksDB's error if it stopped at a damaged block."""
    if cursor.valid():
        return cursor.key()
    cursor.status()
    return b""


class Part(NamedTuple):
    """
    One family of a read.

    Attributes:
        text: its name as encoded in keys.
        qualifiers: None for the whole family.
        oldest_ms: older cells have expired, or are before the time range of the read.
        newest: the part of the keys after the column at which those of the last version in the read's range start;
            None if the range has no end.
        versions: maximum number of versions of a cell to return, at most the family's.
    """

    spec: FamilySpec
    text: bytes
    qualifiers: frozenset[bytes] | None
    oldest_ms: int
    newest: bytes | None
    versions: int

    @classmethod
    def of(
        cls, spec: FamilySpec, qualifiers: frozenset[bytes] | None, versions: int, times: TimeRange, now_ms: int
    ) -> Self:
        """
        A part of a read at a time.

        Args:
            spec: the family.
            qualifiers: None for the whole family.
            versions: maximum number of versions of a cell.
            times: of the cells to read.
            now_ms: the time of the read.
        """
        oldest_ms = times.from_ms if spec.ttl_s is None else max(times.from_ms, now_ms - spec.ttl_s * 1000)
        newest = version_start(times.to_ms - 1) if times.has_end else None
        return cls(spec, encode_text(spec.name), qualifiers, oldest_ms, newest, min(versions, spec.versions))


class ReadPlan(NamedTuple):
    """
    A table's cursor, and the families to read of each row.

    Attributes:
        parts: sorted by family.
    """

    cursor: Cursor
    parts: Sequence[Part]


def page_of(plan: ReadPlan, remaining: RemainingRange, wanted: int, counts: ScanCounts) -> list[Row]:
    """The next rows of a scan; the range is empty afterwards if there are no more."""
    page = []
    size = 0
    for row in (_rows_backward if remaining.is_reverse else _rows_forward)(plan, remaining, counts):
        page.append(row)
        for _, _, _, value in row.cells:
            size += len(value)
        if len(page) >= wanted or size >= PAGE_BYTES:
            break
    else:
        remaining.end()
    return page


def _rows_forward(plan: ReadPlan, remaining: RemainingRange, counts: ScanCounts) -> Iterator[Row]:
    """Rows in byte order."""
    cursor = plan.cursor
    cursor.seek(_bound(remaining.start))
    key = key_at(cursor)
    while key:
        head = row_head(key)
        row = decode_text(head[: -len(END)])
        if row not in remaining:
            return
        if not remaining.take(row):
            counts.touch(row)
            if remaining.is_empty:
                return
            counts.seeks += 1
            cursor.seek(_bound(remaining.start))
            key = key_at(cursor)
            continue
        cells, key = _cells(plan, head, key)
        counts.touch(row, cells)
        if cells:
            yield Row(row, tuple(cells))
        if key.startswith(head):
            cursor.seek(after(head))
            key = key_at(cursor)


def _rows_backward(plan: ReadPlan, remaining: RemainingRange, counts: ScanCounts) -> Iterator[Row]:
    """Rows, the last one first."""
    cursor = plan.cursor
    _seek_before(cursor, remaining.stop)
    while key := key_at(cursor):
        head = row_head(key)
        row = decode_text(head[: -len(END)])
        if row not in remaining:
            return
        if not remaining.take(row):
            counts.touch(row)
            if remaining.is_empty:
                return
            counts.seeks += 1
            _seek_before(cursor, remaining.stop)
            continue
        cursor.seek(head)
        cells, _ = _cells(plan, head, key_at(cursor))
        counts.touch(row, cells)
        if cells:
            yield Row(row, tuple(cells))
        cursor.seek_for_prev(head)


def row_at(plan: ReadPlan, key: bytes) -> Row | None:
    """One row."""
    head = encode_text(key)
    plan.cursor.seek(head)
    cells, _ = _cells(plan, head, key_at(plan.cursor))
    return Row(key, tuple(cells)) if cells else None


def last_row(cursor: Cursor) -> bytes:
    """The last row of a table as encoded in keys; empty if there is none."""
    cursor.seek_to_last()
    key = key_at(cursor)
    return row_head(key) if key else b""


def _seek_before(cursor: Cursor, stop: bytes | None) -> None:
    """Move to the last key before a row; None is the end of the table."""
    if stop is None:
        cursor.seek_to_last()
    else:
        cursor.seek_for_prev(_bound(stop))


def _bound(row: bytes) -> bytes:
    """A key before all keys of a row and of the rows after it, and after those of the rows before it."""
    return encode_text(row)[: -len(END)]


# The functions below take and return the key that the cursor is at: RocksDB copies a key at each call.


def _cells(plan: ReadPlan, head: bytes, key: bytes) -> tuple[list[Cell], bytes]:
    """The visible cells of one row; `key` is the row's first one, and a key in the row or after it is returned."""
    cursor = plan.cursor
    cells: list[Cell] = []
    for part in plan.parts:
        family = head + part.text
        if not key:
            break
        if key < family:
            cursor.seek(family)
            key = key_at(cursor)
        if key.startswith(family):
            key = _add_family(cells, cursor, part, family, key)
    return cells, key


def _add_family(cells: list[Cell], cursor: Cursor, part: Part, head: bytes, key: bytes) -> bytes:
    """Add the visible cells of one family; `key` is its first one."""
    start = len(head)
    floor = part.oldest_ms
    if key[start] != COLUMNS:
        floor = max(floor, decode_time(key) + 1)
        cursor.seek(head + b"\x01")
        key = key_at(cursor)
    add = _add_column if part.newest is None else _add_column_in_range
    if part.qualifiers is not None:
        for qualifier in sorted(part.qualifiers):
            column = head + b"\x01" + encode_text(qualifier)
            cursor.seek(column)
            key = add(cells, cursor, part, column, qualifier, floor, key_at(cursor))
        return key
    while key.startswith(head):
        column = head + column_head(key[start:])
        qualifier = decode_text(column[start + 1 : -len(END)])
        key = add(cells, cursor, part, column, qualifier, floor, key)
    return key


def _add_column(
    cells: list[Cell], cursor: Cursor, part: Part, column: bytes, qualifier: bytes, floor: int, key: bytes
) -> bytes:
    """Add the visible versions of one column; `key` is its first one, if it has any, and the one after is returned."""
    kind_at = len(column)
    cell_bytes = kind_at + CELL_TAIL_BYTES
    deleted_ms = -1
    found = passed = 0
    while key.startswith(column):
        at = decode_time(key)
        if key[kind_at] != CELL:
            floor = max(floor, at + 1)
        elif len(key) > cell_bytes:
            deleted_ms = at
        elif found < part.versions and at >= floor and at != deleted_ms:
            found += 1
            cells.append(Cell(part.spec.name, qualifier, at, cursor.value()))
        passed += 1
        if passed % NEXTS_BEFORE_SEEK == 0 and (found == part.versions or at < floor):
            # the kind is 0 or 1, so the column has no key after \x02
            cursor.seek(column + (b"\x01" if key[kind_at] != CELL else b"\x02"))
        else:
            cursor.next()
        key = key_at(cursor)
    return key


def _add_column_in_range(
    cells: list[Cell], cursor: Cursor, part: Part, column: bytes, qualifier: bytes, floor: int, key: bytes
) -> bytes:
    """The same with a time range that has an end: moves past the later cells first."""
    assert part.newest is not None  # noqa: S101 - for mypy: the caller has checked it
    newest = column + part.newest
    for _ in range(NEXTS_BEFORE_SEEK):
        if not key or key >= newest:
            break
        if key[len(column)] != CELL:
            # the newest delete is the column's first key, so a seek passes none that counts
            floor = max(floor, decode_time(key) + 1)
        cursor.next()
        key = key_at(cursor)
    else:
        cursor.seek(newest)
        key = key_at(cursor)
    return _add_column(cells, cursor, part, column, qualifier, floor, key)

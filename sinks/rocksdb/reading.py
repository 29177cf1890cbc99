"""Reads cells from the iterator of a table."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from ingest.api import Cell, FamilySpec, Row
from sinks.rocksdb.keys import CELL, COLUMNS, END, after, column_head, decode_text, decode_time, encode_text, row_head

PAGE_BYTES = 8 << 20
"""A page of a scan ends early at this size, so that large values do not add up in memory."""
STEPS_BEFORE_SEEK = 16
"""Old versions passed one by one before the iterator seeks: a seek costs about as much as this many calls of `next`."""


class Cursor(Protocol):
    """The methods of RocksDB's iterator that are used here."""

    def valid(self) -> bool:
        """Whether it is at a key."""

    def key(self) -> bytes:
        """The current key."""

    def value(self) -> bytes:
        """The current value."""

    def next(self) -> None:
        """To the next key."""

    def seek(self, key: bytes) -> None:
        """To the first key that is not smaller."""

    def seek_for_prev(self, key: bytes) -> None:
        """To the last key that is not greater."""

    def seek_to_last(self) -> None:
        """To the last key."""

    def status(self) -> None:
        """Raises the iterator's error, if any; the next seek clears it."""


def at_key(cursor: Cursor) -> bool:
    """
    Whether a cursor is at a key.

    At a damaged block it is at no key, as at the end; this then raises RocksDB's error.
    """
    if cursor.valid():
        return True
    cursor.status()
    return False


class Part(NamedTuple):
    """
    One family of a table, for one read.

    Attributes:
        text: its name as encoded in keys.
        qualifiers: None for the whole family.
        oldest_ms: older cells have expired.
        versions: how many to return of a cell, at most as many as the family keeps.
    """

    spec: FamilySpec
    text: bytes
    qualifiers: frozenset[bytes] | None
    oldest_ms: int
    versions: int


class Question(NamedTuple):
    """
    A table's cursor, and the parts of each row to read.

    Attributes:
        parts: sorted by family.
    """

    cursor: Cursor
    parts: Sequence[Part]


def rows_forward(question: Question, start: bytes, stop: bytes | None) -> Iterator[Row]:
    """Rows of [start, stop) in byte order."""
    cursor = question.cursor
    last = None if stop is None else encode_text(stop)[: -len(END)]
    cursor.seek(encode_text(start)[: -len(END)])
    while at_key(cursor):
        head = row_head(cursor.key())
        if last is not None and head[: -len(END)] >= last:
            return
        cells = tuple(_cells(question, head))
        if cells:
            yield Row(decode_text(head[: -len(END)]), cells)
        if at_key(cursor) and cursor.key().startswith(head):
            cursor.seek(after(head))


def rows_backward(question: Question, start: bytes, stop: bytes | None) -> Iterator[Row]:
    """Rows of [start, stop), the last one first."""
    cursor = question.cursor
    first = encode_text(start)[: -len(END)]
    if stop is None:
        cursor.seek_to_last()
    else:
        cursor.seek_for_prev(encode_text(stop)[: -len(END)])
    while at_key(cursor):
        head = row_head(cursor.key())
        if head[: -len(END)] < first:
            return
        cursor.seek(head)
        cells = tuple(_cells(question, head))
        if cells:
            yield Row(decode_text(head[: -len(END)]), cells)
        cursor.seek_for_prev(head)


def page_of(question: Question, bounds: tuple[bytes, bytes | None], wanted: int, *, reverse: bool) -> list[Row]:
    """The first rows of a range, or the last ones, last one first."""
    page = []
    size = 0
    for row in (rows_backward if reverse else rows_forward)(question, *bounds):
        page.append(row)
        size += sum(len(cell.value) for cell in row.cells)
        if len(page) >= wanted or size >= PAGE_BYTES:
            break
    return page


def row_at(question: Question, key: bytes) -> Row | None:
    """One row."""
    head = encode_text(key)
    question.cursor.seek(head)
    cells = tuple(_cells(question, head))
    return Row(key, cells) if cells else None


def last_row(cursor: Cursor) -> bytes:
    """The last row of a table as encoded in keys; empty if there is none."""
    cursor.seek_to_last()
    return row_head(cursor.key()) if at_key(cursor) else b""


def _cells(question: Question, head: bytes) -> Iterator[Cell]:
    """The visible cells of one row; the cursor is at the row's first key, and ends in the row or after it."""
    cursor = question.cursor
    for part in question.parts:
        family = head + part.text
        if not at_key(cursor):
            return
        if cursor.key() < family:
            cursor.seek(family)
        yield from _cells_of_family(cursor, part, family)


def _cells_of_family(cursor: Cursor, part: Part, head: bytes) -> Iterator[Cell]:
    """The same for one family, whose first key in the row it is, if it has any."""
    start = len(head)
    floor = part.oldest_ms
    if at_key(cursor) and (key := cursor.key()).startswith(head) and key[start] != COLUMNS:
        floor = max(floor, decode_time(key) + 1)
        cursor.seek(head + b"\x01")
    if part.qualifiers is not None:
        for qualifier in sorted(part.qualifiers):
            column = head + b"\x01" + encode_text(qualifier)
            cursor.seek(column)
            yield from _column(cursor, part, column, qualifier, floor)
        return
    while at_key(cursor) and (key := cursor.key()).startswith(head):
        column = head + column_head(key[start:])
        qualifier = decode_text(column[start + 1 : -len(END)])
        yield from _column(cursor, part, column, qualifier, floor)


def _column(cursor: Cursor, part: Part, column: bytes, qualifier: bytes, floor: int) -> Iterator[Cell]:
    """Visible versions of one column; the cursor stands at its first key, if it has any, and ends after its last."""
    kind_at = len(column)
    found = steps = 0
    while at_key(cursor) and (key := cursor.key()).startswith(column):
        at = decode_time(key)
        if key[kind_at] != CELL:
            floor = max(floor, at + 1)
        elif found < part.versions and at >= floor:
            found += 1
            yield Cell(part.spec.name, qualifier, at, cursor.value())
        steps += 1
        if steps % STEPS_BEFORE_SEEK == 0 and (found == part.versions or at < floor):
            # every kind is 0 or 1, so this column has no key after that
            cursor.seek(column + (b"\x01" if key[kind_at] != CELL else b"\x02"))
        else:
            cursor.next()

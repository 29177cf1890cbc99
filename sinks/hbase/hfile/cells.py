"""
Mutations as the sorted cells of each family.

A cell is a KeyValue (`sinks.hbase.key_value`). HBase orders cells by row key, family and qualifier, then the newest
first, then the highest type first: a marker before the put that it hides.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter, itemgetter
from typing import NamedTuple, Protocol

from ingest.api import Delete, Mutation, Put
from sinks.hbase import refusals
from sinks.hbase.assembling import MAX_SHAPES, Assemble, HeadCount, Heads, assembler
from sinks.hbase.hfile.writer import LENGTH_BYTES, FileWriter, HFileFormat, Summary
from sinks.hbase.key_value import DELETE_COLUMN, DELETE_FAMILY, FIXED_KEY_BYTES, PUT, STAMP, marker_kind, stamp

_HEAD = struct.Struct(">IIH")
_EXTRA_BYTES = 4
"""With these a server counts the size of a cell, for which it has a maximum (`refusals.check_cell_bytes`)."""

_Key = tuple[bytes, bytes, bytes, int, int]
"""Row key, family, qualifier, and the negative time and type: cells are in this order."""


class _Part(NamedTuple):
    """
    The cells of a shape in one family.

    Attributes:
        assemble: joins them.
        values: takes their values, in the order of the qualifiers, from the columns of a put.
        cells: their number.
        key_bytes: of all their keys.
    """

    family: bytes
    assemble: Assemble
    values: Callable[[dict[bytes, bytes]], Iterable[bytes]]
    cells: int
    key_bytes: int


@dataclass(slots=True)
class _Shape:
    """
    Puts with row keys of one length and the same columns.

    Attributes:
        puts: number of those that are being encoded.
        times_ms: of the same.
    """

    parts: list[_Part]
    puts: int = 0
    times_ms: set[int] = field(default_factory=set)


class _RowTaker(Protocol):
    """Takes the cells of rows."""

    def add(self, row: bytes, cells: bytes) -> None:
        """Take those of a row."""


class _Rows:
    """
    The rows of a family in any order.

    Attributes:
        found: row keys and cells; each row key once.
    """

    def __init__(self) -> None:
        self.found: list[tuple[bytes, bytes]] = []

    def add(self, row: bytes, cells: bytes) -> None:
        """Add a row."""
        self.found.append((row, cells))

    def add_to(self, row: bytes, cells: bytes) -> None:
        """Add cells to the last row, or another row."""
        if self.found and self.found[-1][0] == row:
            cells = self.found.pop()[1] + cells
        self.found.append((row, cells))


class _Writers(dict[bytes, FileWriter]):
    """Family -> what writes its file; made at its first row."""

    def __init__(self, formats: Mapping[bytes, HFileFormat]) -> None:
        super().__init__()
        self._formats = formats

    def __missing__(self, family: bytes) -> FileWriter:
        form = self._formats.get(family)
        if form is None:
            raise refusals.RefusalError("a family has no file")
        writer = self[family] = FileWriter(form)
        return writer

    def finish(self, summaries: Mapping[bytes, Summary], created_ms: int) -> dict[bytes, list[bytes]]:
        """The file of each family."""
        return {family: writer.finish(summaries[family], created_ms) for family, writer in self.items()}


class FileCells:
    """
    Sorts and encodes mutations for files; called by one thread.

    Args:
        max_cell_bytes: larger cells are refused, as in a call.
    """

    def __init__(self, max_cell_bytes: int) -> None:
        self._max_cell_bytes = max_cell_bytes
        self._shapes: dict[tuple[int | bytes, ...], _Shape] = {}
        self._heads = HeadCount()

    def files(
        self, mutations: Sequence[Mutation], formats: Mapping[bytes, HFileFormat], created_ms: int
    ) -> dict[bytes, list[bytes]]:
        """
        The file of each family that has cells, in pieces.

        Args:
            mutations: of any rows; of cells with the same key the last one counts.
            formats: family -> the format of its file.
            created_ms: when the files are made, in milliseconds since the epoch.

        Raises:
            RefusalError: a mutation can never be written; or its family has no format; or it deletes a whole row, which
                is a marker in each family that the region has when it applies it, and no file is in all of them.
        """
        writers = _Writers(formats)
        times = Counter(mutation.row for mutation in mutations)
        puts = [mutation for mutation in mutations if isinstance(mutation, Put) and times[mutation.row] == 1]
        if len(puts) == len(mutations):
            return writers.finish(self._of_puts(puts, writers), created_ms)
        others = [mutation for mutation in mutations if isinstance(mutation, Delete) or times[mutation.row] > 1]
        if any(isinstance(mutation, Delete) and mutation.family is None for mutation in others):
            raise refusals.RefusalError("a file cannot delete a whole row")
        rows: Mapping[bytes, _Rows] = defaultdict(_Rows)
        found = self._of_puts(puts, rows) if puts else {}
        for family, summary in self._of_any(others, rows).items():
            found[family] = _merged(found[family], summary) if family in found else summary
        for family, own in rows.items():
            for row, cells in sorted(own.found, key=itemgetter(0)):
                writers[family].add(row, cells)
        return writers.finish(found, created_ms)

    def _of_puts(self, puts: list[Put], rows: Mapping[bytes, _RowTaker]) -> dict[bytes, Summary]:
        """Add the rows of puts without a common row key, sorted; each is joined from kept pieces."""
        puts.sort(key=attrgetter("row"))
        stamps = {time_ms: stamp(time_ms, PUT) for time_ms in {put.timestamp_ms for put in puts}}
        used: list[_Shape] = []
        try:
            self._assemble(puts, stamps, rows, used)
            return {family: _summary(family, used) for family in {part.family for each in used for part in each.parts}}
        finally:
            for shape in used:
                shape.puts = 0
                shape.times_ms.clear()

    def _assemble(
        self, puts: list[Put], stamps: Mapping[int, bytes], rows: Mapping[bytes, _RowTaker], used: list[_Shape]
    ) -> None:
        """Add the rows of puts to those of their families, and the shapes that they have."""
        shapes = self._shapes
        for put in puts:
            row, columns, end = put.row, put.columns, stamps[put.timestamp_ms]
            shape = shapes.get((len(row), *columns)) or self._new_shape(row, tuple(columns))
            if not shape.puts:
                used.append(shape)
            shape.puts += 1
            shape.times_ms.add(put.timestamp_ms)
            for family, assemble, values, _, _ in shape.parts:
                rows[family].add(row, assemble(row, end, values(columns)))

    def _new_shape(self, row: bytes, columns: tuple[bytes, ...]) -> _Shape:
        refusals.check_row(row)
        if not columns:
            raise refusals.RefusalError(refusals.NO_CELLS)
        by_family: dict[bytes, list[tuple[bytes, bytes]]] = {}
        for column in columns:
            size = refusals.family_bytes(column)
            by_family.setdefault(column[:size], []).append((column[size + 1 :], column))
        if len(self._shapes) >= MAX_SHAPES or self._heads.is_full:
            self._shapes.clear()
            self._heads = HeadCount()
        parts = [self._part(len(row), family, sorted(names), columns) for family, names in by_family.items()]
        shape = self._shapes[(len(row), *columns)] = _Shape(parts)
        return shape

    def _part(
        self, row_bytes: int, family: bytes, names: list[tuple[bytes, bytes]], columns: tuple[bytes, ...]
    ) -> _Part:
        between = [bytes((len(family),)) + family + qualifier for qualifier, _ in names]
        sizes = [len(each) - 1 for each in between]
        heads = {size: Heads(partial(self._head, row_bytes, size), self._heads) for size in sizes}
        return _Part(
            family,
            assembler([heads[size] for size in sizes], between),
            _values_of(tuple(column for _, column in names), columns),
            len(names),
            sum(sizes) + len(names) * (row_bytes + FIXED_KEY_BYTES),
        )

    def _of_any(self, mutations: Sequence[Mutation], rows: Mapping[bytes, _Rows]) -> dict[bytes, Summary]:
        """Add the rows of any mutations: each cell is sorted by itself, which takes many times as long."""
        cells: dict[_Key, bytes] = {}
        for mutation in mutations:
            refusals.check_row(mutation.row)
            refusals.check_time(mutation.timestamp_ms)
            if isinstance(mutation, Put):
                _add_put(cells, mutation)
            else:
                cells[_marker(mutation)] = b""
        found: dict[bytes, Summary] = {}
        for (row, family, qualifier, time, kind), value in sorted(cells.items()):
            time_ms = -time
            summary = found.setdefault(family, Summary(0, 0, time_ms, time_ms, None))
            column_bytes = len(family) + len(qualifier)
            head = self._head(len(row), column_bytes, len(value))
            end = STAMP.pack(time_ms, -kind)
            rows[family].add_to(row, b"".join((head, row, bytes((len(family),)), family, qualifier, end, value)))
            summary.cells += 1
            summary.key_bytes += len(row) + column_bytes + FIXED_KEY_BYTES
            # a marker for all cells up to a time is in the range of each of them; else a read of it skips the file
            covered_ms = 0 if -kind in {DELETE_COLUMN, DELETE_FAMILY} else time_ms
            summary.earliest_ms = min(summary.earliest_ms, covered_ms)
            summary.latest_ms = max(summary.latest_ms, time_ms)
            if -kind == PUT:
                before = summary.earliest_put_ms
                summary.earliest_put_ms = time_ms if before is None else min(before, time_ms)
            summary.family_deletes += -kind == DELETE_FAMILY
        return found

    def _head(self, row_bytes: int, column_bytes: int, value_bytes: int) -> bytes:
        """The bytes before the row key."""
        key_bytes = row_bytes + column_bytes + FIXED_KEY_BYTES
        refusals.check_cell_bytes(_EXTRA_BYTES + LENGTH_BYTES + key_bytes + value_bytes, self._max_cell_bytes)
        return _HEAD.pack(key_bytes, value_bytes, row_bytes)


def _summary(family: bytes, shapes: Sequence[_Shape]) -> Summary:
    """Of the rows of a family, whose puts have these shapes."""
    own = [(shape, part) for shape in shapes for part in shape.parts if part.family == family]
    times_ms = set[int]().union(*(shape.times_ms for shape, _ in own))
    return Summary(
        sum(shape.puts * part.cells for shape, part in own),
        sum(shape.puts * part.key_bytes for shape, part in own),
        min(times_ms),
        max(times_ms),
        min(times_ms),
    )


def _merged(one: Summary, other: Summary) -> Summary:
    """Of the rows of both."""
    times = [each.earliest_put_ms for each in (one, other) if each.earliest_put_ms is not None]
    return Summary(
        one.cells + other.cells,
        one.key_bytes + other.key_bytes,
        min(one.earliest_ms, other.earliest_ms),
        max(one.latest_ms, other.latest_ms),
        min(times, default=None),
        one.family_deletes + other.family_deletes,
    )


def _values_of(
    wanted: tuple[bytes, ...], columns: tuple[bytes, ...]
) -> Callable[[dict[bytes, bytes]], Iterable[bytes]]:
    """What takes the values of some columns, given all columns of a put in their order."""
    if wanted == columns:
        return dict.values
    if len(wanted) == 1:
        only = wanted[0]
        return lambda found: (found[only],)
    return itemgetter(*wanted)


def _add_put(cells: dict[_Key, bytes], put: Put) -> None:
    if not put.columns:
        raise refusals.RefusalError(refusals.NO_CELLS)
    for column, value in put.columns.items():
        size = refusals.family_bytes(column)
        cells[put.row, column[:size], column[size + 1 :], -put.timestamp_ms, -PUT] = value


def _marker(delete: Delete) -> _Key:
    """The marker of a delete in a family."""
    family = delete.family or b""
    refusals.check_family(family)
    return delete.row, family, delete.qualifier or b"", -delete.timestamp_ms, -marker_kind(delete)

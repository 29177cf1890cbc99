"""
Mutations as a block of cells, and a block of cells as rows: the format of `KeyValueCodec`.

Source: `org.apache.hadoop.hbase.codec.KeyValueCodec`, which writes the length of each cell before it, in four bytes.
`sinks.hbase.key_value` has the cell itself.
"""

import struct
from collections.abc import Iterable, Iterator
from functools import partial

from ingest.api import Cell, Delete, Mutation, Put, Row
from sinks.hbase import refusals
from sinks.hbase.assembling import MAX_SHAPES, Assemble, HeadCount, Heads, assembler
from sinks.hbase.key_value import FIXED_KEY_BYTES, PUT, STAMP, marker_kind, stamp
from sinks.hbase.protobuf import WireError

_LENGTHS = struct.Struct(">IIIH")
_Shape = tuple[int | bytes, ...]
"""The length of the row key, then the columns."""


class CellEncoder:
    """
    Encodes the cells of mutations; called by one thread.

    Args:
        max_cell_bytes: larger cells are refused, as HBase would refuse them with their whole region's batch.
    """

    def __init__(self, max_cell_bytes: int) -> None:
        self._max_cell_bytes = max_cell_bytes
        self._shapes: dict[_Shape, Assemble] = {}
        self._heads = HeadCount()
        self._time_ms: int | None = None
        self._stamp: bytes

    def put(self, put: Put) -> bytes:
        """
        The cells of a put.

        Raises:
            RefusalError: it can never be written.
        """
        if put.timestamp_ms != self._time_ms:
            self._stamp, self._time_ms = stamp(put.timestamp_ms, PUT), put.timestamp_ms
        if put.ttl_ms is not None:
            refusals.check_ttl(put.ttl_ms, put.timestamp_ms)
        row = put.row
        columns = put.columns
        key: _Shape = (len(row), *columns)
        assemble = self._shapes.get(key)
        if assemble is None:
            assemble = self._new_shape(row, tuple(columns), key)
        return assemble(row, self._stamp, columns.values())

    def delete(self, delete: Delete) -> bytes:
        """
        The cell of a delete; no bytes for that of a whole row, which HBase replaces by one for each family.

        Raises:
            RefusalError: it can never be written.
        """
        refusals.check_row(delete.row)
        family = delete.family
        if family is None:
            refusals.check_time(delete.timestamp_ms)
            return b""
        refusals.check_family(family)
        qualifier = delete.qualifier or b""
        end = stamp(delete.timestamp_ms, marker_kind(delete))
        head = _head(len(delete.row), len(family) + len(qualifier), self._max_cell_bytes, 0)
        return b"".join((head, delete.row, bytes((len(family),)), family, qualifier, end))

    def _new_shape(self, row: bytes, columns: tuple[bytes, ...], key: _Shape) -> Assemble:
        refusals.check_row(row)
        if not columns:
            raise refusals.RefusalError(refusals.NO_CELLS)
        names = [_column(column) for column in columns]
        if len(self._shapes) >= MAX_SHAPES or self._heads.is_full:
            self._shapes.clear()
            self._heads = HeadCount()
        by_length = {
            size: Heads(partial(_head, len(row), size, self._max_cell_bytes), self._heads)
            for size in {len(name) - 1 for name in names}
        }
        assemble = self._shapes[key] = assembler([by_length[len(name) - 1] for name in names], names)
        return assemble


def cell_count(mutation: Mutation) -> int:
    """Number of cells that a mutation has in a block."""
    if isinstance(mutation, Put):
        return len(mutation.columns)
    return 0 if mutation.family is None else 1


def decoded(block: bytes) -> Iterator[tuple[bytes, Cell]]:
    """
    The cells of a block with their row keys.

    Raises:
        WireError: the bytes are not a block.
    """
    at = 0
    while at < len(block):
        if len(block) - at < _LENGTHS.size:
            raise WireError(f"a block of cells ends at byte {at}")
        size, key_bytes, value_bytes, row_bytes = _LENGTHS.unpack_from(block, at)
        end = at + 4 + size
        row_end = at + _LENGTHS.size + row_bytes
        value_at = at + 12 + key_bytes
        # a cell with tags is longer; they are skipped
        if end > len(block) or value_at + value_bytes > end or row_end + 10 > value_at:
            raise WireError(f"a cell of {size} bytes at byte {at} of {len(block)}")
        family_at = row_end + 1
        family_end = family_at + block[row_end]
        stamp_at = value_at - STAMP.size
        if family_end > stamp_at:
            raise WireError(f"a cell at byte {at} has a family of {block[row_end]} bytes")
        time_ms, _ = STAMP.unpack_from(block, stamp_at)
        yield (
            block[at + _LENGTHS.size : row_end],
            Cell(
                block[family_at:family_end],
                block[family_end:stamp_at],
                time_ms,
                block[value_at : value_at + value_bytes],
            ),
        )
        at = end


def row_of(cells: Iterable[tuple[bytes, Cell]]) -> Row | None:
    """The row of some cells; None without a cell."""
    key = None
    found = []
    for key, cell in cells:  # noqa: B007 - all have the same key
        found.append(cell)
    return None if key is None else Row(key, tuple(found))


def _head(row_bytes: int, column_bytes: int, max_cell_bytes: int, value_bytes: int) -> bytes:
    """The bytes before the row key; raises `RefusalError` if the cell is too large."""
    key_bytes = row_bytes + column_bytes + FIXED_KEY_BYTES
    size = 8 + key_bytes + value_bytes
    refusals.check_cell_bytes(4 + size, max_cell_bytes)
    return _LENGTHS.pack(size, key_bytes, value_bytes, row_bytes)


def _column(column: bytes) -> bytes:
    """The length of the family, family and qualifier."""
    size = refusals.family_bytes(column)
    return bytes((size,)) + column[:size] + column[size + 1 :]

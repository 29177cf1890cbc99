"""
The message of `mutateRowsTs`, joined from bytes that are cached for each column.

happybase creates an object for each cell and writes it field by field. Here all bytes before a value (the end of the
previous cell, the delete flag, the column) are one cached bytes object; a row joins these, lengths and values. The
message is byte for byte the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from thriftpy2.thrift import TMessageType

from sinks.hbase.ttl import ATTRIBUTE, ttl_value

METHOD = "mutateRowsTs"

_MAX_COLUMNS = 4096  # cached for each kind of cell; a bound, since columns come from the data
_MAX_COLUMN_BYTES = 512  # of a cached column
_MAX_SIZES = 4096


class Wire(ABC):
    """
    How one of Thrift's protocols writes the parts of the message.

    The fields of each of its structs are numbered from 1 without a gap.
    """

    stop = b"\0"

    @abstractmethod
    def call(self, method: str, number: int) -> bytes:
        """Before the arguments of a call."""

    @abstractmethod
    def size(self, count: int) -> bytes:
        """Before that many bytes."""

    @abstractmethod
    def text(self, field: int) -> bytes:
        """Before a field of bytes and its size."""

    @abstractmethod
    def structs(self, field: int, count: int) -> bytes:
        """Before a field that lists that many structs."""

    @abstractmethod
    def flag(self, field: int, *, value: bool) -> bytes:
        """A whole field that is true or false."""

    @abstractmethod
    def number(self, field: int, value: int) -> bytes:
        """A whole field of 64 bits."""

    @abstractmethod
    def attributes(self, field: int, values: Mapping[bytes, bytes]) -> bytes:
        """A whole field that maps names to values, both bytes."""


class Binary(Wire):
    """Thrift's binary protocol, strict: every field with its type and number, every size in four bytes."""

    def call(self, method: str, number: int) -> bytes:
        """Before the arguments of a call."""
        name = method.encode()
        return b"\x80\x01\0" + bytes([TMessageType.CALL]) + self.size(len(name)) + name + self.size(number)

    def size(self, count: int) -> bytes:
        """Before that many bytes."""
        return count.to_bytes(4, "big")

    def text(self, field: int) -> bytes:
        """Before a field of bytes and its size."""
        return b"\x0b" + field.to_bytes(2, "big")

    def structs(self, field: int, count: int) -> bytes:
        """Before a field that lists that many structs."""
        return b"\x0f" + field.to_bytes(2, "big") + b"\x0c" + self.size(count)

    def flag(self, field: int, *, value: bool) -> bytes:
        """A whole field that is true or false."""
        return b"\x02" + field.to_bytes(2, "big") + bytes([value])

    def number(self, field: int, value: int) -> bytes:
        """A whole field of 64 bits."""
        return b"\x0a" + field.to_bytes(2, "big") + value.to_bytes(8, "big", signed=True)

    def attributes(self, field: int, values: Mapping[bytes, bytes]) -> bytes:
        """A whole field that maps names to values, both bytes."""
        return b"\x0d" + field.to_bytes(2, "big") + b"\x0b\x0b" + self.size(len(values)) + _pairs(self, values)


class Compact(Wire):
    """Thrift's compact protocol: the difference of field numbers, always 1 here; sizes are varints."""

    def call(self, method: str, number: int) -> bytes:
        """Before the arguments of a call."""
        name = method.encode()
        return b"\x82" + bytes([1 | TMessageType.CALL << 5]) + self.size(number) + self.size(len(name)) + name

    def size(self, count: int) -> bytes:
        """Before that many bytes: a varint, seven bits a byte, the lowest first."""
        written = bytearray()
        while count > 0x7F:  # noqa: PLR2004 - seven bits
            written.append(count & 0x7F | 0x80)
            count >>= 7
        written.append(count)
        return bytes(written)

    def text(self, field: int) -> bytes:  # noqa: ARG002 - the difference is 1
        """Before a field of bytes and its size."""
        return b"\x18"

    def structs(self, field: int, count: int) -> bytes:  # noqa: ARG002
        """Before a field that lists that many structs."""
        return b"\x19" + (bytes([count << 4 | 0xC]) if count < 15 else b"\xfc" + self.size(count))  # noqa: PLR2004 - four bits

    def flag(self, field: int, *, value: bool) -> bytes:  # noqa: ARG002
        """A whole field that is true or false."""
        return b"\x11" if value else b"\x12"

    def number(self, field: int, value: int) -> bytes:  # noqa: ARG002
        """A whole field of 64 bits, zigzag-encoded."""
        return b"\x16" + self.size(value << 1 if value >= 0 else ~(value << 1))

    def attributes(self, field: int, values: Mapping[bytes, bytes]) -> bytes:  # noqa: ARG002
        """A whole field that maps names to values, both bytes; an empty map has no types."""
        return b"\x1b" + self.size(len(values)) + (b"\x88" + _pairs(self, values) if values else b"")


def _pairs(wire: Wire, values: Mapping[bytes, bytes]) -> bytes:
    return b"".join(wire.size(len(part)) + part for pair in values.items() for part in pair)


class Messages:
    """
    Builds the messages of one connection; called by one thread.

    Args:
        check: raises for an invalid column of a put; called once for each cached column.
    """

    def __init__(self, wire: Wire, check: Callable[[bytes], object]) -> None:
        self._wire = wire
        self._sizes = _Sizes(wire)
        self._lists = {count: wire.structs(2, count) for count in range(256)}
        self._text = wire.text(1)
        self._put = {wal: _Cells(wire, check, is_delete=False, wal=wal) for wal in (False, True)}
        self._delete = {wal: _Cells(wire, bool, is_delete=True, wal=wal) for wal in (False, True)}

    def put(self, row: bytes, columns: Mapping[bytes, bytes], *, wal: bool) -> bytes:
        """A row of puts, as in a message."""
        cells = self._put[wal]
        sizes = self._sizes
        count = len(columns)
        parts = [self._text, sizes[len(row)], row, self._lists.get(count) or self._wire.structs(2, count)]
        for column, value in columns.items():
            # three calls are quicker than one of `extend`, which needs a tuple first
            parts.append(cells[column])
            parts.append(sizes[len(value)])
            parts.append(value)
        if count:
            parts[4] = parts[4][len(cells.end) :]  # no cell precedes the first one
            parts.append(cells.end)
        parts.append(self._wire.stop)
        return b"".join(parts)

    def delete(self, row: bytes, columns: Sequence[bytes], *, wal: bool) -> bytes:
        """A row of deletes; a column without a colon is a family."""
        cells = self._delete[wal]
        no_value = self._sizes[0]
        written = b"".join(cells[column] + no_value for column in columns)[len(cells.end) :]
        ends = cells.end + self._wire.stop if columns else self._wire.stop
        return self._text + self._sizes[len(row)] + row + self._wire.structs(2, len(columns)) + written + ends

    def envelope(self, table: bytes, count: int, timestamp_ms: int, ttl_ms: int | None) -> tuple[bytes, bytes]:
        """The bytes before and after that many rows."""
        wire = self._wire
        attributes = {} if ttl_ms is None else {ATTRIBUTE: ttl_value(ttl_ms)}
        before = wire.call(METHOD, 0) + self._text + wire.size(len(table)) + table + wire.structs(2, count)
        return before, wire.number(3, timestamp_ms) + wire.attributes(4, attributes) + wire.stop

    def message(self, table: bytes, rows: Sequence[bytes], timestamp_ms: int, ttl_ms: int | None = None) -> bytes:
        """
        The whole call.

        Args:
            table: of the rows.
            rows: from `put` or from `delete`, not from both.
            timestamp_ms: of all cells.
            ttl_ms: time to live of all cells of puts; None for that of their families.
        """
        before, after = self.envelope(table, len(rows), timestamp_ms, ttl_ms)
        return b"".join((before, *rows, after))


class _Cells(dict[bytes, bytes]):
    """Column -> the bytes before its value, including the end of the previous cell."""

    def __init__(self, wire: Wire, check: Callable[[bytes], object], *, is_delete: bool, wal: bool) -> None:
        super().__init__()
        self._wire = wire
        self._check = check
        self._begin = wire.flag(1, value=is_delete) + wire.text(2)
        self.end = wire.flag(4, value=wal) + wire.stop

    def __missing__(self, column: bytes) -> bytes:
        self._check(column)
        encoded = self.end + self._begin + self._wire.size(len(column)) + column + self._wire.text(3)
        if len(column) <= _MAX_COLUMN_BYTES:
            if len(self) >= _MAX_COLUMNS:
                self.clear()
            self[column] = encoded
        return encoded


class _Sizes(dict[int, bytes]):
    """Number of bytes -> its encoding."""

    def __init__(self, wire: Wire) -> None:
        super().__init__((count, wire.size(count)) for count in range(_MAX_SIZES))
        self._wire = wire

    def __missing__(self, count: int) -> bytes:
        return self._wire.size(count)

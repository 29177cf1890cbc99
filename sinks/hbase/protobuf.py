"""
Protocol Buffers, as far as HBase's messages need them: proto2 without groups.

Source: "Protocol Buffers: Encoding" (protobuf.dev/programming-guides/encoding). A message is a sequence of fields. A
field is a varint `number << 3 | wire type` and a value: 0 a varint, 1 eight bytes, 2 a length and as many bytes, 5 four
bytes. A varint has seven bits in each byte, the lowest first, and the high bit in all bytes but the last. Fields of
unknown numbers are skipped; of a field that occurs more than once and is not repeated, the last value counts.

The messages themselves are those of HBase's proto files (hbase-protocol-shaded/src/main/protobuf, version 2.6); the
modules that write or read one name its file.
"""

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT_BYTES = 10
"""Of a 64-bit number."""
_MASK64 = (1 << 64) - 1


class WireError(ValueError):
    """Bytes that are not a message."""


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value >> 7:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = [_encoded(value) for value in range(1 << 14)]


def varint(value: int) -> bytes:
    """A number from 0 to 2**64 - 1."""
    return _SMALL[value] if value < len(_SMALL) else _encoded(value)


def number(field: int, value: int) -> bytes:
    """A field with a number or an enum's value, at least 0."""
    return varint(field << 3) + varint(value)


def flag(field: int, *, value: bool = True) -> bytes:
    """A field with a truth value."""
    return varint(field << 3) + (b"\x01" if value else b"\x00")


def data(field: int, value: bytes) -> bytes:
    """A field with bytes, text in UTF-8, or a message."""
    return varint(field << 3 | _BYTES) + varint(len(value)) + value


def read_varint(source: bytes, at: int) -> tuple[int, int]:
    """
    A number, and the index after it.

    Raises:
        WireError: the bytes end within it, or it has more than 64 bits.
    """
    value = shift = 0
    for place in range(at, min(at + _MAX_VARINT_BYTES, len(source))):
        byte = source[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the high bit
            return value & _MASK64, place + 1
        shift += 7
    raise WireError(f"no number at byte {at} of {len(source)}")


def delimited(source: bytes, at: int) -> tuple[bytes, int]:
    """
    Bytes with their length before them (Java's `writeDelimitedTo`), and the index after them.

    Raises:
        WireError: the bytes end within it.
    """
    size, at = read_varint(source, at)
    if size > len(source) - at:
        raise WireError(f"{size} bytes at byte {at} of {len(source)}")
    return source[at : at + size], at + size


class Message:
    """
    The fields of a message; a getter returns its default for a field that the message lacks.

    Raises:
        WireError: the bytes are not a message. A getter raises it for a field of another type.
    """

    __slots__ = ("_fields",)

    def __init__(self, source: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for field, value in _fields(source):
            self._fields.setdefault(field, []).append(value)

    def has(self, field: int) -> bool:
        """Whether the message has the field."""
        return field in self._fields

    def number(self, field: int, default: int = 0) -> int:
        """A number, or an enum's value."""
        values = self._fields.get(field)
        if values is None:
            return default
        value = values[-1]
        if not isinstance(value, int):
            raise WireError(f"field {field} is not a number")
        return value

    def flag(self, field: int, *, default: bool = False) -> bool:
        """A truth value."""
        return bool(self.number(field, int(default)))

    def data(self, field: int, default: bytes = b"") -> bytes:
        """Bytes."""
        values = self._fields.get(field)
        return default if values is None else _as_bytes(field, values[-1])

    def text(self, field: int, default: str = "") -> str:
        """Text; bytes that are not UTF-8 are replaced."""
        return self.data(field, default.encode()).decode("utf-8", "replace")

    def message(self, field: int) -> "Message":
        """A message; without fields if this one lacks it."""
        return Message(self.data(field))

    def all_data(self, field: int) -> list[bytes]:
        """Every value of a repeated field."""
        return [_as_bytes(field, value) for value in self._fields.get(field, ())]

    def messages(self, field: int) -> "list[Message]":
        """Every message of a repeated field."""
        return [Message(value) for value in self.all_data(field)]

    def numbers(self, field: int) -> list[int]:
        """Every number of a repeated field, packed or not."""
        found: list[int] = []
        for value in self._fields.get(field, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                one, at = read_varint(value, at)
                found.append(one)
        return found


def _fields(source: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(source):
        key, at = read_varint(source, at)
        kind = key & 7
        value: int | bytes
        if kind == _VARINT:
            value, at = read_varint(source, at)
        elif kind == _BYTES:
            value, at = delimited(source, at)
        elif (size := _FIXED_BYTES.get(kind)) is not None and size <= len(source) - at:
            value = source[at : at + size]
            at += size
        else:
            raise WireError(f"a field of wire type {kind} at byte {at} of {len(source)}")
        yield key >> 3, value


def _as_bytes(field: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError(f"field {field} is a number")
    return value

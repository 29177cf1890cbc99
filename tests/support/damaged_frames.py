"""Answers of HBase's native RPC with changed fields: valid frames are taken apart, changed, and joined again."""

import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from hypothesis import strategies as st

from sinks.hbase.protobuf import Message, WireError, data, delimited, number, read_varint, varint
from tests.support.rpc_server import framed

Value: TypeAlias = "int | bytes | list[Field]"
_HEADER, _MESSAGE, _CELLS = range(3)
_META = 3
"""cell_block_meta of ResponseHeader."""


class Field(NamedTuple):
    """
    A field of a message; a list is a message in it.

    Attributes:
        raw: the bytes that are written instead; None for those of a valid field.
    """

    number: int
    value: Value
    raw: bytes | None = None


class Change(NamedTuple):
    """
    A change of one field, or of one cell.

    Attributes:
        part: of the frame: header, message or cells.
        at: which field or cell; counted anew from the first one after the last one.
        kind: what is done.
        number: of another field, or another value.
        content: of another value.
    """

    part: int
    at: int
    kind: str
    number: int
    content: bytes

    def applied_to(self, frame: bytes) -> bytes:
        """A frame with the change, and with correct lengths around it; the same frame if it is none."""
        try:
            head, at = delimited(frame, 4)
            message, at = delimited(frame, at) if at < len(frame) else (b"", at)
            header, fields, cells = _fields(head), _fields(message), _cells(frame[at:])
        except (WireError, struct.error):  # by another change
            return frame
        if self.part == _CELLS:
            cells = _changed_cells(cells, self)
            if any(field.number == _META for field in header):
                header = [field for field in header if field.number != _META]
                header.append(Field(_META, [Field(1, len(b"".join(cells)))]))
        else:
            changed = header if self.part == _HEADER else fields
            changed[:] = _changed(changed, self)
        head, message = _written(header), _written(fields)
        return framed(varint(len(head)) + head + varint(len(message)) + message + b"".join(cells))


NUMBERS = st.one_of(
    st.integers(0, 20), st.sampled_from([127, 128, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
)
CHANGES = st.builds(
    Change,
    st.sampled_from([_HEADER, _MESSAGE, _MESSAGE, _CELLS]),
    st.integers(0, 60),
    st.sampled_from(
        ["drop", "repeat", "insert", "number", "content", "renumber", "fixed", "group", "longer", "shorter", "overlong"]
    ),
    NUMBERS,
    st.one_of(st.binary(max_size=8), st.sampled_from([b"PBUF", b"127.0.0.1:" + b"9" * 5000, b":1", b"\x00" * 300])),
)


def _fields(source: bytes) -> list[Field]:
    """The fields of a message, and those of messages in it: of bytes that can be read as one."""
    found: list[Field] = []
    at = 0
    while at < len(source):
        key, at = read_varint(source, at)
        value: Value
        if key & 7 == 0:
            value, at = read_varint(source, at)
        elif key & 7 == 2:
            value, at = delimited(source, at)
            try:
                Message(value)
                value = _fields(value) or value
            except WireError:
                pass
        else:
            raise WireError("a field of fixed length")
        found.append(Field(key >> 3, value))
    return found


def _written(fields: Sequence[Field]) -> bytes:
    return b"".join(_one(field) for field in fields)


def _one(field: Field) -> bytes:
    if field.raw is not None:
        return field.raw
    if isinstance(field.value, int):
        return number(field.number, field.value)
    return data(field.number, field.value if isinstance(field.value, bytes) else _written(field.value))


def _changed(fields: list[Field], change: Change) -> list[Field]:
    count = _count(fields)
    found, _ = _changed_at(fields, change, change.at % count if count else 0)
    return found if count else [_inserted(change)]


def _count(fields: Sequence[Field]) -> int:
    return sum(1 + (_count(field.value) if isinstance(field.value, list) else 0) for field in fields)


def _changed_at(fields: Sequence[Field], change: Change, at: int) -> tuple[list[Field], int]:
    """The fields with one of them changed, and how many are to be passed after them."""
    found: list[Field] = []
    for field in fields:
        if at == 0:
            found += _instead(field, change)
        elif isinstance(field.value, list):
            inner, at = _changed_at(field.value, change, at - 1)
            found.append(Field(field.number, inner))
            continue
        else:
            found.append(field)
        at -= 1
    return found, at


def _inserted(change: Change) -> Field:
    return Field(1 + change.number % 11, change.content if change.at % 2 else change.number)


def _instead(field: Field, change: Change) -> list[Field]:
    name, value = field.number, field.value
    own = _one(field)
    inner = b"" if isinstance(value, int) else value if isinstance(value, bytes) else _written(value)
    of_bytes = varint(name << 3 | 2)
    fields = {
        "drop": [],
        "repeat": [field, field],
        "insert": [field, _inserted(change)],
        "number": [Field(name, change.number)],
        "content": [Field(name, change.content)],
        "renumber": [Field(1 + change.number % 11, value)],
    }
    raws = {
        "fixed": varint(name << 3 | 5) + b"\x01\x00\x00\x00",
        "group": varint(name << 3 | 3) + own + varint(name << 3 | 4),
        "longer": of_bytes + varint(len(inner) + change.number) + inner,
        "shorter": of_bytes + varint(len(inner) // 2) + inner,
        "overlong": varint(name << 3) + b"\xff" * 12,
    }
    return fields[change.kind] if change.kind in fields else [Field(name, 0, raws[change.kind])]


def _cells(block: bytes) -> list[bytes]:
    found = []
    at = 0
    while at < len(block):
        (size,) = struct.unpack_from(">I", block, at)
        found.append(block[at : at + 4 + size])
        at += 4 + size
    return found


def _changed_cells(cells: list[bytes], change: Change) -> list[bytes]:
    if not cells:
        return [change.content]
    at = change.at % len(cells)
    cell = bytearray(cells[at])
    match change.kind:
        case "drop":
            instead = []
        case "repeat":
            instead = [cells[at], cells[at]]
        case "insert":
            instead = [cells[at], change.content]
        case "content":
            instead = [struct.pack(">I", len(change.content)) + change.content]
        case "number" | "longer":  # one of the four lengths before the row key
            place, size = ((0, 4), (4, 4), (8, 4), (12, 2))[change.number % 4]
            cell[place : place + size] = (change.number * 7919 % 256**size).to_bytes(size, "big")
            instead = [bytes(cell)]
        case "shorter":
            instead = [bytes(cell[: len(cell) // 2])]
        case _:  # of the family
            place = 14 + int.from_bytes(cell[12:14], "big")
            cell[place : place + 1] = bytes([change.number % 256])
            instead = [bytes(cell)]
    return [*cells[:at], *instead, *cells[at + 1 :]]

"""Answers of Thrift's binary protocol with changed fields: valid ones are taken apart, changed, and joined again."""

import struct
from typing import Any, NamedTuple

from hypothesis import strategies as st

_BOOL, _I32, _I64, _STRING, _STRUCT, _MAP, _LIST = 2, 8, 10, 11, 12, 13, 15
_FORMATS = {_BOOL: ">b", 3: ">b", 4: ">d", 6: ">h", _I32: ">i", _I64: ">q"}


class Raw(NamedTuple):
    """Bytes in place of a value."""

    content: bytes


class Field(NamedTuple):
    """
    A field of a struct.

    Attributes:
        kind: its type.
        value: a number, bytes, the fields of a struct, or the items of a list or map after the types of these.
    """

    kind: int
    number: int
    value: Any


class Change(NamedTuple):
    """
    A change of one field.

    Attributes:
        at: which one; counted anew from the first one after the last one.
        kind: what is done.
        value: another field.
    """

    at: int
    kind: str
    value: Field

    def applied_to(self, answer: bytes) -> bytes:
        """An answer with the change."""
        name_end = 8 + int.from_bytes(answer[4:8], "big")
        head, body = answer[: name_end + 4], answer[name_end + 4 :]
        if self.kind == "message":
            return head[:3] + bytes([self.at % 5]) + head[4:] + body
        fields, _ = _read(_STRUCT, body, 0)
        count = _count(_STRUCT, fields)
        changed, _ = _struct(fields, self, self.at % count) if count else ([self.value], 0)
        return head + _written(_STRUCT, changed)


_NUMBERS = st.sampled_from([0, 1, 2, 7, 2**31 - 1, -1, -(2**31)])
_VALUES = st.one_of(
    st.builds(Field, st.just(_BOOL), st.integers(0, 9), st.integers(0, 2)),
    st.builds(Field, st.just(_I32), st.integers(0, 9), _NUMBERS),
    st.builds(Field, st.just(_I64), st.integers(0, 9), st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])),
    st.builds(Field, st.just(_STRING), st.integers(0, 9), st.binary(max_size=4)),
    st.builds(Field, st.just(_STRUCT), st.integers(0, 9), st.just([])),
    st.builds(Field, st.just(_LIST), st.integers(0, 9), st.just((_STRUCT, [[]]))),
    st.builds(Field, st.just(_MAP), st.integers(0, 9), st.just((_STRING, _STRUCT, [(b"f:q", [])]))),
    st.builds(Field, st.just(_MAP), st.integers(0, 9), st.just((_LIST, _LIST, [((_I32, [1]), (_I32, []))]))),
)
CHANGES = st.builds(
    Change,
    st.integers(0, 40),
    st.sampled_from(["drop", "repeat", "insert", "renumber", "instead", "type", "longer", "message"]),
    _VALUES,
)


def _read(kind: int, source: bytes, at: int) -> tuple[Any, int]:
    if kind in _FORMATS:
        size = struct.calcsize(_FORMATS[kind])
        return struct.unpack_from(_FORMATS[kind], source, at)[0], at + size
    if kind == _STRING:
        start = at + 4
        end = start + int.from_bytes(source[at:start], "big")
        return source[start:end], end
    found: list[Any] = []
    if kind == _STRUCT:
        while own := source[at]:
            (number,) = struct.unpack_from(">h", source, at + 1)
            value, at = _read(own, source, at + 3)
            found.append(Field(own, number, value))
        return found, at + 1
    kinds = (source[at],) if kind == _LIST else (source[at], source[at + 1])
    (count,) = struct.unpack_from(">i", source, at + len(kinds))
    at += len(kinds) + 4
    for _ in range(count):
        item = []
        for own in kinds:
            value, at = _read(own, source, at)
            item.append(value)
        found.append(item[0] if kind == _LIST else tuple(item))
    return (*kinds, found), at


def _written(kind: int, value: Any) -> bytes:
    if isinstance(value, Raw):
        return value.content
    if kind in _FORMATS:
        return struct.pack(_FORMATS[kind], value)
    if kind == _STRING:
        return struct.pack(">i", len(value)) + value
    if kind == _STRUCT:
        fields = (struct.pack(">bh", each.kind, each.number) + _written(each.kind, each.value) for each in value)
        return b"".join(fields) + b"\x00"
    *kinds, items = value
    parts = [bytes(kinds), struct.pack(">i", len(items))]
    for item in items:
        parts += [_written(own, each) for own, each in zip(kinds, [item] if kind == _LIST else item, strict=True)]
    return b"".join(parts)


def _inner(kind: int, value: Any) -> list[tuple[int, Any]]:
    """The values in a list or map, with their types."""
    if isinstance(value, Raw) or kind not in (_LIST, _MAP):
        return []
    *kinds, items = value
    return [pair for item in items for pair in zip(kinds, [item] if kind == _LIST else item, strict=True)]


def _count(kind: int, value: Any) -> int:
    """Number of fields of all structs in a value."""
    if kind == _STRUCT and not isinstance(value, Raw):
        return sum(1 + _count(each.kind, each.value) for each in value)
    return sum(_count(own, each) for own, each in _inner(kind, value))


def _struct(fields: list[Field], change: Change, at: int) -> tuple[list[Field], int]:
    """The fields with one of them changed, and how many are to be passed after them."""
    found: list[Field] = []
    for field in fields:
        if at == 0:
            found += _instead(field, change)
            at = -1
            continue
        value, at = _value(field.kind, field.value, change, at - 1) if at > 0 else (field.value, at)
        found.append(field._replace(value=value))
    return found, at


def _value(kind: int, value: Any, change: Change, at: int) -> tuple[Any, int]:
    if kind == _STRUCT and not isinstance(value, Raw):
        return _struct(value, change, at) if at >= 0 else (value, at)
    if not _inner(kind, value):
        return value, at
    *kinds, items = value
    changed: list[Any] = []
    for item in items:
        parts = []
        for own, each in zip(kinds, [item] if kind == _LIST else item, strict=True):
            part, at = _value(own, each, change, at)
            parts.append(part)
        changed.append(parts[0] if kind == _LIST else tuple(parts))
    return (*kinds, changed), at


def _instead(field: Field, change: Change) -> list[Field]:
    other = change.value
    own = _written(field.kind, field.value)
    at = {_LIST: 1, _MAP: 2}.get(field.kind, 0)
    longer = own[:at] + struct.pack(">i", int.from_bytes(own[at : at + 4], "big", signed=True) + 1) + own[at + 4 :]
    return {
        "drop": [],
        "repeat": [field, field],
        "insert": [field, other],
        "renumber": [field._replace(number=other.number)],
        "instead": [other._replace(number=field.number)],
        "type": [field._replace(kind=other.kind, value=Raw(own))],
        "longer": [field._replace(value=Raw(longer if len(own) >= at + 4 else own + b"\x00"))],
    }[change.kind]

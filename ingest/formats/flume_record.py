"""
Flume's serialized event, as in its `gzip`, `batch` and write-ahead log.

Big-endian: int32 length of the body, body, int64 time, int32 priority (0 is FATAL), int64 nanos, host, int32 count of
attributes; for each a name, int32 length and value. Host and names are a uint16 length and Java's modified UTF-8.

Source: Flume 0.9's EventImpl (a Hadoop Writable); java.io.DataInput for the texts.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ingest.api.event import Priority

_INT = Struct(">i")
_CORE = Struct(">qiq")
_SHORT = Struct(">H")
_PRIORITIES = tuple(Priority)


class FlumeRecord(NamedTuple):
    """The parts of a serialized event, in the types of `ingest.api.Event`."""

    body: bytes
    timestamp_ms: int
    priority: Priority
    nanos: int
    host: str
    attributes: dict[str, bytes]


def records_in(content: bytes) -> Iterator[FlumeRecord]:
    """
    Consecutive records.

    Raises:
        ValueError: a record is malformed.
    """
    at = 0
    while at < len(content):
        record, at = _record(content, at)
        yield record


def _record(content: bytes, at: int) -> tuple[FlumeRecord, int]:
    body, at = _sized(content, at)
    core, at = _take(content, at, _CORE.size)
    timestamp_ms, ordinal, nanos = _CORE.unpack(core)
    if not 0 <= ordinal < len(_PRIORITIES):
        raise ValueError(f"{ordinal} before byte {at} is not a priority")
    host, at = _text(content, at)
    count, at = _count(content, at)
    attributes = {}
    for _ in range(count):
        name, at = _text(content, at)
        attributes[name], at = _sized(content, at)
    return FlumeRecord(body, timestamp_ms, _PRIORITIES[ordinal], nanos, host, attributes), at


def _take(content: bytes, at: int, size: int) -> tuple[bytes, int]:
    end = at + size
    if end > len(content):
        raise ValueError(f"it is truncated at byte {len(content)}, in a part from byte {at} to {end}")
    return content[at:end], end


def _count(content: bytes, at: int) -> tuple[int, int]:
    number, at = _take(content, at, _INT.size)
    (count,) = _INT.unpack(number)
    if count < 0:
        raise ValueError(f"{count} before byte {at} is not a length")
    return count, at


def _sized(content: bytes, at: int) -> tuple[bytes, int]:
    size, at = _count(content, at)
    return _take(content, at, size)


def _text(content: bytes, at: int) -> tuple[str, int]:
    number, at = _take(content, at, _SHORT.size)
    (size,) = _SHORT.unpack(number)
    text, at = _take(content, at, size)
    return _from_java(text), at


def _from_java(text: bytes) -> str:
    """Modified UTF-8 encodes NUL in two bytes, and characters beyond 16 bits as two surrogates of three bytes each."""
    halves = text.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

"""The data of a pipeline: a record as the source reads it, and the event that decorators edit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

from ingest.api.errors import DecorateError
from ingest.api.event_errors import NoAttributeError


class AttributeExistsError(DecorateError):
    """A decorator sets an attribute that exists already, with attributes: existing: error."""

    code = "attribute_exists"
    hint = "use another name, mask it first, or set `attributes: {existing: replace}`"


class Priority(StrEnum):
    """Flume's priorities, most urgent first."""

    FATAL = "FATAL"
    ERROR = "ERROR"
    WARN = "WARN"
    INFO = "INFO"
    DEBUG = "DEBUG"
    TRACE = "TRACE"


MAX_EVENTS_OF_A_RECORD = 1 << 17
"""Maximum number of events that the fan-outs of a chain make of one record; all are in memory at once."""
MAX_FAN_OUT = (1 << 63) - 1
"""The largest `Origin.fan_out`: dead letters and row keys write it as 8 bytes."""


class Origin(NamedTuple):
    """
    The identity of an event; the same on every replay, unique for each event.

    Attributes:
        fan_out: number among the events made of one record, 0 without a fan-out.
    """

    topic: str
    partition: int
    offset: int
    fan_out: int = 0


_NOWHERE = Origin("", 0, 0)
_new = object.__new__


TopicPartition = tuple[str, int]
"""A topic, and the number of one of its partitions."""
RecordPlace = tuple[str, int, int]
"""Topic, partition and offset of a record."""
MAX_OFFSET = (1 << 63) - 1
"""The largest offset, of which Kafka has 8 bytes; also the end of records of which the last one is not known."""


class Record(NamedTuple):
    """
    One record of a source, before decoding.

    Attributes:
        key: None for a record without a key.
        value: None for a tombstone.
        headers: in the order of the record; names may repeat.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Sequence[tuple[str, bytes | None]] = ()

    @property
    def place(self) -> RecordPlace:
        """The identity of the record, the same on every replay."""
        return self.topic, self.partition, self.offset


@dataclass(slots=True)
class Event:
    """
    A body with attributes; one owner at a time, edited in place by decorators.

    Not frozen, because a chain of ten decorators would copy it ten times.

    Attributes:
        body: any bytes; empty for a tombstone.
        attributes: name -> bytes, in the order they were set. A name that is not UTF-8 holds lone surrogates.
        timestamp_ms: event time, epoch UTC; the source's time until a decorator sets it.
        nanos: Flume's nanos; unique within a topic for up to 10,000 records of a partition and millisecond.
        key: the record's key, b"" without one.
        tombstone: the record had a null value, which deletes its row.
    """

    body: bytes
    attributes: dict[str, bytes] = field(default_factory=dict)
    timestamp_ms: int = 0
    nanos: int = 0
    host: str = ""
    priority: Priority = Priority.INFO
    key: bytes = b""
    origin: Origin = _NOWHERE
    tombstone: bool = False

    def copy(self) -> Self:
        """A copy of the event, with a copy of its attributes."""
        # by hand: a call with these values takes twice as long, `dataclasses.replace` eight times
        copy = _new(type(self))
        copy.body = self.body
        copy.attributes = self.attributes.copy()
        copy.timestamp_ms = self.timestamp_ms
        copy.nanos = self.nanos
        copy.host = self.host
        copy.priority = self.priority
        copy.key = self.key
        copy.origin = self.origin
        copy.tombstone = self.tombstone
        return copy

    def text_of(self, source: str | None, purpose: str) -> bytes:
        """
        The input of a decorator: an attribute, or the body if none is named.

        Raises:
            DecorateError: there is no such attribute; the message ends with the purpose.
        """
        text = self.body if source is None else self.attributes.get(source)
        if text is None:
            raise NoAttributeError(f'no attribute "{source}" {purpose}')
        return text

    def set(self, name: str, value: bytes) -> None:
        """Set an attribute, replacing its value if it has one."""
        self.attributes[name] = value

    def update(self, attributes: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> None:
        """Set several attributes, given by a mapping or as pairs, or none of them if one is refused."""
        self.attributes.update(attributes)


class WriteOnceEvent(Event):
    """
    An event whose attributes cannot be set again, as in Flume (`attributes: {existing: error}`).

    Source: Flume's Attributes.set refuses a name that has a value.
    """

    __slots__ = ()

    def set(self, name: str, value: bytes) -> None:
        """Set a new attribute."""
        if name in self.attributes:
            raise _already_set(name)
        self.attributes[name] = value

    def update(self, attributes: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> None:
        """Set several new attributes, or none of them if one exists."""
        attributes = dict(attributes)
        for name in attributes:
            if name in self.attributes:
                raise _already_set(name)
        self.attributes.update(attributes)


def _already_set(name: str) -> DecorateError:
    return AttributeExistsError(
        f'attribute "{name}" already has a value',
    )


def nanos_of(timestamp_ms: int, partition: int, offset: int) -> int:
    """Nanos of a record without a `nanos` header: derived from its place, so they are the same on a replay."""
    return timestamp_ms * 1_000_000 + (offset % 10_000) * 100 + partition % 100

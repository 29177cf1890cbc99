"""
From a record to an event.

The body is the record's value. Headers named `host`, `priority` and `nanos` are the event's core fields, all others are
attributes: of a name that repeats the last one counts, a null value is an empty one. Without those headers the host
is "", the priority INFO and the nanos come from the record's place (`ingest.api.nanos_of`).

Formats:

- `raw`: the value is the body.
- `json`: the value is an envelope, `{"body": T, "headers": {name: T, …}}`, both optional; T is a string, or
  `{"b64": …}` for what is not text. Header values may be numbers and booleans too, which stand for their JSON text,
  and null, which is an empty value. They are treated as the record's own headers and win over those. For plain JSON
  objects use `raw` and the decorator `json`.
- `flume_avro`: the value is an AvroFlumeEvent (headers and body) in Avro's binary form without a schema in front, as
  Flume's Kafka sink and channel write it. Its headers win over the record's.

Source: the envelopes are those of Flume's JSON and Avro events.
"""

import io
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import orjson

from ingest.api import DecodeError, Event, Origin, Priority, Record, WriteOnceEvent
from ingest.api.notation import from_notation, name_from_bytes, name_to_bytes

_PRIORITIES = {priority.value.encode(): priority for priority in Priority}
_INT64 = range(-(2**63), 2**63)
_LONGEST_INT64 = 20  # digits and sign; longer text is refused before it is turned into a number
_SHOWN_BYTES = 40  # of a wrong value in a message


class Format(StrEnum):
    """How a record's value holds an event."""

    RAW = "raw"
    JSON = "json"
    FLUME_AVRO = "flume_avro"


class Tombstones(StrEnum):
    """What becomes of records without a value."""

    DROP = "drop"
    ERROR = "error"
    DELETE = "delete"


class Existing(StrEnum):
    """What setting an attribute again does."""

    REPLACE = "replace"
    ERROR = "error"


_Content = Callable[[bytes], tuple[bytes, Mapping[str, bytes]]]


class Decoder:
    """
    Makes events of records; pure, and the same record always gives the same event.

    Args:
        format: how a value holds an event.
        existing: `error` makes events whose attributes can not be set again.
        max_event_bytes: largest value of a record.
        tombstones: what becomes of a record without a value.

    Attributes:
        event_class: what its events are, by `existing`.
    """

    def __init__(
        self,
        *,
        format: str = Format.RAW,  # noqa: A002 - the name of the option
        existing: str = Existing.REPLACE,
        max_event_bytes: int = 1 << 20,
        tombstones: str = Tombstones.DROP,
    ) -> None:
        self._format = Format(format)
        self._content: _Content | None = {Format.JSON: _from_envelope, Format.FLUME_AVRO: _from_avro}.get(self._format)
        self.event_class: type[Event] = WriteOnceEvent if Existing(existing) is Existing.ERROR else Event
        self._max_event_bytes = max_event_bytes
        self._tombstones = Tombstones(tombstones)

    def decode(self, record: Record) -> Event | str:
        """
        The event of a record, or why the record is dropped on purpose.

        Raises:
            DecodeError: the record is not an event.
        """
        topic, partition, offset, key, value, timestamp_ms, headers = record
        tombstone = value is None
        if value is None:
            if self._tombstones is Tombstones.DROP:
                return "tombstone"
            if self._tombstones is Tombstones.ERROR:
                raise DecodeError("the record has no value", code="tombstone", hint="see the source's `tombstones`")
            value = b""
        elif len(value) > self._max_event_bytes:
            raise DecodeError(
                f"the value has {len(value)} bytes, allowed are {self._max_event_bytes}",
                code="too_large",
                hint="raise the source's `max_event_bytes`",
            )
        event = self.event_class(
            value,
            {},
            timestamp_ms,
            timestamp_ms * 1_000_000 + offset % 10_000 * 100 + partition % 100,  # nanos_of, without the call
            "",
            Priority.INFO,
            key or b"",
            Origin(topic, partition, offset),
            tombstone,
        )
        if headers:
            for header, content in headers:
                event.attributes[header] = content or b""
        if self._content is not None and not tombstone:
            event.body, inner = self._content(value)
            event.attributes.update(inner)
        if event.attributes:
            _take_core_fields(event)
        return event


def _take_core_fields(event: Event) -> None:
    attributes = event.attributes
    host = attributes.pop("host", None)
    if host is not None:
        event.host = name_from_bytes(host)
    priority = attributes.pop("priority", None)
    if priority is not None:
        event.priority = _priority(priority)
    nanos = attributes.pop("nanos", None)
    if nanos is not None:
        event.nanos = _nanos(nanos)


def _priority(text: bytes) -> Priority:
    priority = _PRIORITIES.get(text) or _PRIORITIES.get(text.upper())
    if priority is None:
        raise DecodeError(
            f"the header priority holds {text[:_SHOWN_BYTES]!r}",
            code="bad_header",
            hint=f"it must be one of {', '.join(Priority)}",
        )
    return priority


def _nanos(text: bytes) -> int:
    digits = text[1:] if text[:1] == b"-" else text
    if digits.isdigit() and len(text) <= _LONGEST_INT64 and (nanos := int(text)) in _INT64:
        return nanos
    raise DecodeError(
        f"the header nanos holds {text[:_SHOWN_BYTES]!r}",
        code="bad_header",
        hint="it must be a whole number of 64 bits",
    )


def _from_envelope(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    try:
        envelope = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise DecodeError(f"the value is not JSON: {error}", code="bad_json") from error
    if not isinstance(envelope, dict) or not envelope.keys() <= {"body", "headers"}:
        raise DecodeError(
            'the value is no envelope {"body": …, "headers": {…}}',
            code="bad_envelope",
            hint="use format raw and the decorator json for other JSON",
        )
    headers = envelope.get("headers", {})
    if not isinstance(headers, dict):
        raise DecodeError("the headers of the envelope are no object", code="bad_envelope")
    return from_notation(envelope.get("body", "")), {name: _header(content) for name, content in headers.items()}


def _header(content: object) -> bytes:
    if content is None:
        return b""
    if isinstance(content, bool | int | float):
        return orjson.dumps(content)
    return from_notation(content)


def _from_avro(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    read, schema = _avro()
    stream = io.BytesIO(value)
    try:
        content: dict[str, Any] = read(stream, schema, None, handle_unicode_errors="surrogateescape")
    except (EOFError, ValueError, IndexError, OverflowError, MemoryError) as error:
        raise DecodeError(f"the value is no AvroFlumeEvent: {type(error).__name__} {error}", code="bad_avro") from error
    rest = len(value) - stream.tell()
    if rest:
        raise DecodeError(f"{rest} bytes follow the AvroFlumeEvent", code="bad_avro")
    return content["body"], {name: name_to_bytes(text) for name, text in content["headers"].items()}


@cache
def _avro() -> tuple[Callable[..., Any], object]:
    import fastavro  # only pipelines of this format pay for it

    schema = fastavro.parse_schema(
        {
            "type": "record",
            "name": "AvroFlumeEvent",
            "fields": [
                {"name": "headers", "type": {"type": "map", "values": "string"}},
                {"name": "body", "type": "bytes"},
            ],
        }
    )
    return fastavro.schemaless_reader, schema

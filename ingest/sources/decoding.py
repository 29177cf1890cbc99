"""
From a record to an event.

The body is the record's value. Headers named `host`, `priority` and `nanos` are the event's core fields, all others are
attributes: of a name that repeats the last one counts, a null value is an empty one. Without those headers the host
is "", the priority INFO and the nanos come from the record's place (`ingest.api.nanos_of`).

Formats:

- `raw`: the value is the body.
- `json`: the value is an envelope, `{"body": T, "headers": {name: T, …}}`, both optional; T is a string, or
  `{"b64": …}` for what is not text. Header values may be numbers and booleans too, which stand for their JSON text
  digit for digit, and null, which is an empty value. They are treated as the record's own headers and win over those.
  For plain JSON objects use `raw` and the decorator `json`.
- `flume_avro`: the value is an AvroFlumeEvent (headers and body) in Avro's binary form without a schema in front, as
  Flume's Kafka sink and channel write it. Its headers win over the record's.

Source: the envelopes are those of Flume's JSON and Avro events.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache

from ingest.api import (
    DecodeError,
    DecorateError,
    Event,
    Format,
    Origin,
    Priority,
    Record,
    Tombstones,
    WriteOnceEvent,
)
from ingest.api.notation import from_notation
from ingest.formats.headers import take_core_fields
from ingest.formats.json_text import attributes_of, read_json, write_json


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
        existing: `error` makes events whose attributes cannot be set again.
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
            take_core_fields(event.attributes).apply_to(event)
        return event


def _from_envelope(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    try:
        envelope = read_json(value)
        if not isinstance(envelope, dict) or not envelope.keys() <= {"body", "headers"}:
            raise DecodeError(
                'the value is no envelope {"body": …, "headers": {…}}',
                code="bad_envelope",
                hint="use format raw and the decorator json for other JSON",
            )
        body = from_notation(envelope.get("body", ""))
        return body, attributes_of(envelope, value, _headers) if "headers" in envelope else {}
    except DecorateError as error:  # what reads JSON is for decorators too
        raise DecodeError(f"the value is {error}", code=error.code) from error


def _headers(envelope: dict[str, object]) -> dict[str, bytes]:
    headers = envelope["headers"]
    if not isinstance(headers, dict):
        raise DecodeError("the headers of the envelope are no object", code="bad_envelope")
    return {name: _header(content) for name, content in headers.items()}


def _header(content: object) -> bytes:
    if isinstance(content, str):  # a number as it was written too
        return content.encode()
    if content is None:
        return b""
    if isinstance(content, (int, float)):  # a truth value too
        return write_json(content)
    return from_notation(content)


def _from_avro(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    try:
        return _flume_event()(value)
    except ValueError as error:
        raise DecodeError(f"the value is no AvroFlumeEvent: {error}", code="bad_avro") from error


@cache
def _flume_event() -> _Content:
    from ingest.formats.avro import flume_event  # only pipelines of this format pay for it

    return flume_event

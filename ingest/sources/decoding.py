"""
Decodes records into events.

The body is the record's value. Headers named `host`, `priority` and `nanos` set the event's core fields; all others
become attributes. The source's `headers` may name those that are read. If a name repeats, the last value wins, or what
`on_repeated_header` says; a null value is empty.
Without those headers the host is "", the priority INFO, and the nanos follow from the record's timestamp and position
(`ingest.api.nanos_of`).

Formats:

- `raw`: the value is the body.
- `json`: the value is an envelope, `{"body": T, "headers": {name: T, …}}`; both keys are optional. T is a string, or
  `{"b64": …}` for bytes that are not UTF-8. A header may also be a number or a boolean, which becomes its JSON text
  digit for digit, or null, which becomes an empty value. Headers of the envelope override headers of the record.
  For plain JSON objects use `raw` and the decorator `json`.
- `flume_avro`: the value is an AvroFlumeEvent (headers and body) in Avro's binary encoding without a schema, as
  Flume's Kafka sink and channel write it. Its headers override headers of the record.

Source: the envelopes of Flume's JSON and Avro events.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache

from ingest.api import (
    DecodeError,
    Decoding,
    DecorateError,
    Encoding,
    Event,
    Format,
    Origin,
    Priority,
    Record,
    RepeatedHeaders,
    Tombstones,
    WriteOnceEvent,
)
from ingest.api.event_errors import BadAvroError, BadEncodingError, TooLargeError
from ingest.api.notation import from_notation, name_to_bytes, shown_start
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.formats.headers import CORE_NAMES, take_core_fields
from ingest.formats.json_text import attributes_of, read_json, write_json
from ingest.sources.unread import unread_error


class BadEnvelopeError(DecodeError):
    """The value is JSON, but not an object with "body" and "headers"."""

    code = "bad_envelope"
    remedy = "Use format raw and the decorator `json`, or correct the producer."


class TombstoneError(DecodeError):
    """The record has no value, with tombstones: error."""

    code = "tombstone"
    dropped = "The record has no value, with `tombstones: drop` of the source."
    remedy = "Choose another `tombstones` of the source."


class Existing(StrEnum):
    """The effect of setting an attribute that the event already has."""

    REPLACE = "replace"
    ERROR = "error"


_PLAIN = Decoding()
_WITHOUT_VALUE = frozenset({Tombstones.DELETE, Tombstones.KEEP})  # records without a value are events
_INFO = Priority.INFO  # a look-up in the enum for each record would take longer
_new = object.__new__
_new_tuple = tuple.__new__
"""Creates a named tuple without its call of Python code."""
_Content = Callable[[bytes], tuple[bytes, Mapping[str, bytes]]]


class Decoder:
    """
    Decodes records into events. Pure: the same record always gives the same event.

    Args:
        decoding: the options of the source. A record's key and headers together may have `max_event_bytes`, and always
            1 MiB.
        existing: `error` creates events whose attributes can be set only once.

    Attributes:
        event_class: class of the events, which depends on `existing`.
    """

    def __init__(self, decoding: Decoding = _PLAIN, existing: str = Existing.REPLACE) -> None:
        self._format = decoding.format
        self._content: _Content | None = {Format.JSON: _from_envelope, Format.FLUME_AVRO: _from_avro}.get(self._format)
        self.event_class: type[Event] = WriteOnceEvent if Existing(existing) is Existing.ERROR else Event
        self._max_event_bytes = decoding.max_event_bytes
        self._max_beside_bytes = max(decoding.max_event_bytes, DEFAULT_EVENT_BYTES)
        self._tombstones = decoding.tombstones
        self._has_unread = decoding.has_unread
        self._repeated = decoding.on_repeated_header
        self._separator = name_to_bytes(decoding.header_separator)
        self._headers = decoding.headers
        self._encoding = None if decoding.encoding is Encoding.UTF8 else decoding.encoding

    def _refused_tombstone(self) -> str:
        if self._tombstones is Tombstones.DROP:
            return TombstoneError.code
        raise TombstoneError("the record has no value", hint="see the source's `tombstones`")

    def _read_headers(self, event: Event, headers: Sequence[tuple[str, bytes | None]]) -> int:
        """Set the attributes of a new event; returns their bytes."""
        if self._headers is not None:
            headers = [each for each in headers if each[0] in self._headers]
        size = 0
        for header, content in headers:
            text = event.attributes[header] = content or b""
            size += len(header) + len(text)
        if len(headers) > len(event.attributes) and self._repeated is not RepeatedHeaders.LAST:
            event.attributes.update(self._of_repeated(headers))
        return size

    def _of_repeated(self, headers: Iterable[tuple[str, bytes | None]]) -> dict[str, bytes]:
        """The first or the joined values of all headers but those of core fields."""
        values: dict[str, list[bytes]] = {}
        for header, content in headers:
            if header not in CORE_NAMES:
                values.setdefault(header, []).append(content or b"")
        if self._repeated is RepeatedHeaders.FIRST:
            return {name: several[0] for name, several in values.items()}
        return {name: self._separator.join(several) for name, several in values.items()}

    def decode(self, record: Record) -> Event | str:
        """
        The event of a record, or the reason for which the record is dropped on purpose.

        Raises:
            DecodeError: the record cannot be decoded.
            UnreadError: it stands for records that could not be read.
        """
        topic, partition, offset, key, value, timestamp_ms, headers = record
        has_value = value is not None
        if value is None:
            if headers and self._has_unread:
                raise unread_error(record)
            if self._tombstones not in _WITHOUT_VALUE:
                return self._refused_tombstone()
            value = b""
        elif len(value) > self._max_event_bytes:
            raise DecodeError(
                f"the value has {len(value)} bytes; the limit is {self._max_event_bytes}",
                code=TooLargeError.code,
                hint="raise the source's `max_event_bytes`",
            )
        if self._encoding is not None:
            value = _in_utf8(value, self._encoding)
        # by hand: a call with these values takes twice as long
        event = _new(self.event_class)
        event.body = value
        event.attributes = {}
        event.timestamp_ms = timestamp_ms
        event.nanos = timestamp_ms * 1_000_000 + offset % 10_000 * 100 + partition % 100  # nanos_of, without the call
        event.host = ""
        event.priority = _INFO
        event.key = key or b""
        event.origin = _new_tuple(Origin, (topic, partition, offset, 0))
        event.tombstone = not has_value and self._tombstones is Tombstones.DELETE
        beside = len(event.key)
        if headers:
            beside += self._read_headers(event, headers)
        if beside > self._max_beside_bytes:
            raise DecodeError(
                f"the key and the headers have {beside} bytes; the limit is {self._max_beside_bytes}",
                code=TooLargeError.code,
                hint="raise the source's `max_event_bytes`",
            )
        if self._content is not None and has_value:
            event.body, inner = self._content(value)
            event.attributes.update(inner)
        if event.attributes:
            take_core_fields(event.attributes).apply_to(event)
        return event


def _in_utf8(value: bytes, encoding: Encoding) -> bytes:
    try:
        return value.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"{shown_start(value)} is not {encoding}: {error.reason} at byte {error.start}",
            code=BadEncodingError.code,
            hint="see the source's `encoding`",
        ) from error


def _from_envelope(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    try:
        envelope = read_json(value)
        if not isinstance(envelope, dict) or not envelope.keys() <= {"body", "headers"}:
            raise BadEnvelopeError(
                'the value is not an envelope {"body": …, "headers": {…}}',
                hint="use format raw and the decorator json for other JSON",
            )
        body = from_notation(envelope.get("body", ""))
        return body, attributes_of(envelope, value, _headers) if "headers" in envelope else {}
    except DecorateError as error:  # from the JSON reader, which decorators use too
        raise DecodeError(f"the value is {error}", code=error.code) from error


def _headers(envelope: dict[str, object]) -> dict[str, bytes]:
    headers = envelope["headers"]
    if not isinstance(headers, dict):
        raise BadEnvelopeError("the headers of the envelope are not an object")
    return {name: _header(content) for name, content in headers.items()}


def _header(content: object) -> bytes:
    if isinstance(content, str):  # a string, or a number as it was written
        return content.encode()
    if content is None:
        return b""
    if isinstance(content, (int, float)):  # includes booleans
        return write_json(content)
    return from_notation(content)


def _from_avro(value: bytes) -> tuple[bytes, Mapping[str, bytes]]:
    try:
        return _flume_event()(value)
    except ValueError as error:
        raise DecodeError(f"the value is not an AvroFlumeEvent: {error}", code=BadAvroError.code) from error


@cache
def _flume_event() -> _Content:
    from ingest.formats.avro import flume_event  # imported only for pipelines of this format

    return flume_event

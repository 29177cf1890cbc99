"""
A dead letter: the record as the source read it, and the error.

Events of one record that failed in one component with one code have one dead letter; id, message, fan_out and
attributes come from the first. As JSON it is one line; bytes are text if they are UTF-8, else `{"b64": …}`. The
keys, in this order::

    format         1, 2 if there is a `blob`, or 3 if there is `unread`; a reader refuses any other number
    product        version that wrote it
    id             topic/partition/offset/fan-out/component; the same if it is published again
    pipeline       its name
    component      the sink that refused the event, the decorator that failed, or "source"
    code           stable name of the error
    message        text of the error
    batch_time_ms  time of the micro-batch; a replay writes cells with this time minus 1 ms
    source_batch_ms
                   time of the micro-batch for which the source read the record, if a replay of a dead letter by place
                   has published this one; else it is missing
    fingerprint    of the pipeline's configuration
    table          table of the sink that refused the event, or its kind if it names no table; "" if the event failed
                   before the sinks; missing in dead letters of earlier versions
    fan_out        number among the events made of one record
    events         number of events of the record that failed in this component with this code; 1 if it is missing
    attributes     [[name, value], …] at the failure, not an object because names may be bytes; empty if they are
                   larger than 1 MiB, and the message says so
    pointer        place of the complete dead letter, if this one was cut to fit; else null
    blob           {table, id, length}: the value of the record is this blob in the blob store of the table, and null
                   in the record; only in format 2
    unread         {end}: the dead letter has no bytes of its records, those from the place of `record` up to the offset
                   `end`, or null if that is not known: the source could not read them. With `was_read`, which is true,
                   the source has read them, and all of them failed. With `topic_id`, the id of their topic in Kafka;
                   and with `read_before`, which is true, records at these offsets were read in an earlier micro-batch;
                   only in format 3
    record         {topic, partition, offset, timestamp_ms, key, value, headers: [[name, value], …]}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from ingest import __version__
from ingest.api import DecodeError, IntegrityError, Record, UnreadError
from ingest.api.event import MAX_OFFSET
from ingest.api.notation import Notation, from_notation, name_from_bytes, name_to_bytes, to_notation
from ingest.dead_letters.blobs import DeadLetterBlob, reference_of

FORMAT = 1
BLOB_FORMAT = 2
"""Of dead letters with a blob: an earlier version would replay them with an empty value."""
PLACE_FORMAT = 3
"""Of dead letters by place: an earlier version would replay them as a record without a value."""
_BY_PLACE = f'{{"format":{PLACE_FORMAT},'.encode()
MAX_MESSAGE_CHARS = 4_000  # an error that quotes a body must not double the size of the dead letter


class PlaceRange(NamedTuple):
    """
    Records of which a dead letter has no bytes: those from the place of its record.

    Attributes:
        end: offset at which they end, above that of the last one; None if it is not known.
        was_read: whether the source has read them and all of them failed, in a micro-batch whose dead letters were too
            large; else it could not read them.
        topic_id: of their topic, since one that is recreated has other records there; "" if it is unknown.
        read_before: as `UnreadError.read_before`; tables with deferred updates may have counted these records.
    """

    end: int | None
    was_read: bool = False
    topic_id: str = ""
    read_before: bool = False

    @classmethod
    def of(cls, error: UnreadError) -> "PlaceRange":
        """The records that a source could not read."""
        return cls(error.end, read_before=error.read_before)

    @property
    def end_offset(self) -> int:
        """`end`; `MAX_OFFSET` if it is not known."""
        return MAX_OFFSET if self.end is None else self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """
    A failed event, or all events of a record that failed in one component with one code; or a place by itself: of
    records that the source could not read, or of consecutive ones that failed (`PlaceRange.was_read`).

    For several events it describes the failure of the first one.

    Attributes:
        record: as the source read it; without key, value and headers if there is a `pointer` or `by_place`, without the
            value if there is a `blob`.
        fan_out: number among the events made of the record, 0 without a fan-out.
        attributes: of the event when it failed; empty if the record could not be decoded.
        component: name or label of the sink or decorator, "source" if the record could not be decoded.
        batch_time_ms: of the micro-batch in which it failed.
        source_batch_ms: of the micro-batch for which the source read the record; None if that is the same.
        table: that the sink names which refused the event, or the kind of this sink if it names none; "" if the event
            failed before the sinks; None if it is unknown.
        pointer: place of the complete dead letter; None if this is the complete one.
        blob: where the value of the record is; None if the record has it.
        by_place: the records from the place of `record`, if it does not have their bytes; None if it has those of
            `record`. `unread` in JSON.
        events: number of events; of records if there is `by_place`.
        product: version that wrote it.
    """

    record: Record
    fan_out: int
    attributes: Mapping[str, bytes]
    pipeline: str
    component: str
    code: str
    message: str
    batch_time_ms: int
    fingerprint: str
    pointer: str | None = None
    blob: DeadLetterBlob | None = None
    by_place: PlaceRange | None = None
    events: int = 1
    source_batch_ms: int | None = None
    table: str | None = None
    product: str = __version__

    @property
    def key(self) -> bytes:
        """
        Its identity: `topic/partition/offset/fan-out/component`.

        The last part contains no slash, so no two dead letters have the same key.
        """
        record = self.record
        component = _plain(self.component).replace("%", "%25").replace("/", "%2F")
        place = f"/{record.partition}/{record.offset}/{self.fan_out}/{component}"
        return name_to_bytes(record.topic) + place.encode()

    @property
    def source_ms(self) -> int:
        """Time of the micro-batch for which the source read the record."""
        return self.batch_time_ms if self.source_batch_ms is None else self.source_batch_ms

    @property
    def end_offset(self) -> int:
        """The offset after its last record; `MAX_OFFSET` if that is not known."""
        if self.by_place is None:
            return self.record.offset + 1
        return self.by_place.end_offset

    @property
    def is_of_fan_out(self) -> bool:
        """Whether it shows that its record became several events; if the first of them failed alone it does not."""
        return self.fan_out > 0 or (self.events > 1 and self.by_place is None)

    @property
    def is_unread(self) -> bool:
        """Whether it is of records that the source could not read."""
        return self.by_place is not None and not self.by_place.was_read

    @property
    def id(self) -> str:
        """The key as text, for messages and commands."""
        return self.key.decode("utf-8", "backslashreplace")

    @property
    def blob_reference(self) -> bytes:
        """The reference that keeps its blob."""
        return reference_of(self.pipeline, self.batch_time_ms, self.key)

    def in_topic(self, topic_id: str) -> "DeadLetter":
        """The dead letter; one by place with the id of its topic."""
        return self if self.by_place is None else replace(self, by_place=self.by_place._replace(topic_id=topic_id))

    def with_blob(self, blob: DeadLetterBlob) -> "DeadLetter":
        """The dead letter without the value of its record, which is in a blob store."""
        return replace(self, record=self.record._replace(value=None), blob=blob)

    def with_value(self, value: bytes) -> "DeadLetter":
        """The dead letter with the value of its record, as it was read from the blob store."""
        return replace(self, record=self.record._replace(value=value), blob=None)

    def pointing_to(self, pointer: str) -> "DeadLetter":
        """The dead letter without its large parts, with the place of the complete one."""
        stub = self.record._replace(key=None, value=None, headers=())
        return replace(self, record=stub, attributes={}, pointer=pointer)

    def to_json(self) -> bytes:
        """One line, without the line feed."""
        record = self.record
        blob = {} if self.blob is None else {"blob": self.blob._asdict() | {"table": _plain(self.blob.table)}}
        span = {} if self.by_place is None else {"unread": _plain_range(self.by_place)}
        source = {} if self.source_batch_ms is None else {"source_batch_ms": self.source_batch_ms}
        table = {} if self.table is None else {"table": _plain(self.table)}
        return orjson.dumps(
            {
                "format": PLACE_FORMAT if span else BLOB_FORMAT if blob else FORMAT,
                "product": self.product,
                "id": self.id,
                "pipeline": _plain(self.pipeline),
                "component": _plain(self.component),
                "code": _plain(self.code),
                "message": _plain(self.message, MAX_MESSAGE_CHARS),
                "batch_time_ms": self.batch_time_ms,
                **source,
                "fingerprint": self.fingerprint,
                **table,
                "fan_out": self.fan_out,
                "events": self.events,
                "attributes": [[_name(name), to_notation(value)] for name, value in self.attributes.items()],
                "pointer": None if self.pointer is None else _plain(self.pointer),
                **blob,
                **span,
                "record": {
                    "topic": _name(record.topic),
                    "partition": record.partition,
                    "offset": record.offset,
                    "timestamp_ms": record.timestamp_ms,
                    "key": _optional(record.key),
                    "value": _optional(record.value),
                    "headers": [[_name(name), _optional(value)] for name, value in record.headers],
                },
            }
        )

    @classmethod
    def from_json(cls, line: bytes) -> "DeadLetter":
        """
        The dead letter of a line.

        Raises:
            IntegrityError: it is not a dead letter, or has a newer format.
        """
        try:
            content = orjson.loads(line)
            if content["format"] not in {FORMAT, BLOB_FORMAT, PLACE_FORMAT}:
                raise IntegrityError(
                    f"dead letter has format {content['format']!r}, this version reads {FORMAT} to {PLACE_FORMAT}",
                    hint="read it with the version that wrote it or a later one",
                )
            return cls(
                record=_record_of(content["record"]),
                fan_out=_integer(content["fan_out"]),
                events=_integer(content.get("events", 1)),
                attributes={
                    name_from_bytes(from_notation(name)): from_notation(value) for name, value in content["attributes"]
                },
                pipeline=_text(content["pipeline"]),
                component=_text(content["component"]),
                code=_text(content["code"]),
                message=_text(content["message"]),
                batch_time_ms=_integer(content["batch_time_ms"]),
                source_batch_ms=None if (time_ms := content.get("source_batch_ms")) is None else _integer(time_ms),
                fingerprint=_text(content["fingerprint"]),
                table=None if (table := content.get("table")) is None else _text(table),
                pointer=None if content["pointer"] is None else _text(content["pointer"]),
                blob=_blob_of(content) if content["format"] == BLOB_FORMAT else None,
                by_place=_place_of(content) if content["format"] == PLACE_FORMAT else None,
                product=_text(content["product"]),
            )
        except (ValueError, TypeError, KeyError, DecodeError) as error:
            raise IntegrityError(f"this is not a dead letter: {error!r}") from error


def dead_letters_of(lines: Sequence[bytes]) -> list[DeadLetter]:
    """The dead letters of a receipt."""
    return [DeadLetter.from_json(line) for line in lines]


def with_topic_ids(lines: Sequence[bytes], known: Callable[[], Mapping[str, str]]) -> list[bytes]:
    """
    The dead letters of a receipt, those by place with the ids of their topics.

    Args:
        lines: the dead letters.
        known: returns topic -> its id, as far as it is known; called if there is one by place.
    """
    ids: Mapping[str, str] | None = None
    found = []
    for line in lines:
        if not line.startswith(_BY_PLACE):
            found.append(line)
            continue
        if ids is None:
            ids = known()
        letter = DeadLetter.from_json(line)
        found.append(letter.in_topic(ids.get(letter.record.topic, "")).to_json())
    return found


def _record_of(content: Mapping[str, Any]) -> Record:
    return Record(
        topic=name_from_bytes(from_notation(content["topic"])),
        partition=_integer(content["partition"]),
        offset=_integer(content["offset"]),
        key=_optional_of(content["key"]),
        value=_optional_of(content["value"]),
        timestamp_ms=_integer(content["timestamp_ms"]),
        headers=tuple(
            (name_from_bytes(from_notation(name)), _optional_of(value)) for name, value in content["headers"]
        ),
    )


def _blob_of(content: Mapping[str, Any]) -> DeadLetterBlob:
    found = content["blob"]
    blob = DeadLetterBlob(_text(found["table"]), _text(found["id"]), _integer(found["length"]))
    if not blob.is_valid() or content["record"]["value"] is not None:
        raise ValueError(f"{blob} is not the blob of a dead letter")
    return blob


def _place_of(content: Mapping[str, Any]) -> PlaceRange:
    end, was_read = content["unread"]["end"], content["unread"].get("was_read", False)
    topic_id = _text(content["unread"].get("topic_id", ""))
    read_before = content["unread"].get("read_before", False) is True
    span = PlaceRange(None if end is None else _integer(end), was_read is True, topic_id, read_before)
    if content["record"]["value"] is not None:
        raise ValueError(f"{span} has a value")
    return span


def _plain_range(span: PlaceRange) -> dict[str, object]:
    flags = {name: True for name in ("was_read", "read_before") if getattr(span, name)}
    return {"end": span.end, **flags, **({"topic_id": span.topic_id} if span.topic_id else {})}


def _plain(text: str, limit: int | None = None) -> str:
    """Text for JSON: lone surrogates are escaped, and text beyond the limit is cut."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…"


def _name(name: str) -> Notation:
    return to_notation(name_to_bytes(name))


def _optional(value: bytes | None) -> Notation | None:
    return None if value is None else to_notation(value)


def _optional_of(notation: object) -> bytes | None:
    return None if notation is None else from_notation(notation)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value

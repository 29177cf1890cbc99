"""
Dead letters as records of a topic, in one of two envelopes.

`json`: the value is the line of the dead letter, the key its identity.

`headers`: key, value and headers are those of the failed record, and the error is in further headers after them. Those
that mean the same have the names of Kafka Connect's dead letter queue (KIP-298, `DeadLetterQueueReporter` of Kafka
2.0 and later); the others begin with `__attr2hbase.`, and are named as in the JSON. Numbers are decimal, text is UTF-8.

The last header, `__attr2hbase.original_headers`, is the number of headers of the failed record, which come first. So
headers of a failed record that was a dead letter itself are not confused with those of the new dead letter. A program
that copies the record and adds headers at the end changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import orjson

from ingest.api import DecodeError, IntegrityError
from ingest.api.notation import name_to_bytes, to_notation
from ingest.dead_letters.envelope import FORMAT, DeadLetter
from ingest.kafka.stored import Header, Stored

CONNECT = "__connect.errors."
OWN = "__attr2hbase."
HEADER_FORMAT = 4
"""Of dead letters in headers; 1 to 3 are those of the JSON."""
_HEADER_BYTES = 10  # of a header beside name and value: two lengths, each of at most 5 bytes

_TEXTS = {
    "pipeline": f"{CONNECT}connector.name",
    "component": f"{CONNECT}class.name",
    "code": f"{CONNECT}exception.class.name",
    "message": f"{CONNECT}exception.message",
    "product": f"{OWN}product",
    "fingerprint": f"{OWN}fingerprint",
}
"""Key in the JSON -> header with the same text."""
_NUMBERS = {name: f"{OWN}{name}" for name in ("batch_time_ms", "fan_out", "events")}
_SOURCE_BATCH = f"{OWN}source_batch_ms"  # missing as in the JSON
_TABLE = f"{OWN}table"  # missing as in the JSON
_TOPIC = f"{CONNECT}topic"
_OF_RECORD = {
    "partition": f"{CONNECT}partition",
    "offset": f"{CONNECT}offset",
    "timestamp_ms": f"{OWN}timestamp_ms",
}
_STAGE = f"{CONNECT}stage"
_FORMAT = f"{OWN}format"
_ATTRIBUTES = f"{OWN}attributes"
_NULL_HEADERS = f"{OWN}null_headers"
ORIGINAL_HEADERS = f"{OWN}original_headers"


class TopicRecord(NamedTuple):
    """A record that is to be sent."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]

    @property
    def size(self) -> int:
        """Bytes that it takes at most, beside the overhead of a record without headers."""
        headers = sum(len(name_to_bytes(name)) + len(value or b"") + _HEADER_BYTES for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


def in_json(line: bytes, dead_letter: DeadLetter) -> TopicRecord:
    """
    The record of a dead letter in JSON, with headers for consumers that route without parsing it.

    Args:
        line: the dead letter as `DeadLetter.to_json` writes it.
        dead_letter: the same.
    """
    fields = {"pipeline": dead_letter.pipeline, "component": dead_letter.component, "error": dead_letter.code}
    headers = [(name, value.encode("utf-8", "backslashreplace")) for name, value in fields.items()]
    return TopicRecord(dead_letter.key, line, headers)


def in_headers(line: bytes, dead_letter: DeadLetter, sinks: Collection[str]) -> TopicRecord:
    """
    The record of a dead letter with the error in headers.

    It is in JSON if it does not have the bytes of its record: a dead letter by place, one with a `pointer` or a `blob`.
    So is one whose record kafka-python 3.0.12 cannot send: with neither key nor value, or with a header whose name is
    no UTF-8. It sends no header without a value either: such a header has an empty one, and its number is in
    `__attr2hbase.null_headers`.

    Args:
        line: the dead letter as `DeadLetter.to_json` writes it.
        dead_letter: the same.
        sinks: names of the pipeline's sinks, for the stage of Kafka Connect.
    """
    record = dead_letter.record
    has_bytes = dead_letter.pointer is None and dead_letter.blob is None and dead_letter.by_place is None
    is_empty = record.key is None and record.value is None
    if not has_bytes or is_empty or not all(_is_text(name) for name, _ in record.headers):
        return in_json(line, dead_letter)
    content = orjson.loads(line)
    fields: dict[str, object] = {
        _TOPIC: name_to_bytes(record.topic),
        **{header: content["record"][name] for name, header in _OF_RECORD.items()},
        _STAGE: _stage(dead_letter.component, sinks),
        **{header: content[name] for name, header in _TEXTS.items()},
        _FORMAT: HEADER_FORMAT,
        **{header: content[name] for name, header in _NUMBERS.items()},
        _ATTRIBUTES: orjson.dumps(content["attributes"]),
    }
    if "source_batch_ms" in content:
        fields[_SOURCE_BATCH] = content["source_batch_ms"]
    if "table" in content:
        fields[_TABLE] = content["table"]
    if nulls := [str(number) for number, (_, value) in enumerate(record.headers) if value is None]:
        fields[_NULL_HEADERS] = ",".join(nulls)
    fields[ORIGINAL_HEADERS] = len(record.headers)
    original = [(name, value or b"") for name, value in record.headers]
    added = [(name, each if isinstance(each, bytes) else str(each).encode()) for name, each in fields.items()]
    return TopicRecord(record.key, record.value, [*original, *added])


def dead_letter_of(stored: Stored) -> DeadLetter:
    """
    The dead letter of a record, in either envelope.

    Raises:
        IntegrityError: it is not a dead letter, or has a newer format.
    """
    ends = [number for number, (name, _) in enumerate(stored.headers) if name == ORIGINAL_HEADERS]
    if not ends:
        return DeadLetter.from_json(stored.value or b"")
    try:
        # not behind the last one: a program that has copied the record may have added others
        original, fields = _divided(stored.headers[: ends[-1]], stored.headers[ends[-1]][1])
        stub = DeadLetter.from_json(orjson.dumps(_content(fields)))
    except (ValueError, TypeError, LookupError, DecodeError) as error:
        raise IntegrityError(f"this is not a dead letter: {error!r}") from error
    record = stub.record._replace(key=stored.key, value=stored.value, headers=original)
    return replace(stub, record=record)


def _content(fields: Mapping[str, bytes | None]) -> dict[str, Any]:
    """The JSON of a dead letter without the bytes of its record."""
    if (found := _number(fields[_FORMAT])) != HEADER_FORMAT:
        raise IntegrityError(
            f"dead letter in headers has format {found}, this version reads {HEADER_FORMAT}",
            hint="read it with the version that wrote it or a later one",
        )
    source = {"source_batch_ms": _number(fields[_SOURCE_BATCH])} if _SOURCE_BATCH in fields else {}
    table = {"table": _text(fields[_TABLE])} if _TABLE in fields else {}
    return {
        "format": FORMAT,
        **{name: _text(fields[header]) for name, header in _TEXTS.items()},
        **{name: _number(fields[header]) for name, header in _NUMBERS.items()},
        **source,
        **table,
        "attributes": orjson.loads(_bytes(fields[_ATTRIBUTES])),
        "pointer": None,
        "record": {
            "topic": to_notation(_bytes(fields[_TOPIC])),
            **{name: _number(fields[header]) for name, header in _OF_RECORD.items()},
            "key": None,
            "value": None,
            "headers": [],
        },
    }


def _divided(
    headers: Sequence[Header], original_headers: bytes | None
) -> tuple[tuple[Header, ...], dict[str, bytes | None]]:
    """The headers of the failed record, and those of the dead letter."""
    count = _number(original_headers)
    if not 0 <= count <= len(headers):
        raise ValueError(f"it has {len(headers)} headers before the last one, not {count}")
    found, fields = list(headers[:count]), dict(headers[count:])
    nulls = fields.get(_NULL_HEADERS)
    for number in () if nulls is None else map(_number, nulls.split(b",")):
        name, value = found[number]
        if number < 0 or value:
            raise ValueError(f'header {number}, "{name}", has a value')
        found[number] = (name, None)
    return tuple(found), fields


def _stage(component: str, sinks: Collection[str]) -> str:
    """The stage of Kafka Connect that does what a component does, by the names of its `Stage`."""
    if component == "source":
        return "VALUE_CONVERTER"
    return "TASK_PUT" if component in sinks else "TRANSFORMATION"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bytes(value: bytes | None) -> bytes:
    if value is None:
        raise TypeError("header has no value")
    return value


def _text(value: bytes | None) -> str:
    return _bytes(value).decode()


def _number(value: bytes | None) -> int:
    text = _text(value)
    if not text.removeprefix("-").isdecimal():
        raise ValueError(f'"{text}" is not a whole number')
    return int(text)

"""Input events: JSON lines, and the entries under `given` of a test."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from ingest.api import ConfigError, Event, EventError, Origin, Priority, Record, nanos_of
from ingest.api.notation import from_notation, name_from_bytes
from ingest.config.problems import Kind, Place, Problem, Report
from ingest.config.test_cases import Given, GivenRecord
from ingest.config.translate import problems_in_line
from ingest.formats.event_json import given_record
from ingest.suggest import closest

_BYTES_KEY = '{"b64":'  # start of a name that is not UTF-8, as a key of a JSON object

_DEAD_LETTER = {"record", "component", "batch_time_ms"}
"""Names that tell a dead letter, as `dead-letters list` prints it and as it is in its topic."""


class BadInputError(ConfigError):
    """A line in the input of a command is not an event."""

    code = "bad_input"
    remedy = "Correct the line in the message."


class InputLines(Iterable[Given]):
    """
    The events of JSON lines, parsed while they are iterated; empty lines are skipped.

    Args:
        lines: of a file.
        name: of that file, for messages.

    Attributes:
        dead_letters: number of the events read so far that are dead letters.

    Raises:
        BadInputError: while iterated: a line is not a JSON object, or not an event.
    """

    def __init__(self, lines: Iterable[bytes], name: str = "events") -> None:
        self._lines = lines
        self._name = name
        self.dead_letters = 0

    def __iter__(self) -> Iterator[Given]:
        for number, line in enumerate(self._lines, start=1):
            if line.strip():
                yield self._given(line, number)

    def _given(self, line: bytes, number: int) -> Given:
        place = Place(self._name, number, 1)
        content = _object_of(line, place)
        if content.keys() >= _DEAD_LETTER:
            self.dead_letters += 1
            if content.get("pointer") is not None:
                text = f"this dead letter is incomplete; the complete one is at {content['pointer']}"
                hint = "run 'attr2hbase dead-letters list' where that file is"
                raise _bad([Problem(Kind.MISSING_FIELD, place, text, hint)])
            content = {name: content[name] for name in ("record", "blob", "unread") if name in content}
        if content and not any(key in Given.model_fields or closest(key, Given.model_fields) for key in content):
            hint = 'if each line is the body of an event, give the file with --lines; else write {"body": "text"}'
            text = "the object has no field of an event"
            raise _bad([Problem(Kind.MISSING_FIELD, place, text, hint)])
        if isinstance(blob := content.get("blob"), dict) and blob.keys() >= {"table", "id"} and "record" in content:
            # a dead letter, as `dead-letters show` prints it
            text = f'the value of the record is in the blob store of table "{blob["table"]}"'
            hint = (
                "print it with its value: 'attr2hbase dead-letters show POSITION --blob --output json | "
                "attr2hbase explain --events -'"
            )
            raise _bad([Problem(Kind.MISSING_FIELD, place, text, hint)])
        if "unread" in content and "record" in content:
            text = "this dead letter is the place of its records, and it has none of their bytes"
            hint = "'attr2hbase dead-letters replay' reads them again"
            raise _bad([Problem(Kind.MISSING_FIELD, place, text, hint)])
        try:
            return Given.model_validate(content)
        except ValidationError as error:
            raise _bad(problems_in_line(error, line.decode(), place, "the event", Given)) from error


def _object_of(line: bytes, place: Place) -> dict[str, Any]:
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        hint = "" if line.lstrip().startswith(b"{") else "give a raw log with --lines"
        location = Place(place.file, place.line, error.colno)
        raise _bad([Problem(Kind.SYNTAX, location, f"not JSON: {error.msg}", hint)]) from error
    if not isinstance(content, dict):
        hint = 'for example {"body": "text"}'
        raise _bad([Problem(Kind.WRONG_TYPE, place, "an event must be an object", hint)])
    return content


def _bad(problems: Sequence[Problem]) -> BadInputError:
    return BadInputError("; ".join(map(str, problems)), report=Report(tuple(problems)))


def given_of(number: int, content: Mapping[str, object]) -> Given:
    """
    Check an input that does not come from a file.

    Raises:
        BadInputError: it is not an event.
    """
    try:
        return Given.model_validate(dict(content))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInputError(f"input {number}: {place + ': ' if place else ''}{first['msg']}") from error


def record_of(number: int, given: GivenRecord) -> Record:
    """The record of an input."""
    headers = []
    for name, value in given.headers:
        content = None if value is None else from_notation(value)
        headers.append((name_from_bytes(from_notation(name)), content))
    return Record(
        topic=given.topic,
        partition=given.partition,
        offset=number if given.offset is None else given.offset,
        key=None if given.key is None else from_notation(given.key),
        value=None if given.value is None else from_notation(given.value),
        timestamp_ms=given.timestamp_ms,
        headers=tuple(headers),
    )


def given_of_record(record: Record) -> Given:
    """The input that `record_of` turns into this record."""
    return Given.model_validate(given_record(record))


def event_of(number: int, given: Given, event_class: type[Event]) -> Event:
    """The event of an input without a record."""
    offset = number if given.offset is None else given.offset
    formula = nanos_of(given.timestamp_ms, given.partition, offset)
    return event_class(
        body=from_notation(given.body),
        attributes={_name(name): from_notation(value) for name, value in given.attributes.items()},
        timestamp_ms=given.timestamp_ms,
        nanos=formula if given.nanos is None else given.nanos,
        host=given.host,
        priority=Priority(given.priority),
        key=from_notation(given.key),
        origin=Origin(given.topic, given.partition, offset),
    )


def _name(key: str) -> str:
    if key.startswith(_BYTES_KEY):
        try:
            return name_from_bytes(from_notation(orjson.loads(key)))
        except (orjson.JSONDecodeError, EventError):
            return key
    return key

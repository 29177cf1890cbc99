"""Emit an event for each part of a text."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Event, Example, FanOut, Settings, option
from ingest.api.event_errors import BadJsonError, TooDeepError
from ingest.api.notation import name_to_bytes
from ingest.decorating.choices import FailureAction
from ingest.decorating.errors import TooManyPartsError
from ingest.formats import byte_order_marks
from ingest.formats.byte_numbers import CR
from ingest.formats.json_text import not_utf8, refuse_constant

_OPENING, _CLOSING = '{["', '}]"'  # of values that need no white space beside them
_BLANKS = re.compile(r"[ \t\n\r]*")  # JSON's white space


class NoPartsError(DecorateError):
    """The text to explode has no parts, with on_empty: error."""

    code = "no_parts"
    remedy = "Choose another `on_empty`, or guard the decorator with `when`."


class Form(StrEnum):
    """The format of the text."""

    JSON = "json"
    VALUES = "values"
    LINES = "lines"
    SEPARATED = "separated"


class ExplodeSettings(Settings):
    """Options of the explode decorator."""

    other_names: ClassVar[None] = None

    form: Form = option(
        "The parts are the elements of a `json` array, JSON `values` one after another, `lines`, or pieces `separated` "
        "by `separator`.",
        default="json",
        strict=False,
    )
    separator: str | None = option(
        "Text between two parts; required with `form: separated`.", default=None, example=";", min_length=1
    )
    source: str | None = option("Attribute to read; the body if left out.", default=None, example="records")
    attribute: str | None = option(
        "Attribute that receives the part; when left out, the part replaces the body.",
        default=None,
        example="item",
    )
    number_attribute: str | None = option(
        "Attribute that receives the index of the part, from 0.", default=None, example="item_number"
    )
    skip_empty: bool = option("Skip empty lines, and empty parts between separators.", default=True)
    on_empty: FailureAction = option(
        "Text without parts: the event is dropped (`drop`), passes unchanged (`keep`), or fails (`error`).",
        default="drop",
        strict=False,
    )
    on_invalid: FailureAction = option(
        "Text that is not a JSON array, or not JSON values, or is nested too deep: the event fails (`error`), passes "
        "unchanged (`keep`), or is dropped (`drop`).",
        default="error",
        strict=False,
    )
    on_missing: FailureAction | None = option(
        "The attribute that is read is absent: the event fails (`error`), passes unchanged (`keep`), or is dropped "
        "(`drop`). Left out: the action of `on_invalid`.",
        default=None,
        strict=False,
    )
    max_events: int = option(
        "An event with more parts fails, because all of them are in memory at the same time.", default=10_000, ge=1
    )

    def sets(self) -> frozenset[str]:
        """The attributes that are named."""
        return frozenset(name for name in (self.attribute, self.number_attribute) if name)

    def sets_core(self) -> frozenset[str]:
        """The body, if `attribute` is not set."""
        return frozenset(["body"]) if self.attribute is None else frozenset()

    @model_validator(mode="after")
    def _separator_if_separated(self) -> Self:
        if (self.form is Form.SEPARATED) is (self.separator is None):
            raise PydanticCustomError("conflict", "`form: separated` and `separator` go together")
        return self


class Explode(FanOut[ExplodeSettings]):
    """
    Emit an event for each element of a JSON array, each of several JSON values, each line, or each part.

    The events differ in the part only. Each has its own origin, so `%{origin()}` and the decorator `uuid` distinguish
    them. An element or a value that is a string becomes its text, any other its JSON as written. Values may have white
    space between them, or none, as Amazon Data Firehose concatenates objects; for one object in each line, `lines` is
    faster. A byte order mark before JSON is ignored. A line ends with LF or CRLF. To put the parts into one event, use
    `split` or `csv`; for Flume's batches, use `unbatch`.

    Each event has a copy of all attributes, though not of their values. An event whose parts and attributes together
    would take more than 64 MiB of memory (or four times `max_event_bytes`) fails with `too_large`: set few attributes
    before, or remove those that are not needed with `select`.

    Source: own design.
    """

    kind = "explode"
    examples = (
        Example(
            "elements of an array",
            body='[{"id": 1, "cost": 2.50}, "x", null]',
            made=(('{"id": 1, "cost": 2.50}', {}), ("x", {}), ("null", {})),
        ),
        Example(
            "lines, numbered",
            settings="{form: lines, number_attribute: line}",
            body="first\r\n\nlast\n",
            made=(("first", {"line": "0"}), ("last", {"line": "1"})),
        ),
        Example(
            "an attribute, with the parts in another one",
            settings="{form: separated, separator: ';', source: tags, attribute: tag}",
            body="b",
            attributes={"tags": "x;y"},
            made=(("b", {"tags": "x;y", "tag": "x"}), ("b", {"tags": "x;y", "tag": "y"})),
        ),
        Example(
            "objects one after another",
            settings="{form: values}",
            body='{"id": 1}{"id": 2}\n{"id": 3}',
            made=(('{"id": 1}', {}), ('{"id": 2}', {}), ('{"id": 3}', {})),
        ),
        Example("an empty array", body="[]", dropped=True),
        Example("an empty array, with `on_empty: error`", settings="{on_empty: error}", body="[]", error="no_parts"),
        Example("not an array", body='{"a": [1]}', error="bad_json"),
        Example("not an array, with `on_invalid: keep`", settings="{on_invalid: keep}", body="text"),
        Example(
            "an absent attribute, with `on_missing: keep`",
            settings="{source: items, on_missing: keep}",
            body="an order without items",
        ),
        Example("more parts than `max_events`", settings="{max_events: 2}", body="[1, 2, 3]", error="too_many_parts"),
    )

    def __init__(self, settings: ExplodeSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._max_events = settings.max_events
        self._split = self._splitter()
        self._actions = dict.fromkeys(("bad_json", "too_deep"), settings.on_invalid)
        self._actions["no_attribute"] = settings.on_missing or settings.on_invalid

    def decorate(self, event: Event) -> Iterable[Event]:
        """Emit the events."""
        try:
            parts = self._split(event.text_of(self._source, "to take parts from"))
        except DecorateError as error:
            return [event] if self._actions.get(error.code, FailureAction.ERROR).keeps_or_raises(error) else []
        if len(parts) > self._max_events:
            raise _too_many(self._max_events)
        if not parts:
            no_parts = NoPartsError("the text has no parts")
            return [event] if self.settings.on_empty.keeps_or_raises(no_parts) else []
        return self._events_of(event, parts)

    def _events_of(self, event: Event, parts: Iterable[bytes]) -> Iterator[Event]:
        attribute, number_attribute = self.settings.attribute, self.settings.number_attribute
        for number, part in enumerate(parts):
            copy = event.copy()
            if attribute is None:
                copy.body = part
            else:
                copy.set(attribute, part)
            if number_attribute is not None:
                copy.set(number_attribute, b"%d" % number)
            yield copy

    def _splitter(self) -> Callable[[bytes], list[bytes]]:
        settings = self.settings
        if settings.form is Form.JSON:
            return self._elements
        if settings.form is Form.VALUES:
            return self._values
        separator = b"\n" if settings.separator is None else name_to_bytes(settings.separator)
        skips = settings.skip_empty
        if settings.form is Form.SEPARATED:
            return lambda text: [part for part in text.split(separator) if part or not skips]

        def lines(text: bytes) -> list[bytes]:
            found = text.split(separator)
            if not found[-1]:
                found.pop()  # nothing follows the last line end
            if CR in text:
                found = [line.removesuffix(b"\r") for line in found]
            return [line for line in found if line] if skips else found

        return lines

    def _elements(self, data: bytes) -> list[bytes]:
        """The elements of a JSON array. A number or object is cut out of the text, so it stays as it was written."""
        parts: list[bytes] = []
        try:
            text = data.removeprefix(byte_order_marks.UTF8).decode()
            at = _after_blanks(text, 0)
            if text[at : at + 1] != "[":
                raise _json_error("the text is not a JSON array")
            at = _after_blanks(text, at + 1)
            is_end = text[at : at + 1] == "]"
            while not is_end:
                element, end = _decoder.raw_decode(text, at)
                self._add(parts, element, text[at:end])
                at = _after_blanks(text, end)
                mark = text[at : at + 1]
                if mark not in {",", "]"}:
                    raise _json_error(f"expected a comma or a closing bracket at character {at}")
                is_end = mark == "]"
                if not is_end:
                    at = _after_blanks(text, at + 1)
        except ValueError as error:  # from the decoder, or not UTF-8
            raise _json_error(not_utf8(data) or f"the text is not a JSON array: {error}") from error
        except RecursionError as error:
            raise TooDeepError("nested too deep") from error
        if _after_blanks(text, at + 1) != len(text):
            raise _json_error(f"unexpected text after the array at character {at + 1}")
        return parts

    def _values(self, data: bytes) -> list[bytes]:
        """The JSON values of a text, cut out in the same way."""
        parts: list[bytes] = []
        try:
            text = data.removeprefix(byte_order_marks.UTF8).decode()
            at = _after_blanks(text, 0)
            while at < len(text):
                value, end = _decoder.raw_decode(text, at)
                self._add(parts, value, text[at:end])
                at = _after_blanks(text, end)
                if at == end < len(text) and text[end - 1] not in _CLOSING and text[end] not in _OPENING:
                    raise _json_error(f"expected white space at character {end}")
        except ValueError as error:  # from the decoder, or not UTF-8
            raise _json_error(not_utf8(data) or f"the text is not a sequence of JSON values: {error}") from error
        except RecursionError as error:
            raise TooDeepError("nested too deep") from error
        return parts

    def _add(self, parts: list[bytes], value: object, written: str) -> None:
        parts.append((value if isinstance(value, str) else written).encode())
        if len(parts) > self._max_events:
            raise _too_many(self._max_events)


def _ignored(_number: str) -> int:
    return 0  # only its position in the text is used


_decoder = json.JSONDecoder(parse_constant=refuse_constant, parse_float=_ignored, parse_int=_ignored)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _json_error(message: str) -> DecorateError:
    return BadJsonError(message)


def _too_many(limit: int) -> DecorateError:
    return TooManyPartsError(f"the text has more than {limit} parts", hint="raise max_events to allow it")

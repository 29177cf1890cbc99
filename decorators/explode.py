"""Make an event of each part of a text."""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import DecorateError, Event, Example, FanOut, Settings, option
from ingest.api.notation import name_to_bytes
from ingest.decorating.choices import FailureAction
from ingest.formats.json_text import refuse_constant

_BLANKS = re.compile(r"[ \t\n\r]*")  # of JSON


class Form(StrEnum):
    """The form of the text."""

    JSON = "json"
    LINES = "lines"
    SEPARATED = "separated"


class ExplodeSettings(Settings):
    """Options of the explode decorator."""

    other_names: ClassVar[None] = None

    form: Form = option(
        "The parts are elements of a `json` array, `lines`, or `separated` by `separator`.",
        default="json",
        strict=False,
    )
    separator: str | None = option(
        "Text between two parts; goes with `form: separated`.", default=None, example=";", min_length=1
    )
    source: str | None = option("Attribute that is read; the body when left out.", default=None, example="records")
    attribute: str | None = option(
        "Attribute that receives the part, and the body stays; without it the part is the new body.",
        default=None,
        example="item",
    )
    number_attribute: str | None = option(
        "Attribute that receives the number of the part, from 0.", default=None, example="item_number"
    )
    skip_empty: bool = option("Empty lines, and empty texts between separators, are skipped.", default=True)
    on_empty: FailureAction = option(
        "A text without parts: the event is dropped (`drop`), passes as it is (`keep`), or fails (`error`).",
        default="drop",
        strict=False,
    )
    on_invalid: FailureAction = option(
        "A text that is not a JSON array, or nested too deep: the event fails (`error`), passes as it is (`keep`), "
        "or is dropped (`drop`).",
        default="error",
        strict=False,
    )
    on_missing: FailureAction | None = option(
        "The attribute that is read is absent: the event fails (`error`), passes as it is (`keep`), or is dropped "
        "(`drop`). Left out: as `on_invalid` says.",
        default=None,
        strict=False,
    )
    max_events: int = option(
        "An event with more parts than this fails: each of them costs memory at the same time.", default=10_000, ge=1
    )

    def sets(self) -> frozenset[str]:
        """Those that are named."""
        return frozenset(name for name in (self.attribute, self.number_attribute) if name)

    def sets_core(self) -> frozenset[str]:
        """The body where no attribute is named."""
        return frozenset(["body"]) if self.attribute is None else frozenset()

    @model_validator(mode="after")
    def _separator_where_it_belongs(self) -> Self:
        if (self.form is Form.SEPARATED) is (self.separator is None):
            raise PydanticCustomError("conflict", "`form: separated` and `separator` go together")
        return self


class Explode(FanOut[ExplodeSettings]):
    """
    Make an event of each element of a JSON array, each line, or each part between separators.

    The events differ in the part alone; each has an origin of its own, so `%{origin()}` and the uuid decorator tell
    them apart. An element that is a string gives its text, any other one its JSON as it was written. A line ends at a
    line feed; a return before it belongs to the end. To keep pieces in one event take `split` or `csv`; Flume's own
    batches are for `unbatch`.

    Source: ours.
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
            "an attribute, into another one",
            settings="{form: separated, separator: ';', source: tags, attribute: tag}",
            body="b",
            attributes={"tags": "x;y"},
            made=(("b", {"tags": "x;y", "tag": "x"}), ("b", {"tags": "x;y", "tag": "y"})),
        ),
        Example("no elements", body="[]", dropped=True),
        Example("no elements, where there must be some", settings="{on_empty: error}", body="[]", error="no_parts"),
        Example("no array", body='{"a": [1]}', error="bad_json"),
        Example("no array, and it may pass", settings="{on_invalid: keep}", body="text"),
        Example(
            "an absent attribute may pass; broken JSON fails still",
            settings="{source: items, on_missing: keep}",
            body="an order without items",
        ),
        Example("more than may be", settings="{max_events: 2}", body="[1, 2, 3]", error="too_many_parts"),
    )

    def __init__(self, settings: ExplodeSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._most = settings.max_events
        self._split = self._splitter()
        self._fates = dict.fromkeys(("bad_json", "too_deep"), settings.on_invalid)
        self._fates["no_attribute"] = settings.on_missing or settings.on_invalid

    def decorate(self, event: Event) -> list[Event]:
        """Make the events."""
        try:
            parts = self._split(event.text_of(self._source, "to take parts from"))
        except DecorateError as error:
            return [event] if self._fates.get(error.code, FailureAction.ERROR).keeps_or_raises(error) else []
        if len(parts) > self._most:
            raise _too_many(self._most)
        if not parts:
            no_parts = DecorateError("the text has no parts", code="no_parts")
            return [event] if self.settings.on_empty.keeps_or_raises(no_parts) else []
        return [self._made(event, part, number) for number, part in enumerate(parts)]

    def _made(self, event: Event, part: bytes, number: int) -> Event:
        attribute = self.settings.attribute
        made = event.copy()
        if attribute is None:
            made.body = part
        else:
            made.set(attribute, part)
        if self.settings.number_attribute is not None:
            made.set(self.settings.number_attribute, b"%d" % number)
        return made

    def _splitter(self) -> Callable[[bytes], list[bytes]]:
        settings = self.settings
        if settings.form is Form.JSON:
            return self._elements
        separator = b"\n" if settings.separator is None else name_to_bytes(settings.separator)
        skips = settings.skip_empty
        if settings.form is Form.SEPARATED:
            return lambda text: [part for part in text.split(separator) if part or not skips]

        def lines(text: bytes) -> list[bytes]:
            found = text.split(separator)
            if not found[-1]:
                found.pop()  # what follows the last line end is no line
            if b"\r" in text:
                found = [line.removesuffix(b"\r") for line in found]
            return [line for line in found if line] if skips else found

        return lines

    def _elements(self, data: bytes) -> list[bytes]:
        """The elements of a JSON array; the text of each is cut out, so that numbers stay as they were written."""
        parts: list[bytes] = []
        try:
            text = data.decode()
            at = _after_blanks(text, 0)
            if text[at : at + 1] != "[":
                raise _no_array("the text is no JSON array")
            at = _after_blanks(text, at + 1)
            is_end = text[at : at + 1] == "]"
            while not is_end:
                element, end = _decoder.raw_decode(text, at)
                parts.append((element if isinstance(element, str) else text[at:end]).encode())
                if len(parts) > self._most:
                    raise _too_many(self._most)
                at = _after_blanks(text, end)
                mark = text[at : at + 1]
                if mark not in {",", "]"}:
                    raise _no_array(f"the array has neither a comma nor an end at character {at}")
                is_end = mark == "]"
                if not is_end:
                    at = _after_blanks(text, at + 1)
        except ValueError as error:  # of the decoder, and of UTF-8
            raise _no_array(f"the text is not a JSON array: {error}") from error
        except RecursionError as error:
            raise DecorateError("nested too deep", code="too_deep") from error
        if _after_blanks(text, at + 1) != len(text):
            raise _no_array(f"something follows the array at character {at + 1}")
        return parts


def _unread(_number: str) -> int:
    return 0  # its text is what counts


_decoder = json.JSONDecoder(parse_constant=refuse_constant, parse_float=_unread, parse_int=_unread)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return at if match is None else match.end()


def _no_array(why: str) -> DecorateError:
    return DecorateError(why, code="bad_json")


def _too_many(most: int) -> DecorateError:
    return DecorateError(
        f"the text has more than {most} parts", code="too_many_parts", hint="raise max_events to allow it"
    )

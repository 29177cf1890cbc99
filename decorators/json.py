"""Turn the members of a JSON object into attributes."""

import json
from enum import StrEnum
from typing import Any

import orjson

from ingest.api import DecorateError, Decorator, Event, Example, option
from ingest.nested import Flattening, NestedSettings, OnNull


class OnInvalid(StrEnum):
    """What a text that is no JSON object leads to."""

    ERROR = "error"
    UNSET = "unset"
    DROP = "drop"


class JsonSettings(NestedSettings):
    """Options of the json decorator."""

    on_null: OnNull = option(
        "A null sets nothing (`unset`), an `empty` value, or fails the event (`error`).", default="unset", strict=False
    )
    on_invalid: OnInvalid = option(
        "A text that is no JSON object: the event fails (`error`) or is dropped (`drop`), or nothing is set (`unset`).",
        default="error",
        strict=False,
    )


class Json(Decorator[JsonSettings]):
    """
    Set an attribute for each member of a JSON object; nested objects give dotted names.

    Text is UTF-8, true and false are written so, numbers keep the digits they were written with (but -0, which becomes
    0). Of a name that repeats the last one counts. Objects without members set nothing.

    Source: ours.
    """

    kind = "json"
    examples = (
        Example(
            "a column for each member",
            settings="{prefix: '2hb_app:'}",
            body='{"level": "warn", "took": 1.50, "user": {"id": 7, "admin": false}}',
            after={
                "2hb_app:level": "warn",
                "2hb_app:took": "1.50",
                "2hb_app:user.id": "7",
                "2hb_app:user.admin": "false",
            },
        ),
        Example("nulls set nothing", body='{"a": null, "b": ""}', after={"b": ""}),
        Example(
            "an attribute for each element",
            settings="{arrays: index}",
            body='{"tags": ["x", "y"]}',
            after={"tags.0": "x", "tags.1": "y"},
        ),
        Example("arrays are JSON text", body='{"tags": ["x", {"y": 1.0}]}', after={"tags": '["x",{"y":1.0}]'}),
        Example("no object", body="[1]", error="bad_json"),
    )

    def __init__(self, settings: JsonSettings) -> None:
        super().__init__(settings)
        self._source = settings.source
        self._flattening = Flattening(settings, _written, settings.on_null)

    @property
    def drop_reason(self) -> str:
        """Only what is no JSON object is dropped."""
        return "bad_json"

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        text = event.body if self._source is None else event.attributes.get(self._source)
        try:
            found = self._read(text)
        except DecorateError as error:
            if error.code != "bad_json" or self.settings.on_invalid is OnInvalid.ERROR:
                raise
            return self.settings.on_invalid is OnInvalid.UNSET
        event.update(found)
        return True

    def _read(self, text: bytes | None) -> dict[str, bytes]:
        if text is None:
            raise DecorateError(f'no attribute "{self._source}" to read', code="bad_json")
        try:
            content = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise DecorateError(f"not JSON: {error}", code="bad_json") from error
        if type(content) is not dict:
            raise DecorateError("not a JSON object", code="bad_json")
        try:
            return self._flattening.attributes(content)
        except _NumberWithManyWritingsError:
            return self._flattening.attributes(_with_numbers_as_written(text))


def _written(value: object) -> bytes:
    match value:
        case bool():
            return b"true" if value else b"false"
        case int():
            return b"%d" % value
        case list():
            return _text(value)
    raise _NumberWithManyWritingsError


class _NumberWithManyWritingsError(Exception):
    """A number that a float does not give back as it was written; never leaves this file."""


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


_slow_decoder = json.JSONDecoder(parse_float=_Number, parse_int=_Number)


def _with_numbers_as_written(text: bytes) -> dict[str, Any]:
    """The same content, read again by a slower decoder that keeps the writing of numbers."""
    try:
        content: dict[str, Any] = _slow_decoder.decode(text.decode())
    except RecursionError as error:
        raise DecorateError("nested too deep", code="too_deep") from error
    return content


def _text(array: list[object]) -> bytes:
    if _has_float(array):
        raise _NumberWithManyWritingsError
    try:
        return orjson.dumps(array, default=_as_written, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError as error:
        raise DecorateError(f"an array is nested too deep: {error}", code="too_deep") from error


def _as_written(number: object) -> object:
    return orjson.Fragment(str(number))


def _has_float(value: object) -> bool:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, float):
            return True
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
    return False

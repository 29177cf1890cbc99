"""Invert a time, so that row keys that end with it sort the newest first."""

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Decorator, Event, EventError, Example, option
from ingest.decorating.choices import OnInvalid
from ingest.decorating.edits import EditSettings, edit_attributes
from ingest.expressions.dates import read_time
from ingest.expressions.numbers import inverted, inverted_text, long_bytes


class Encoding(StrEnum):
    """The encoding of the inverted time."""

    TEXT = "text"
    INT64 = "int64"


class InvertTimeSettings(EditSettings):
    """Options of the invert_time decorator."""

    without_source: ClassVar[str] = "timestamp"

    source: str | None = option(
        "Attribute with milliseconds since 1970; the event's time when left out.", default=None, example="seen"
    )
    attribute: str | None = option(
        "Attribute that receives the result; when left out, the value of `source` is replaced.",
        default=None,
        example="newest",
    )
    encoding: Encoding = option("`text` of 19 digits, or 8 bytes, big-endian (`int64`).", default="text", strict=False)
    on_invalid: OnInvalid = option(
        "A value that is not a number, is before 1970, or has more than 64 bits: the event fails (`error`) or the "
        "value stays unchanged (`keep`). For the event's time, `keep` sets nothing.",
        default="error",
        strict=False,
    )

    @model_validator(mode="after")
    def _has_target(self) -> Self:
        if self.targets() is None and self.attribute is None:
            raise PydanticCustomError("missing", "invert_time needs `attribute`, `source` or `attributes`")
        return self


class InvertTime(Decorator[InvertTimeSettings]):
    """
    Subtract a time from the largest 64-bit number, as in `Long.MAX_VALUE - timestamp`, so that later times sort first.

    Both encodings sort as bytes; to invert again gives the original time. For a part of a row key, use the encoding
    `inverted` of `row_key`; for coarser times, `truncate_time`.

    Source: own design, after the reversed timestamps of HBase's reference guide; in a template, the function
    `inverted_time` does the same.
    """

    kind = "invert_time"
    examples = (
        Example(
            "the event's time, for a row key",
            settings="{attribute: newest}",
            timestamp_ms=1309275728123,
            after={"newest": "9223370727579047684"},
        ),
        Example(
            "8 bytes, of an attribute",
            settings="{source: seen, attribute: newest, encoding: int64}",
            attributes={"seen": "9223372036854775807"},
            after={"newest": "\0" * 8},
        ),
        Example(
            "several attributes in place",
            settings="{attributes: [seen, sent]}",
            attributes={"seen": "7", "sent": "0"},
            after={"seen": "9223372036854775800", "sent": "9223372036854775807"},
        ),
        Example("before 1970", settings="{attribute: newest}", timestamp_ms=-1, error="negative_number"),
        Example("more than 64 bits", settings="{source: seen}", attributes={"seen": "1e19"}, error="number_too_large"),
        Example("not a time", settings="{source: seen}", attributes={"seen": "today"}, error="bad_time"),
        Example("an absent attribute", settings="{source: seen, on_missing: error}", error="no_attribute"),
    )

    def __init__(self, settings: InvertTimeSettings) -> None:
        super().__init__(settings)
        self._write = inverted_text if settings.encoding is Encoding.TEXT else _inverted_bytes
        self._keeps = settings.on_invalid is OnInvalid.KEEP
        targets = settings.targets()
        self._edit = None if targets is None else edit_attributes(targets, self._inverted, settings.on_missing)

    def decorate(self, event: Event) -> bool:
        """Set the attributes."""
        if self._edit is not None:
            self._edit(event)
            return True
        try:
            value = self._write(event.timestamp_ms)
        except EventError:
            if self._keeps:
                return True
            raise
        event.set(self.settings.attribute or "", value)
        return True

    def _inverted(self, text: bytes) -> bytes:
        try:
            return self._write(read_time(text))
        except EventError:
            if self._keeps:
                return text
            raise


def _inverted_bytes(time_ms: int) -> bytes:
    return long_bytes(inverted(time_ms))

"""Counts of values."""

from collections.abc import Sequence
from enum import StrEnum

from ingest.api import Model, Processor, ProcessorExample, option
from sinks.updates.numbers import CELL_TYPES, NUMBER_FORMS, NumberType


class CountType(StrEnum):
    """The form of a count."""

    DECIMAL = "decimal"
    INT64 = "int64"


class CountSettings(Model):
    """Options of the count processor."""

    type: CountType = option(
        "Form of the stored count: `decimal` (text) or `int64` (8 bytes, as HBase's counters).",
        default="decimal",
        strict=False,
        example="int64",
    )


class Count(Processor[CountSettings]):
    """
    Count values, whatever they are; empty ones count as well.

    Source: own design.
    """

    kind = "count"
    merges_all = True
    merge_examples = (
        ProcessorExample("requests of a user", values=("/a", "", b"\xff", "/a"), merged="4"),
        ProcessorExample(
            "a counter as HBase's increment stores it",
            values=("/a", "/b"),
            merged=b"\0\0\0\0\0\0\0\2",
            settings="{type: int64}",
        ),
    )

    def __init__(self, settings: CountSettings) -> None:
        super().__init__(settings)
        self._form = NUMBER_FORMS[NumberType(settings.type)]
        self._one = self._form.write(1)

    @classmethod
    def value_type(cls, settings: CountSettings) -> str:
        """The option `type`."""
        return CELL_TYPES[NumberType(settings.type)]

    def update(self, value: bytes) -> bytes:  # noqa: ARG002 - every value counts
        """One."""
        return self._one

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The sum of the counts."""
        return self._form.merge(updates, self._form.total)

"""The newest values, up to a number."""

from collections.abc import Sequence
from itertools import chain

import orjson

from ingest.api import DecodeError, Model, NotMergeableError, Processor, ProcessorExample, option
from ingest.api.notation import from_notation, shown_start, to_notation
from ingest.formats.cell_types import CellType


class LastNSettings(Model):
    """Options of the last_n processor."""

    n: int = option("Number of values that are kept.", example=5, ge=1, le=10_000)


class LastN(Processor[LastNSettings]):
    """
    Keep the newest values, newest first, as a JSON array: `["404", "200"]`.

    A value that is text in UTF-8 is a string. Any other value is an object with its bytes in base64:
    `{"b64": "/w=="}`.

    Source: StockSaleUpdateProcessor of HBaseHUT's tests, with a form of its own.
    """

    kind = "last_n"
    merges_all = True
    merge_examples = (
        ProcessorExample(
            "the last three statuses of a host",
            values=("200", "200", "404", "500"),
            merged='["500","404","200"]',
            settings="{n: 3}",
        ),
        ProcessorExample(
            "any text and any bytes",
            values=('say "hi"', b"\xff", ""),
            merged='["",{"b64":"/w=="},"say \\"hi\\""]',
            settings="{n: 10}",
        ),
    )

    @classmethod
    def value_type(cls, settings: LastNSettings) -> str:  # noqa: ARG003 - the same for all
        """JSON."""
        return CellType.JSON

    def update(self, value: bytes) -> bytes:
        """An array with the value."""
        return orjson.dumps([to_notation(value)])

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The newest values of all arrays."""
        values = chain.from_iterable(map(_values, reversed(updates)))
        return orjson.dumps(list(values)[: self.settings.n])


def _values(update: bytes) -> list[object]:
    try:
        values = orjson.loads(update)
        if not isinstance(values, list):
            raise NotMergeableError(f"{shown_start(update)} is not a JSON array")
        for value in values:
            if type(value) is not str:
                from_notation(value)
    except (orjson.JSONDecodeError, DecodeError) as error:
        raise NotMergeableError(f"{shown_start(update)} is not an array of last_n: {error}") from error
    return values

"""Sums of numbers."""

from collections.abc import Sequence

from ingest.api import ProcessorExample
from sinks.updates.numbers import NumberProcessor


class Sum(NumberProcessor):
    """
    Add numbers.

    A sum beyond the range of its type is not stored: the updates stay as they are, and reads report the column. Sums of
    `float64` are rounded, and the last digits may depend on which update rows were compacted; those of `decimal` are
    exact and have the digits after the point of the most precise number.

    Source: HBaseHUT's SumColumnsUp; `decimal` and `float64` are own additions.
    """

    kind = "sum"
    merge_examples = (
        ProcessorExample("hits of a page", values=("1", "1", "3"), merged="5"),
        ProcessorExample("amounts", values=("10", "-2.50", "0.25"), merged="7.75"),
        ProcessorExample(
            "a counter as HBase's increment stores it",
            values=(b"\0\0\0\0\0\0\0\2", b"\0\0\0\0\0\0\0\3"),
            merged=b"\0\0\0\0\0\0\0\5",
            settings="{type: int64}",
        ),
        ProcessorExample(
            "a measurement as a binary number",
            values=(b"?\xf8\0\0\0\0\0\0", b"@\4\0\0\0\0\0\0"),
            merged=b"@\x10\0\0\0\0\0\0",
            settings="{type: float64}",
        ),
        ProcessorExample("text is refused", values=("1", "2"), merged="3", refused=("", "many", "nan")),
        ProcessorExample(
            "text is refused as a binary number",
            values=(b"\0\0\0\0\0\0\0\1",),
            merged=b"\0\0\0\0\0\0\0\1",
            settings="{type: int64}",
            refused=("1",),
        ),
    )

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The sum."""
        return self._form.merge(updates, self._form.total)

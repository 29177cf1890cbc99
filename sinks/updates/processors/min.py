"""Smallest numbers."""

from collections.abc import Sequence

from ingest.api import ProcessorExample
from sinks.updates.numbers import NumberProcessor


class Min(NumberProcessor):
    """
    Keep the smallest number; of equal ones, such as `1` and `1.0`, the oldest.

    Source: own design.
    """

    kind = "min"
    merges_all = True
    merge_examples = (
        ProcessorExample("numbers are compared, not texts", values=("9", "12", "-3.5"), merged="-3.5"),
        ProcessorExample(
            "whole numbers in binary form",
            values=(b"\0\0\0\0\0\0\0\2", b"\xff\xff\xff\xff\xff\xff\xff\xff"),
            merged=b"\xff\xff\xff\xff\xff\xff\xff\xff",
            settings="{type: int64}",
        ),
        ProcessorExample(
            "measurements as binary numbers",
            values=(b"?\xf8\0\0\0\0\0\0", b"\xc0\x04\0\0\0\0\0\0"),
            merged=b"\xc0\x04\0\0\0\0\0\0",
            settings="{type: float64}",
        ),
        ProcessorExample("text is refused", values=("1", "2"), merged="1", refused=("", "many", "nan")),
    )

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """The smallest number."""
        return self._form.merge(updates, min)

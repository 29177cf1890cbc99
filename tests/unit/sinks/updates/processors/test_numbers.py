"""Edge cases of the processors of numbers."""

import pytest

from sinks.updates.processors.count import Count
from sinks.updates.processors.max import Max
from sinks.updates.processors.min import Min
from sinks.updates.processors.sum import Sum


@pytest.mark.parametrize(
    ("kind", "values", "merged"),
    [
        (Sum, (b"1.50", b"1.5"), b"3.00"),
        (Sum, (b"0.1", b"-0.1"), b"0.0"),
        (Sum, (b"1e-30", b"1e30"), b"1000000000000000000000000000000.000000000000000000000000000001"),
        (Min, (b"1.0", b"1"), b"1.0"),
        (Max, (b"1", b"1.0"), b"1"),
        (Max, (b"-1", b"-2"), b"-1"),
        (Min, (b"-0", b"0.0"), b"0"),
        (Count, (b"", b"", b"7"), b"3"),
    ],
)
def test_decimal_numbers(kind, values: tuple[bytes, ...], merged: bytes) -> None:
    processor = kind(kind.settings_class()())
    assert processor.merge([processor.update(value) for value in values]) == merged


def test_a_count_has_no_fractions() -> None:
    with pytest.raises(ValueError, match="float64"):
        Count.settings_class()(type="float64")

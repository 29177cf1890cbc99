"""The forms of numbers in updates."""

import math
import struct
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import MappingError, NotMergeableError
from sinks.updates.numbers import NUMBER_FORMS, NumberType

DECIMAL, INT64, FLOAT64 = (NUMBER_FORMS[each] for each in NumberType)
SMALLEST, LARGEST = b"\x80" + bytes(7), b"\x7f" + b"\xff" * 7


@pytest.mark.parametrize(
    ("value", "update"),
    [
        (b"12", b"12"),
        (b"-3.5", b"-3.5"),
        (b"+1.50", b"1.50"),
        (b"007", b"7"),
        (b".5", b"0.5"),
        (b"-0", b"0"),
        (b"-0.00", b"0.00"),
        (b"1e3", b"1000"),
        (b"12E-3", b"0.012"),
        (b"9" * 400, b"9" * 400),
    ],
)
def test_decimal_text(value: bytes, update: bytes) -> None:
    assert DECIMAL.update(value) == update
    assert DECIMAL.update(update) == update


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" 1",
        b"1\n",
        b"1,5",
        b"1.",
        b".",
        b"0x1f",
        b"nan",
        b"NaN",
        b"inf",
        b"1_0",
        b"1e100",
        "٣".encode(),
        b"9" * 401,
    ],
)
def test_other_text_is_no_decimal_number(value: bytes) -> None:
    with pytest.raises(MappingError) as refused:
        DECIMAL.update(value)
    assert refused.value.code == "not_a_number"


@pytest.mark.parametrize("value", [b"", b"1", bytes(7), bytes(9)])
@pytest.mark.parametrize("form", [INT64, FLOAT64], ids=["int64", "float64"])
def test_binary_numbers_have_eight_bytes(form, value: bytes) -> None:
    with pytest.raises(MappingError, match="not 8"):
        form.update(value)
    with pytest.raises(NotMergeableError, match="not 8"):
        form.merge([bytes(8), value], form.total)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf], ids=str)
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(MappingError, match="not a number"):
        FLOAT64.update(struct.pack(">d", number))


@pytest.mark.parametrize(("updates"), [[LARGEST, b"\0" * 7 + b"\1"], [SMALLEST, b"\xff" * 8]], ids=["above", "below"])
def test_a_sum_beyond_64_bits_is_refused(updates: list[bytes]) -> None:
    with pytest.raises(NotMergeableError, match="int64"):
        INT64.merge(updates, INT64.total)
    assert INT64.merge([LARGEST, SMALLEST], INT64.total) == b"\xff" * 8


def test_a_sum_beyond_float64_is_refused() -> None:
    large = struct.pack(">d", 1.7e308)
    with pytest.raises(NotMergeableError, match="too large for float64"):
        FLOAT64.merge([large, large], FLOAT64.total)
    negative = struct.pack(">d", -1.7e308)
    assert FLOAT64.merge([large, large, negative, negative], FLOAT64.total) == bytes(8)
    assert FLOAT64.merge([large, large, negative], FLOAT64.total) == large


def test_a_decimal_sum_with_too_many_digits_is_refused() -> None:
    with pytest.raises(NotMergeableError, match="has 401 characters; at most 400"):
        DECIMAL.merge([b"9" * 400, b"1"], DECIMAL.total)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=2, max_size=20))
def test_decimal_sums_are_exact(numbers: list[Decimal]) -> None:
    with localcontext(prec=100):
        expected = sum(numbers)
    assert Decimal(DECIMAL.merge([f"{number:f}".encode() for number in numbers], DECIMAL.total).decode()) == expected


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50), st.integers(1, 49))
def test_float_sums_agree_within_1e_9(numbers: list[float], cut: int) -> None:
    """Compared with the sum of the absolute values, since numbers may cancel each other out."""
    updates = [struct.pack(">d", number) for number in numbers]
    parts = [FLOAT64.merge(part, FLOAT64.total) for part in (updates[:cut], updates[cut:]) if part]
    (found,) = struct.unpack(">d", FLOAT64.merge(parts, FLOAT64.total))
    assert abs(found - math.fsum(numbers)) <= 1e-9 * math.fsum(map(abs, numbers))

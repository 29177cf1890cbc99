"""Exact numbers are parsed from text and written without an exponent."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ExpressionError
from ingest.expressions import Number, read_number, write_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"7", 7),
        (b"007", 7),
        (b"-7", -7),
        (b"+7", 7),
        (b"0.50", Decimal("0.50")),
        (b"1e3", Decimal(1000)),
        (b"", None),
        (b".5", None),
        (b"5.", None),
        (b" 5", None),
        (b"5\n", None),
        (b"1_000", None),
        (b"0x10", None),
        (b"nan", None),
        (b"\xd9\xa3", None),
        (b"1e999", None),
        (b"9" * 101, None),
    ],
)
def test_text_is_parsed_as_a_number(text: bytes, expected: Number | None) -> None:
    assert read_number(text) == expected


@given(st.integers(min_value=-(10**90), max_value=10**90))
def test_whole_number_is_read_back_unchanged(number: int) -> None:
    assert read_number(write_number(number)) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_decimal_is_read_back_unchanged(number: Decimal) -> None:
    assert read_number(write_number(number)) == number


def test_exponent_is_expanded() -> None:
    assert write_number(Decimal("1E+3")) == b"1000"


def test_too_large_number_fails_the_event() -> None:
    with pytest.raises(ExpressionError) as raised:
        write_number(10**5000)
    assert raised.value.code == "number_too_large"

"""Numbers in binary form, by their values."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import DecorateError
from ingest.formats.number_types import Numbers, json_writer, number_or_text, number_writer

NUMBER = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


def int64(number):
    return struct.pack(">q", number)


def float64(number):
    return struct.pack(">d", number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("-7", -7),
        ("-0", 0),
        ("999999999999999999", 999999999999999999),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_integer_becomes_int64(text, number):
    assert number_or_text(text.encode()) == int64(number)


@pytest.mark.parametrize("text", ["0.5", "-0.0", "1.0", "1e3", "1E+3", "2.5e-10", "1e-400", "9223372036854775808.0"])
def test_fraction_or_exponent_becomes_float64(text):
    assert number_or_text(text.encode()) == float64(float(text))


@pytest.mark.parametrize(
    "text",
    [
        "", " 7", "7 ", "7\n", "+7", "007", "00", "-07", "01.5", ".5", "5.", "1e", "1e+", "--1", "-", "0x1f", "1_0",
        "1,5", "nan", "NaN", "inf", "-Infinity", "true", "n/a", "1e400", "-1e999", "\u0667", "9223372036854775808",
        "-9223372036854775809", "18446744073709551616", "1" * 30, "1" * 2_000, "0." + "1" * 2_000,
    ],
)  # fmt: skip
def test_other_text_is_unchanged(text):
    assert number_or_text(text.encode()) == text.encode()


@given(st.binary() | st.from_regex(rb"[-+0-9.eE]{0,25}", fullmatch=True))
def test_any_bytes_become_a_number_or_stay(value):
    found = number_or_text(value)
    try:
        number = json.loads(value)
    except ValueError:
        assert found == value
        return
    if found != value:
        assert found == (int64(number) if isinstance(number, int) else float64(number))


@given(NUMBER)
def test_number_has_the_type_of_its_notation(number):
    is_too_large = isinstance(number, int) and not -(2**63) <= number < 2**63
    text = json.dumps(number).encode()
    expected = text if is_too_large else int64(number) if isinstance(number, int) else float64(number)
    assert number_or_text(text) == expected


@pytest.mark.parametrize(
    ("numbers", "value", "expected"),
    [
        ("auto", 7, int64(7)),
        ("auto", -(2**63), int64(-(2**63))),
        ("auto", 0.5, float64(0.5)),
        ("auto", 1e300, float64(1e300)),
        ("float64", 7, float64(7.0)),
        ("float64", 2**53, float64(2.0**53)),
        ("float64", 10**22, float64(1e22)),
        ("float64", 0.5, float64(0.5)),
        ("auto", True, b"other"),
        ("float64", [1], b"other"),
        ("text", 7, b"other"),
    ],
)
def test_value_of_a_schema(numbers, value, expected):
    assert number_writer(Numbers(numbers), lambda _: b"other")(value) == expected


@pytest.mark.parametrize(
    ("numbers", "value", "limit"),
    [
        ("auto", 2**63, "64 bits"),
        ("auto", -(2**63) - 1, "64 bits"),
        ("float64", 2**53 + 1, "a float64 without rounding"),
        ("float64", -(10**400), "a float64 without rounding"),
    ],
)
def test_integer_that_does_not_fit_is_an_error(numbers, value, limit):
    for writer in (number_writer, lambda numbers, _: json_writer(numbers)):
        with pytest.raises(DecorateError) as caught:
            writer(Numbers(numbers), repr)(value)
        assert (caught.value.code, caught.value.hint) == ("number_too_large", "set `numbers: text`")
        assert caught.value.message.endswith(f"does not fit into {limit}")

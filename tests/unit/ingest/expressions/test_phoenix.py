"""Text as Phoenix's types; the expected bytes are those of Phoenix 5.2.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ExpressionError
from ingest.expressions.phoenix import READ, WRITE
from ingest.formats.phoenix import CODECS, PhoenixType


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("tinyint", "-128", "00"),
        ("tinyint", "7", "87"),
        ("smallint", "-2", "7ffe"),
        ("smallint", "32767", "ffff"),
        ("integer", "-2147483648", "00000000"),
        ("integer", "100", "80000064"),
        ("bigint", "-2", "7ffffffffffffffe"),
        ("bigint", "100", "8000000000000064"),
        ("bigint", "9223372036854775807", "ffffffffffffffff"),
        ("float", "2.5", "c0200001"),
        ("float", "-0.1", "42333333"),
        ("float", "0", "80000001"),
        ("float", "-0", "80000000"),
        ("double", "2.5", "c004000000000001"),
        ("double", "-2.5", "3ffc000000000000"),
        ("double", "0", "8000000000000001"),
        ("double", "-0", "8000000000000000"),
        ("double", "1.7976931348623157e308", "fff0000000000000"),
        ("decimal", "0", "80"),
        ("decimal", "7", "c108"),
        ("decimal", "-7", "3e5e66"),
        ("decimal", "10", "c10b"),
        ("decimal", "123.45", "c202182e"),
        ("decimal", "-123.45", "3d644e3866"),
        ("decimal", "0.001", "bf0b"),
        ("decimal", "-1e50", "256466"),
        ("decimal", "12345678901234567890123456789012345678", "d30d23394f5b0d23394f5b0d23394f5b0d23394f"),
        ("decimal", "-1234567890123456789012345678901234567.8", "2c644e38220c644e38220c644e38220c644e382215"),
        ("boolean", "true", "01"),
        ("boolean", "false", "00"),
        ("date", "1309275728123", "80000130d6ea28fb"),
        ("date", "-1", "7fffffffffffffff"),
        ("time", "0", "8000000000000000"),
        ("timestamp", "1309275728123.456789", "80000130d6ea28fb0006f855"),
        ("timestamp", "-0.000001", "7fffffffffffffff000f423f"),
        ("unsigned_tinyint", "127", "7f"),
        ("unsigned_smallint", "258", "0102"),
        ("unsigned_int", "2147483647", "7fffffff"),
        ("unsigned_long", "100", "0000000000000064"),
        ("unsigned_float", "2.5", "40200000"),
        ("unsigned_double", "2.5", "4004000000000000"),
        ("unsigned_date", "1309275728123", "00000130d6ea28fb"),
        ("unsigned_time", "1", "0000000000000001"),
        ("unsigned_timestamp", "1.5", "00000000000000010007a120"),
    ],
)
def test_text_is_encoded_as_phoenix_does(kind, text, expected):
    value = WRITE[PhoenixType(kind)](text.encode())
    assert value.hex() == expected
    assert WRITE[PhoenixType(kind)](READ[PhoenixType(kind)](value)) == value


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("bigint", b"1e3", b"1000"),
        ("double", b"100", b"100.0"),
        ("float", b"0.1", b"0.1"),
        ("decimal", b"1.50", b"1.5"),
        ("decimal", b"-12e3", b"-12000"),
        ("decimal", b"0.00", b"0"),
        ("boolean", b"Yes", b"true"),
        ("boolean", b"0", b"false"),
        ("timestamp", b"-1.5", b"-1.5"),
        ("timestamp", b"1309275728123", b"1309275728123"),
    ],
)
def test_bytes_are_read_as_text(kind, text, shown):
    assert READ[PhoenixType(kind)](WRITE[PhoenixType(kind)](text)) == shown


@given(st.decimals(-(10**15), 10**15, places=6))
def test_numbers_of_a_decimal_and_a_timestamp_are_read_back(number):
    for kind in (PhoenixType.DECIMAL, PhoenixType.TIMESTAMP):
        value = WRITE[kind](str(number).encode())
        assert number == type(number)(READ[kind](value).decode())


@pytest.mark.parametrize(
    ("kind", "text", "code", "message"),
    [
        ("bigint", "", "not_a_number", "is not a whole number"),
        ("bigint", "1.5", "not_a_number", "is not a whole number"),
        ("tinyint", "128", "number_too_large", '"128" does not fit into Phoenix\'s TINYINT'),
        ("unsigned_long", "-1", "number_too_large", '"-1" does not fit into Phoenix\'s UNSIGNED_LONG'),
        ("float", "16777217", "number_too_large", "FLOAT without rounding"),
        ("double", "1e999", "number_too_large", "does not fit into Phoenix's DOUBLE"),
        ("double", "nan", "not_a_number", "is not a number"),
        ("unsigned_double", "-0.5", "number_too_large", "UNSIGNED_DOUBLE"),
        ("decimal", "x", "not_a_number", "is not a number"),
        ("decimal", "1." + "1" * 38, "number_too_large", "which has at most 38 digits"),
        ("boolean", "maybe", "not_a_bool", "neither true nor false"),
        ("date", "2024-05-01", "not_a_number", "is not a whole number"),
        ("timestamp", "2024-05-01", "not_a_number", "is not a number"),
        ("timestamp", "1.0000001", "number_too_large", "milliseconds with at most 6 decimals"),
        ("timestamp", "9223372036854775808", "number_too_large", "Phoenix's TIMESTAMP"),
    ],
)
def test_a_value_that_the_type_does_not_have_is_refused(kind, text, code, message):
    with pytest.raises(ExpressionError, match=message) as caught:
        WRITE[PhoenixType(kind)](text.encode())
    assert caught.value.code == code


@pytest.mark.parametrize("kind", CODECS)
def test_bytes_of_another_type_are_refused(kind):
    with pytest.raises(ExpressionError) as caught:
        READ[kind](b"\x81\x82\x83")
    assert caught.value.code == "bad_encoding"

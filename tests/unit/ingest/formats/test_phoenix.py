"""Phoenix's types: bytes that sort as the values do."""

import math
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.formats.phoenix import CODECS, PhoenixType, binary, char, flipped, salt_byte

SIZES = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "date": 64, "time": 64}
UNSIGNED_SIZES = {
    "unsigned_tinyint": 8, "unsigned_smallint": 16, "unsigned_int": 32, "unsigned_long": 64, "unsigned_date": 64,
    "unsigned_time": 64,
}  # fmt: skip
END_NANOS = 10**6 * 2**63


def integers(low, end):
    """Also those close to one another and to the ends."""
    return st.integers(low, end - 1) | st.integers(max(low, -300), min(end - 1, 300)) | st.sampled_from((low, end - 1))


DECIMALS = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**28) + 1, 10**28 - 1) | st.integers(-1000, 1000),
    st.integers(-90, 90) | st.integers(-3, 3),
)
VALUES = {
    **{name: integers(-(2 ** (bits - 1)), 2 ** (bits - 1)) for name, bits in SIZES.items()},
    **{name: integers(0, 2 ** (bits - 1)) for name, bits in UNSIGNED_SIZES.items()},
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "unsigned_float": st.floats(0, width=32, allow_infinity=False),
    "unsigned_double": st.floats(0, allow_infinity=False),
    "decimal": DECIMALS,
    "boolean": st.booleans(),
    "timestamp": integers(-END_NANOS, END_NANOS),
    "unsigned_timestamp": integers(0, END_NANOS),
}


def encode(kind, value):
    return CODECS[PhoenixType(kind)].encode(value)


def decode(kind, value):
    return CODECS[PhoenixType(kind)].decode(value)


def test_every_type_has_a_codec_and_is_tested():
    texts = {PhoenixType.CHAR, PhoenixType.VARCHAR, PhoenixType.BINARY, PhoenixType.VARBINARY}
    assert set(CODECS) == set(PhoenixType) - texts == set(VALUES)


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_bytes_sort_as_the_values_and_are_read_back(kind, data):
    one, other = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    bytes_of_one, bytes_of_other = encode(kind, one), encode(kind, other)
    assert decode(kind, bytes_of_one) == one
    if one != other:
        assert (bytes_of_one < bytes_of_other) == (one < other)
        # a separator follows bytes of variable length: 00 after ascending ones, ff after descending ones
        assert (bytes_of_one + b"\0" < bytes_of_other + b"\0") == (one < other)
        assert (flipped(bytes_of_one) + b"\xff" > flipped(bytes_of_other) + b"\xff") == (one < other)
    elif one != 0 or math.copysign(1, one) == math.copysign(1, other):
        assert bytes_of_one == bytes_of_other
    assert flipped(flipped(bytes_of_one)) == bytes_of_one


@given(DECIMALS)
def test_a_decimal_has_no_byte_that_separates_columns(number):
    assert b"\0" not in encode("decimal", number)


@pytest.mark.parametrize("kind", VALUES)
@given(value=st.binary(max_size=24))
def test_bytes_are_read_as_a_value_or_refused(kind, value):
    with suppress(ValueError):
        number = decode(kind, value)
        assert decode(kind, encode(kind, number)) == number


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("tinyint", 128, "128 is not TINYINT, which has -128 to 127"),
        ("bigint", -(2**63) - 1, "is not BIGINT"),
        ("unsigned_long", -1, "-1 is not UNSIGNED_LONG, which has 0 to 9223372036854775807"),
        ("unsigned_long", 2**63, "is not UNSIGNED_LONG"),
        ("float", 1e39, "cannot be written as float32"),
        ("double", math.inf, "it is not finite"),
        ("unsigned_double", -0.5, "-0.5 is negative, which UNSIGNED_DOUBLE is not"),
        ("decimal", Decimal("NaN"), "NaN is not DECIMAL: it is not finite"),
        ("decimal", Decimal("1." + "1" * 38), "has 39 digits, and DECIMAL 38"),
        ("decimal", Decimal("1e124"), "1E\\+124'\\) is not DECIMAL, which has numbers from 1e-126 to below 1e124"),
        ("decimal", Decimal("-9e-127"), "is not DECIMAL, which has numbers from"),
        ("timestamp", END_NANOS, "is not DATE"),
    ],
)
def test_a_value_that_the_type_does_not_have(kind, value, reason):
    with pytest.raises(ValueError, match=reason):
        encode(kind, value)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("bigint", "00", "has 1 bytes, not 8, so it is not BIGINT"),
        ("double", "00", "has 1 bytes, not 8, so it is not DOUBLE"),
        ("timestamp", "00", "has 1 bytes, not 12, so it is not TIMESTAMP"),
        ("timestamp", "8000000000000000000f4240", "it has 1000000 nanoseconds after a millisecond"),
        ("unsigned_tinyint", "ff", "is negative, which UNSIGNED_TINYINT is not"),
        ("unsigned_double", "bff0000000000000", "is negative, which UNSIGNED_DOUBLE is not"),
        ("boolean", "", "has 0 bytes, not 1, so it is not BOOLEAN"),
        ("decimal", "", "is not DECIMAL"),
        ("decimal", "c1", "is not DECIMAL"),
        ("decimal", "c1ff", "is not DECIMAL"),
        ("decimal", "c10201", "is not DECIMAL"),
        ("decimal", "3e5966ff", "is not DECIMAL"),
    ],
)
def test_bytes_that_are_not_of_the_type(kind, value, reason):
    with pytest.raises(ValueError, match=reason):
        decode(kind, bytes.fromhex(value))


def test_text_and_bytes_of_fixed_width():
    assert char(b"ab", 4) == b"ab  "
    assert binary(b"\1\2", 4) == b"\1\2\0\0"
    for wrong, reason in (("ü".encode(), "several bytes"), (b"", "is NULL"), (b"abcde", r"more than CHAR\(4\)")):
        with pytest.raises(ValueError, match=reason):
            char(wrong, 4)
    with pytest.raises(ValueError, match=r"more than BINARY\(1\)"):
        binary(b"ab", 1)


def test_salt_bytes_are_below_the_number_of_buckets():
    assert salt_byte(bytes.fromhex("800000000000000778"), 16) == b"\0"
    assert salt_byte(bytes.fromhex("8000000000000008"), 16) == b"\7"
    assert {salt_byte(b"%d" % number, 7)[0] for number in range(200)} == set(range(7))

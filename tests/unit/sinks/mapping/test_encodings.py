"""Encodings: text of a value -> bytes of a cell."""

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import ExpressionError
from ingest.formats.phoenix import CODECS
from sinks.mapping.encodings import ENCODERS, Encoding


def refusal(encoding, text):
    with pytest.raises(ExpressionError) as caught:
        ENCODERS[Encoding(encoding)](text)
    return caught.value.code


@pytest.mark.parametrize("encoding", ["utf8", "raw"])
def test_bytes_are_unchanged(encoding):
    assert ENCODERS[Encoding(encoding)] is None


@pytest.mark.parametrize(
    ("encoding", "text", "expected"),
    [
        ("int32", b"0", "00000000"),
        ("int32", b"-1", "ffffffff"),
        ("int32", b"+7", "00000007"),
        ("int32", b"007", "00000007"),
        ("int32", b"2147483647", "7fffffff"),
        ("int32", b"-2147483648", "80000000"),
        ("int64", b"5", "0000000000000005"),
        ("int64", b"5.0", "0000000000000005"),
        ("int64", b"1e3", "00000000000003e8"),
        ("int64", b"9223372036854775807", "7fffffffffffffff"),
        ("int64", b"-9223372036854775808", "8000000000000000"),
        ("float64", b"0.25", "3fd0000000000000"),
        ("float64", b"-2", "c000000000000000"),
        ("float64", b"-0", "8000000000000000"),
        ("float64", b".5", "3fe0000000000000"),
        ("float64", b"5.", "4014000000000000"),
        ("float64", b"1e-400", "0000000000000000"),
        ("float64", b"1.7976931348623157e308", "7fefffffffffffff"),
        ("hex", b"", ""),
        ("hex", b"00fFA1", "00ffa1"),
        ("base64", b"", ""),
        ("base64", b"AP8=", "00ff"),
        ("base64", b"AP8", "00ff"),
        ("base64", b"+/+/", "fbffbf"),
    ],
)
def test_text_is_encoded(encoding, text, expected):
    assert ENCODERS[Encoding(encoding)](text).hex() == expected


@pytest.mark.parametrize(
    ("encoding", "text", "code"),
    [
        ("int32", b"2147483648", "number_too_large"),
        ("int32", b"-2147483649", "number_too_large"),
        ("int64", b"9223372036854775808", "number_too_large"),
        ("int64", b"1e99", "number_too_large"),
        ("float64", b"1e309", "number_too_large"),
        ("float64", b"-1e309", "number_too_large"),
        *((encoding, text, "not_a_number")
          for encoding in ("int32", "int64", "float64")
          for text in (b"", b"x", b" 1", b"1\n", b"1_0", b"0x10", b"nan", b"inf", b"-Infinity", b"1e", b"--1", b"1,5",
                       b"1" * 1_001, b"\xd9\xa1", b"\xff", b"\0")),
        ("int32", b"1.5", "not_a_number"),
        ("int64", b"0.1e0", "not_a_number"),
        ("hex", b"0", "bad_encoding"),
        ("hex", b"0g", "bad_encoding"),
        ("hex", b"00 ff", "bad_encoding"),
        ("hex", "é".encode(), "bad_encoding"),
        ("base64", b"AP=", "bad_encoding"),
        ("base64", b"A", "bad_encoding"),
        ("base64", b"AP8=\n", "bad_encoding"),
        ("base64", b"A P8=", "bad_encoding"),
        ("base64", b"-_-_", "bad_encoding"),
        ("base64", b"=", "bad_encoding"),
        ("base64", b"AP8=AP8=", "bad_encoding"),
    ],
)  # fmt: skip
def test_invalid_text_is_an_error(encoding, text, code):
    assert refusal(encoding, text) == code


def test_long_value_is_cut_in_the_message():
    with pytest.raises(ExpressionError) as caught:
        ENCODERS[Encoding.INT64](b"x" * 1_000_000)
    assert len(str(caught.value)) < 120


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_round_trip(number):
    assert struct.unpack(">q", ENCODERS[Encoding.INT64](b"%d" % number)) == (number,)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_round_trip(number):
    packed = ENCODERS[Encoding.FLOAT64](repr(number).encode())
    assert packed == struct.pack(">d", number)


@given(st.binary())
def test_bytes_round_trip(content):
    assert ENCODERS[Encoding.HEX](content.hex().encode()) == content
    assert ENCODERS[Encoding.BASE64](base64.b64encode(content)) == content


@given(
    st.sampled_from([each for each in Encoding if ENCODERS[each] is not None]),
    st.binary() | st.from_regex(rb"[-+0-9.eE]{0,20}", fullmatch=True),
)
def test_any_text_is_encoded_or_an_error(encoding, text):
    try:
        encoded = ENCODERS[encoding](text)
    except ExpressionError:
        return
    assert isinstance(encoded, bytes)


def test_there_is_an_encoding_for_each_type_of_phoenix():
    assert {str(each) for each in Encoding if each.startswith("phoenix_")} == {f"phoenix_{kind}" for kind in CODECS}
    assert ENCODERS[Encoding("phoenix_bigint")](b"-2").hex() == "7ffffffffffffffe"
    assert refusal("phoenix_unsigned_long", b"-1") == "number_too_large"
    assert refusal("phoenix_boolean", b"maybe") == "not_a_bool"

"""Types of cells: values to bytes and back."""

import json
import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.formats.cell_types import CODECS, CellType

TEXTS = st.text(st.characters(codec="utf-8"))
INTEGERS = {kind: st.integers(-(2 ** (int(kind[3:]) - 1)), 2 ** (int(kind[3:]) - 1) - 1) for kind in ("int32", "int64")}
CONTENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


def encode(kind, value):
    return CODECS[CellType(kind)].encode(value)


def decode(kind, value):
    return CODECS[CellType(kind)].decode(value)


def test_every_type_has_a_codec():
    assert set(CODECS) == set(CellType)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("utf8", "größe", "6772c3b6c39f65"),
        ("utf8", "", ""),
        ("int32", 7, "00000007"),
        ("int32", -1, "ffffffff"),
        ("int32", -(2**31), "80000000"),
        ("int64", 7, "0000000000000007"),
        ("int64", -2, "fffffffffffffffe"),
        ("int64", 2**63 - 1, "7fffffffffffffff"),
        ("int8", -2, "fe"),
        ("int16", -2, "fffe"),
        ("bool8", True, "ff"),
        ("bool8", False, "00"),
        ("float32", 2.5, "40200000"),
        ("float64", 2.5, "4004000000000000"),
        ("float64", -0.1, "bfb999999999999a"),
        ("float64", -0.0, "8000000000000000"),
        ("json", '{"a": [1, "ö"]}', b'{"a": [1, "\xc3\xb6"]}'.hex()),
    ],
)
def test_bytes_of_a_value(kind, value, expected):
    assert encode(kind, value).hex() == expected
    assert decode(kind, bytes.fromhex(expected)) == value


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int32", b"\0\0\7", '"\\x00\\x00\\x07" has 3 bytes, not 4, so it is not int32'),
        ("bool8", b"", '"" has 0 bytes, not 1, so it is not bool8'),
        ("int64", b"17", '"17" has 2 bytes, not 8, so it is not int64'),
        ("int64", b"", '"" has 0 bytes, not 8, so it is not int64'),
        ("float64", b"123456789", '"123456789" has 9 bytes, not 8, so it is not float64'),
        ("utf8", b"gr\xf6\xdfe", '"gr\\xf6\\xdfe" is not UTF-8'),
        ("json", b"\xff", '"\\xff" is not UTF-8'),
        ("json", b"{", '"{" is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)'),
        (
            "float64",
            struct.pack(">d", math.inf),
            '"\\x7f\\xf0\\x00\\x00\\x00\\x00\\x00\\x00" is inf, which is not a number',
        ),
        ("json", b"NaN", '"NaN" is not JSON: NaN is not valid JSON'),
    ],
)
def test_bytes_of_another_type_are_an_error(kind, value, message):
    with pytest.raises(ValueError) as caught:
        decode(kind, value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int32", 2**31),
        ("int64", -(2**63) - 1),
        ("int64", 1.0),
        ("int64", "7"),
        ("float64", "x"),
        ("float64", 10**400),
        ("utf8", "\ud800"),
        ("float64", math.nan),
        ("float64", -math.inf),
        ("json", '"\udcff"'),
    ],
)
def test_value_that_the_type_does_not_have_is_an_error(kind, value):
    with pytest.raises(ValueError, match=f"cannot be written as {'utf8' if kind == 'json' else kind}|as json"):
        encode(kind, value)


def test_json_nested_too_deep_is_an_error():
    with pytest.raises(ValueError, match="is not JSON: maximum recursion depth exceeded"):
        decode("json", b"[" * 100_000)


@given(st.data(), st.sampled_from(["int32", "int64"]))
def test_integers_round_trip(data, kind):
    number = data.draw(INTEGERS[kind])
    assert decode(kind, encode(kind, number)) == number
    assert int.from_bytes(encode(kind, number), "big", signed=True) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_round_trip(number):
    packed = encode("float64", number)
    assert packed == struct.pack(">d", number)
    assert encode("float64", decode("float64", packed)) == packed


@given(TEXTS)
def test_text_round_trips(text):
    assert decode("utf8", encode("utf8", text)) == text


@given(CONTENTS)
def test_json_round_trips(content):
    text = json.dumps(content, ensure_ascii=False)
    assert decode("json", encode("json", text)) == text


def test_text_that_is_not_json_is_an_error():
    with pytest.raises(ValueError, match='"x" is not JSON'):
        encode("json", "x")


@given(st.binary(), st.sampled_from(CellType))
@example(b"\1", CellType.BOOL8)
def test_any_bytes_are_decoded_or_an_error(value, kind):
    try:
        decoded = decode(kind, value)
    except ValueError:
        return
    is_other_true = kind is CellType.BOOL8 and decoded is True
    assert encode(kind, decoded) == (b"\xff" if is_other_true else value)

"""Values of columns as they are shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api.notation import from_notation, readable, to_notation
from ingest.formats.cell_types import CODECS, CellType
from ingest.formats.column_types import AS_BYTES, ColumnTypes

TYPES = ColumnTypes({b"e:ms": CellType.INT64, b"e": CellType.INT16, b"m:": CellType.FLOAT32, b"m": CellType.UTF8})


@pytest.mark.parametrize(
    ("column", "expected"),
    [(b"e:ms", "int64"), (b"e:x", "int16"), (b"e:", "int16"), (b"m:", "float32"), (b"m:x", "utf8"), (b"x:ms", None)],
)
def test_a_column_has_its_own_type_or_that_of_its_family(column, expected):
    assert TYPES.of(column) == expected
    assert ColumnTypes({**TYPES.types, b"": CellType.JSON}).of(column) == (expected or "json")


@pytest.mark.parametrize(
    ("cell_type", "value", "text", "plain", "misfit"),
    [
        ("int64", b"\0\0\0\0\0\0\5\xd8", "1496", 1496, ""),
        ("int64", b"\xff" * 8, "-1", -1, ""),
        ("int64", b"\x7f" + b"\xff" * 7, str(2**63 - 1), 2**63 - 1, ""),
        ("int64", b"1496", "1496", "1496", "not int64, 4 bytes"),
        ("int64", b"", "", "", "not int64, 0 bytes"),
        ("int32", b"\xff", "\\xFF", {"b64": "/w=="}, "not int32, 1 byte"),
        ("int8", b"\xff", "-1", -1, ""),
        ("int8", b"17", "17", "17", "not int8, 2 bytes"),
        ("int16", b"\1\0", "256", 256, ""),
        ("float64", b"@\4\0\0\0\0\0\0", "2.5", 2.5, ""),
        (
            "float64",
            b"\x7f\xf0\0\0\0\0\0\0",
            "\\x7F\\xF0" + "\\x00" * 6,
            {"b64": "f/AAAAAAAAA="},
            "not float64, 8 bytes",
        ),
        ("float32", b"=\xcc\xcc\xcd", "0.1", 0.1, ""),
        ("bool8", b"\xff", "true", True, ""),
        ("bool8", b"\1", "true", True, ""),
        ("bool8", b"\0", "false", False, ""),
        ("bool8", b"true", "true", "true", "not bool8, 4 bytes"),
        ("utf8", "ö\n".encode(), "ö\\x0A", "ö\n", ""),
        ("utf8", b"\xff", "\\xFF", {"b64": "/w=="}, "not utf8, 1 byte"),
        ("json", b'{"b64": 1}', '{"b64": 1}', '{"b64": 1}', ""),
        ("json", b"{", "{", "{", "not json, 1 byte"),
    ],
)
def test_value_of_a_type(cell_type, value, text, plain, misfit):
    shown = ColumnTypes({b"f:q": CellType(cell_type)}).shown(b"f:q", value)
    assert (*shown, type(shown.plain)) == (text, plain, misfit, type(plain))


@given(st.sampled_from(CellType), st.binary(max_size=9))
def test_a_value_is_never_mistaken_for_another(cell_type, value):
    """What JSON has gives the bytes back: by the type if it is a number or a boolean, else as bytes are written."""
    types = ColumnTypes({b"f": cell_type})
    plain = json.loads(json.dumps(types.plain(b"f:q", value)))
    if isinstance(plain, bool | int | float):
        encoded = CODECS[cell_type].encode(plain)
        assert encoded == value or (cell_type is CellType.BOOL8 and plain and len(value) == 1 and value != b"\0")
    else:
        assert from_notation(plain) == value
    assert (types.shown(b"f:q", value).misfit == "") == (not isinstance(_decoded(cell_type, value), ValueError))


def _decoded(cell_type, value):
    try:
        return CODECS[cell_type].decode(value)
    except ValueError as error:
        return error


@given(st.binary(), st.binary())
def test_without_types_values_are_bytes(column, value):
    assert tuple(AS_BYTES.shown(column, value)) == (readable(value), to_notation(value), "")
    assert AS_BYTES.plain(column, value) == to_notation(value)


@given(st.dictionaries(st.binary(), st.sampled_from(CellType)))
def test_types_are_stored_as_json(types):
    assert ColumnTypes.from_json(json.loads(json.dumps(ColumnTypes(types).to_json()))) == ColumnTypes(types)


def test_types_of_a_later_version_are_left_out():
    assert ColumnTypes.from_json({"f:a": "int128", "f:b": "int64"}) == ColumnTypes({b"f:b": CellType.INT64})

"""The convert decorator; the tests of expressions cover numbers and encodings in detail."""

import struct
from decimal import Decimal
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.convert import Convert, Form
from ingest.expressions.encodings import read_percent
from ingest.expressions.numbers import EXACT
from ingest.formats.phoenix import CODECS
from ingest.testing.events import event_of, settings_of

CHARSETS = [form.value for form in Form][list(Form).index(Form.UTF8) :]


def converted(options, value):
    event = event_of("", {"a": value})
    assert Convert(settings_of(Convert.settings_class(), f"{{source: a, {options}}}")).decorate(event)
    return event.attributes["a"]


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("encode: int8", b"-128", b"\x80"),
        ("decode: int8", b"\xff", b"-1"),
        ("decode: bool, encode: int8", b"yes", b"\1"),
        ("encode: bigdecimal", b"-1.50", b"\0\0\0\1\xf1"),
        ("encode: bigdecimal", b"1e3", b"\0\0\0\0\x03\xe8"),
        ("encode: bigdecimal", b"0", b"\0\0\0\0\0"),
        ("encode: bigdecimal, scale: 0", b"7.0", b"\0\0\0\0\7"),
        ("encode: bigdecimal, scale: 3", b"-1.5", b"\0\0\0\3\xfa\x24"),
        ("decode: bigdecimal", b"\0\0\0\3\xfa\x24", b"-1.500"),
        ("decode: bigdecimal", b"\xff\xff\xff\xfe\7", b"700"),
        ("decode: bigdecimal", b"\xff\xff\xff\xfe\0", b"0"),
        ("decode: bigdecimal, encode: int64", b"\0\0\0\1\x14", b"\0\0\0\0\0\0\0\2"),
        ("decode: string_binary", rb"u-\x00\x2a\xC3\xa4\y", b"u-\0*\xc3\xa4\\y"),
        ("encode: string_binary", b"u-\0\xff ~\x7f\\x", rb"u-\x00\xFF ~\x7F\x5Cx"),
        ("decode: string_binary, encode: hex", rb"\x00A", b"0041"),
        ("encode: int16", b"-2", b"\xff\xfe"),
        ("encode: int32", b"2147483647", b"\x7f\xff\xff\xff"),
        ("encode: int64", b"1e3", bytes(6) + b"\x03\xe8"),
        ("encode: float32", b"0.1", bytes.fromhex("3dcccccd")),
        ("encode: float32", b"16777218", bytes.fromhex("4b800001")),
        ("encode: float32", b"1.6777218e7", bytes.fromhex("4b800001")),
        ("encode: float32", b"1.67772171e7", bytes.fromhex("4b800001")),
        ("encode: float64", b"1e300", bytes.fromhex("7e37e43c8800759c")),
        ("encode: phoenix_bigint", b"-2", bytes.fromhex("7ffffffffffffffe")),
        ("encode: phoenix_decimal", b"-123.45", bytes.fromhex("3d644e3866")),
        ("decode: phoenix_decimal", bytes.fromhex("3d644e3866"), b"-123.45"),
        ("decode: phoenix_double, encode: int64", bytes.fromhex("c014000000000001"), b"\0\0\0\0\0\0\0\5"),
        ("decode: bool, encode: phoenix_tinyint", b"yes", b"\x81"),
        ("decode: bool, encode: phoenix_boolean", b"on", b"\1"),
        ("decode: phoenix_boolean, encode: int16", b"\1", b"\0\1"),
        ("decode: number, encode: int64", b"0x1f", b"\0\0\0\0\0\0\0\x1f"),
        ("encode: float32", b"0.123456789", bytes.fromhex("3dfcd6ea")),
        ("encode: float64", b"9007199254740994.00", bytes.fromhex("4340000000000001")),
        ("encode: float64", b"1e23", bytes.fromhex("44b52d02c7e14af6")),
        ("encode: float64", b"-2", bytes.fromhex("c000000000000000")),
        ("decode: int16", b"\xff\xfe", b"-2"),
        ("decode: int32", b"\0\0\0\xc8", b"200"),
        ("decode: int64", b"\x80" + bytes(7), b"-9223372036854775808"),
        ("decode: float32", bytes.fromhex("3dcccccd"), b"0.1"),
        ("decode: float32", bytes.fromhex("4b800000"), b"16777216.0"),
        ("decode: float32", bytes.fromhex("7f7fffff"), b"3.4028235e+38"),
        ("decode: float32", bytes.fromhex("00000001"), b"1e-45"),
        ("decode: float64", bytes.fromhex("3fb999999999999a"), b"0.1"),
        ("decode: float64", bytes.fromhex("8000000000000000"), b"-0.0"),
        ("decode: int32, encode: int64", b"\xff\xff\xff\xff", b"\xff" * 8),
        ("decode: float32, encode: float64", bytes.fromhex("3dcccccd"), bytes.fromhex("3fb999999999999a")),
        ("encode: auto", b"-2", b"\xff" * 7 + b"\xfe"),
        ("encode: auto", b"2.5", bytes.fromhex("4004000000000000")),
        ("encode: auto", b"007", b"007"),
        ("encode: auto", b"", b""),
        ("encode: auto", b"\xff", b"\xff"),
        ("encode: auto", b"9223372036854775808", b"9223372036854775808"),
        ("decode: number, grouping: ',', encode: auto", b"1,000.50", bytes.fromhex("408f440000000000")),
        ("decode: int32, encode: auto", b"\0\0\0\7", bytes(7) + b"\7"),
        ("encode: bool8", b"Yes", b"\xff"),
        ("encode: bool8", b"off", b"\0"),
        ("decode: bool8", b"\1", b"true"),
        ("decode: bool8", b"\0", b"false"),
        ("encode: bool", b" ON ", b"true"),
        ("decode: bool", b"n", b"false"),
        ("decode: bool, encode: int32", b"On", b"\0\0\0\1"),
        ("decode: bool, encode: int32", b"off", b"\0\0\0\0"),
        ("decode: bool8, encode: number", b"\xff", b"1"),
        ("decode: bool8, encode: float64", b"\0", bytes(8)),
        ("decode: bool, encode: hex", b"y", b"74727565"),
        # values of java.math.BigInteger.toByteArray and org.apache.kafka.connect.data.Decimal
        ("decode: bigint", b"\0", b"0"),
        ("decode: bigint", b"\x80", b"-128"),
        ("decode: bigint", b"\0\x80", b"128"),
        ("decode: bigint", b"\xff\xff\xff", b"-1"),
        ("decode: bigint, scale: 2", b"\4\xd2", b"12.34"),
        ("decode: bigint, scale: 2", b"\xff", b"-0.01"),
        ("decode: bigint, scale: 2", b"\0", b"0.00"),
        ("decode: bigint, scale: 4", b"\x0c\x1c\x96\0", b"20320.0000"),
        ("decode: bigint", b"\x7f" + b"\xff" * 15, b"170141183460469231731687303715884105727"),
        ("decode: duration", b"1.49105ms", b"0.00149105"),
        ("decode: duration, encode: int32", b"2m", b"\0\0\0x"),
        ("decode: size, encode: int64", b"1 KiB", bytes(6) + b"\4\0"),
        ("encode: bigint", b"-128", b"\x80"),
        ("encode: bigint", b"128", b"\0\x80"),
        ("encode: bigint", b"-129", b"\xff\x7f"),
        ("encode: bigint, scale: 2", b"12.340", b"\4\xd2"),
        ("decode: bool, encode: bigint, scale: 2", b"true", b"\x64"),
        ("encode: hex", b"\0\xff", b"00ff"),
        ("decode: hex", b"00fF", b"\0\xff"),
        ("encode: base64", b"\xfb\xff", b"+/8="),
        ("encode: base64url", b"\xfb\xff", b"-_8="),
        ("decode: base64", b"+/8", b"\xfb\xff"),
        ("decode: base64", b"+/8=", b"\xfb\xff"),
        ("decode: base64url", b"-_8", b"\xfb\xff"),
        ("decode: base64url", b"-_8=", b"\xfb\xff"),
        ("encode: percent", "a b/ü~".encode(), b"a%20b%2F%C3%BC~"),
        ("decode: percent", b"a%20b+%C3%BC%zz%", b"a b+\xc3\xbc%zz%"),
        ("encode: form", b"a b+c", b"a+b%2Bc"),
        ("decode: form", b"a+b%2Bc", b"a b+c"),
        ("decode: latin1", b"\xa4", b"\xc2\xa4"),
        ("decode: iso-8859-15", b"\xa4", "€".encode()),
        ("encode: windows-1252", "€".encode(), b"\x80"),
        ("decode: utf-16le", b"a\0\xac\x20", "a€".encode()),
        ("encode: utf-16be", b"a", b"\0a"),
        ("decode: shift_jis, encode: euc-jp", "日本".encode("shift_jis"), "日本".encode("euc-jp")),
        ("decode: utf8, on_invalid: replace", b"a\xff\xe2\x82b", "a\ufffd\ufffdb".encode()),
        ("encode: latin1, on_invalid: replace", "a€\xe9".encode(), b"a?\xe9"),
        ("encode: ascii, on_invalid: replace", "aé".encode(), b"a?"),
    ],
)
def test_types_and_encodings(options, before, after):
    assert converted(options, before) == after


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        ("", b"007", b"7"),
        ("", b" +7.50\n", b"7.5"),
        ("", b"-0.0", b"0"),
        ("", b"100", b"100"),
        ("", b"5.", b"5"),
        ("", b"-.5", b"-0.5"),
        ("", b"1.20E3", b"1200"),
        ("", b"12e-3", b"0.012"),
        ("", b"0x1F", b"31"),
        ("", b"-0xff", b"-255"),
        ("", b"0.1234567890123456789012345678901234567890", b"0.123456789012345678901234567890123456789"),
        (", grouping: ','", b"1,234,567.80", b"1234567.8"),
        (", decimal: ',', grouping: '.'", b"1.234.567,80", b"1234567.8"),
        (", decimal: ','", b"-3,5", b"-3.5"),
        (', grouping: " \\u00a0\\u202f"', "1 234\u00a0567\u202f890".encode(), b"1234567890"),
    ],
)
def test_numbers_are_normalised(options, before, after):
    assert converted(f"decode: number{options}", before) == after


@pytest.mark.parametrize(
    ("options", "value", "code"),
    [
        ("encode: int64", b"1.5", "not_a_number"),
        ("encode: int32", b"2147483648", "number_too_large"),
        ("encode: int16", b"-32769", "number_too_large"),
        ("encode: float32", b"1e39", "number_too_large"),
        ("encode: float32", b"16777217", "number_too_large"),
        ("encode: float32", b"-16777217.0", "number_too_large"),
        # a whole number is one in any notation
        *[("encode: float32", text, "number_too_large") for text in (b"1.6777217e7", b"16777217e0", b"167772170E-1")],
        ("encode: float64", b"9.007199254740993e15", "number_too_large"),
        ("encode: float64", b"-" + b"1" * 150, "number_too_large"),
        ("encode: float64", b"9007199254740993", "number_too_large"),
        ("encode: float64", b"9223372036854775807", "number_too_large"),
        ("decode: int64, encode: float64", (2**53 + 1).to_bytes(8, "big"), "number_too_large"),
        ("decode: float64, encode: float32", bytes.fromhex("4170000010000000"), "number_too_large"),
        # a snowflake, seconds since 1970 as float32, an ID beyond 2^53
        ("encode: float64", b"1234567890123456789", "number_too_large"),
        ("encode: float32", b"1700000001", "number_too_large"),
        ("encode: float64", b"100000000000000001", "number_too_large"),
        ("encode: float32", b"nan", "not_a_number"),
        ("encode: float64", b"1e309", "number_too_large"),
        ("decode: int32", b"\0\0\0", "bad_encoding"),
        ("decode: int64", b"", "bad_encoding"),
        ("decode: float64", b"\0" * 4, "bad_encoding"),
        ("decode: float32", bytes.fromhex("7fc00000"), "not_a_number"),
        ("decode: float64", bytes.fromhex("7ff0000000000000"), "not_a_number"),
        ("decode: float64, encode: float32", bytes.fromhex("7fefffffffffffff"), "number_too_large"),
        ("decode: bool", b"", "not_a_bool"),
        ("decode: bool", b"2", "not_a_bool"),
        ("encode: bool8", b"ja", "not_a_bool"),
        ("decode: bool8", b"", "bad_encoding"),
        ("decode: bool8", b"\0\0", "bad_encoding"),
        ("decode: duration", b"5", "not_a_number"),
        ("decode: size", b"5K", "not_a_number"),
        ("decode: size, encode: int64", b"0.3KiB", "not_a_number"),
        ("encode: int8", b"128", "number_too_large"),
        ("decode: int8", b"\0\0", "bad_encoding"),
        ("encode: bigdecimal", b"x", "not_a_number"),
        ("encode: bigdecimal, scale: 1", b"0.25", "number_too_large"),
        ("encode: bigdecimal, scale: 0", b"0.5", "number_too_large"),
        ("encode: bigdecimal", b"1.55e-99", "number_too_large"),
        ("decode: bigdecimal", b"\0\0\0\1", "bad_encoding"),
        ("decode: bigdecimal", b"\0\0\0\x65\1", "bad_encoding"),
        ("decode: bigdecimal", b"\0\0\0\1" + bytes(1_025), "bad_encoding"),
        ("decode: string_binary", rb"a\x0g", "bad_encoding"),
        ("decode: string_binary", rb"a\x", "bad_encoding"),
        ("decode: bigint", b"", "bad_encoding"),
        ("decode: bigint", bytes(1_025), "bad_encoding"),
        ("encode: bigint", b"x", "not_a_number"),
        ("encode: bigint, scale: 2", b"0.001", "number_too_large"),
        ("decode: bool, encode: int32", b"maybe", "not_a_bool"),
        ("decode: hex", b"0", "bad_encoding"),
        ("decode: base64", b"AP=", "bad_encoding"),
        ("decode: base64", b"AAAAA", "bad_encoding"),
        ("decode: base64url", b"AA+A", "bad_encoding"),
        ("decode: base64url", b"A", "bad_encoding"),
        ("decode: utf8", b"\xff", "bad_encoding"),
        ("decode: utf8", b"\xed\xa0\x80", "bad_encoding"),
        ("decode: utf-16le", b"a", "bad_encoding"),
        ("encode: latin1", "€".encode(), "bad_encoding"),
        ("encode: latin1", b"\xff", "bad_encoding"),
        ("decode: windows-1252", b"\x81", "bad_encoding"),
        ("decode: hex, encode: latin1, on_invalid: replace", b"xyz", "bad_encoding"),
        *((f"decode: number{options}", text, "not_a_number") for options, text in [
            ("", b""), ("", b"."), ("", b"1,5"), ("", b"1 2"), ("", b"--1"), ("", b"1e"), ("", b"0x"), ("", b"inf"),
            ("", b"1_0"), ("", b"9" * 51), ("", b"1e100"), (", grouping: ','", b",5"), (", grouping: ','", b"1,,5"),
            (", decimal: ','", b"1.5"), (", decimal: ','", b"1,5,5"),
        ]),
    ],
)  # fmt: skip
def test_invalid_value_fails(refusal_of, options, value, code):
    assert refusal_of(Convert, f"{{source: a, {options}}}", "", {"a": value}) == code


@pytest.mark.parametrize(
    ("on_invalid", "after"),
    [("keep", {"a": b"\0\7", "b": b"x"}), ("empty", {"a": b"\0\7", "b": b""}), ("unset", {"a": b"\0\7"})],
)
def test_invalid_value_follows_on_invalid(attributes_after, on_invalid, after):
    text = f"{{attributes: [a, b], encode: int16, on_invalid: {on_invalid}}}"
    assert attributes_after(Convert, text, attributes={"a": "7", "b": "x"}) == after


def test_fallback_value_goes_to_the_target_attribute(attributes_after):
    before = {"a": "x", "c": "old"}
    text = "{attributes: {a: c}, encode: int16, on_invalid: %s}"
    assert attributes_after(Convert, text % "keep", attributes=before)["c"] == b"x"
    assert attributes_after(Convert, text % "unset", attributes=before)["c"] == b"old"


def test_dropped_event_is_unchanged():
    event = event_of("", {"a": "7", "b": "x"})
    convert = Convert(settings_of(Convert.settings_class(), "{attributes: [a, b], encode: int16, on_invalid: drop}"))
    assert convert.decorate(event) is False
    assert (event, convert.drop_reason) == (event_of("", {"a": "7", "b": "x"}), "bad_encoding")


@given(st.text(st.sampled_from("%4aG+x")), st.integers(3, 6))
def test_percent_encoding_is_read_in_pieces(text, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ingest.expressions.encodings._PIECE_BYTES", size)
        assert read_percent(text.encode()) == unquote_to_bytes(text)


@given(st.binary(), st.sampled_from(["hex", "base64", "base64url", "percent", "form", "string_binary"]))
def test_bytes_round_trip(value, form):
    assert converted(f"decode: {form}", converted(f"encode: {form}", value)) == value


@given(st.data(), st.sampled_from(["int8", "int16", "int32", "int64"]))
def test_integers_round_trip(data, form):
    bits = int(form[3:])
    number = b"%d" % data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    assert converted(f"decode: {form}", converted(f"encode: {form}", number)) == number


@given(st.integers(-(2**300), 2**300), st.integers(0, 100))
def test_big_integers_have_the_fewest_bytes_and_round_trip(number, scale):
    size = next(size for size in range(1, 40) if -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size - 1))
    packed = number.to_bytes(size, "big", signed=True)
    text = converted(f"decode: bigint, scale: {scale}", packed)
    assert (Decimal(text.decode()).scaleb(scale, EXACT), len(text.partition(b".")[2])) == (number, scale)
    if len(text) <= 50:  # a longer one is refused as text of a number
        assert converted(f"encode: bigint, scale: {scale}", text) == packed


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_floats_round_trip(single, double):
    for form, layout, number in (("float32", ">f", single), ("float64", ">d", double)):
        packed = struct.pack(layout, number)
        assert converted(f"encode: {form}", converted(f"decode: {form}", packed)) == packed


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6))
def test_normalised_number_is_equal_and_stable(number):
    ordered = converted("decode: number", str(number))
    assert number == type(number)(ordered.decode())
    assert converted("decode: number", ordered) == ordered


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from(CHARSETS))
def test_text_round_trips_in_every_charset(text, charset):
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        assert converted(f"encode: {charset}, on_invalid: unset, attribute: b", text) == text.encode()
        return
    written = converted(f"encode: {charset}", text)
    assert written == text.encode(charset)
    assert converted(f"decode: {charset}", written) == written.decode(charset).encode()


@given(st.binary(), st.sampled_from(CHARSETS), st.sampled_from(CHARSETS))
def test_any_bytes_can_be_recoded_with_replace(value, old, new):
    assert isinstance(converted(f"decode: {old}, encode: {new}, on_invalid: replace", value), bytes)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{decode: klingon}", [("enum", ("decode",))]),
        ("{encode: int64, decimal: ','}", [("conflict", ())]),
        ("{decode: bool, grouping: ','}", [("conflict", ())]),
        ("{decode: number, grouping: '.'}", [("conflict", ())]),
        ("{decode: number, decimal: ''}", [("string_too_short", ("decimal",))]),
        ("{decode: hex, on_invalid: replace}", [("conflict", ())]),
        ("{decode: hex, on_invalid: unset}", [("conflict", ())]),
        ("{decode: auto}", [("conflict", ())]),
        ("{encode: duration}", [("conflict", ())]),
        ("{decode: number, encode: size}", [("conflict", ())]),
        ("{decode: int64, scale: 2}", [("conflict", ())]),
        ("{decode: bigint, scale: -1}", [("greater_than_equal", ("scale",))]),
        ("{pattern: '^a', encode: auto, on_invalid: replace}", [("conflict", ())]),
        ("{pattern: '^a', source: a, encode: int64}", [("conflict", ())]),
        ("{pattern: '^a', attribute: a, encode: int64}", [("conflict", ())]),
        ("{pattern: '^a', attributes: [a], encode: int64}", [("conflict", ())]),
        ("{pattern: '^a', on_missing: error, encode: int64}", [("conflict", ())]),
        ("{pattern: '(', encode: int64}", [("bad_pattern", ("pattern",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Convert, settings) == expected


NAMES = {"2hb_": "1", "2hb_m:a": "2", "2hb_m:b": "x", "c:2hb_m:": "3"}


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        ("pattern: '^2hb_m:', encode: auto", {"2hb_m:a": bytes(7) + b"\2"}),
        ("pattern: '^2hb_m:', encode: int16, on_invalid: keep", {"2hb_m:a": b"\0\2"}),
        ("pattern: '^2hb_m:', encode: int16, on_invalid: empty", {"2hb_m:a": b"\0\2", "2hb_m:b": b""}),
        ("pattern: 2hb_m, encode: hex", {"2hb_m:a": b"32", "2hb_m:b": b"78", "c:2hb_m:": b"33"}),
        ("pattern: nothing, encode: hex", {}),
    ],
)
def test_pattern_selects_attributes_by_name(attributes_after, options, changed):
    before = {name: value.encode() for name, value in NAMES.items()}
    assert attributes_after(Convert, f"{{{options}}}", attributes=NAMES) == before | changed


def test_pattern_may_unset_values(attributes_after):
    text = "{pattern: '^2hb_m:', encode: int16, on_invalid: unset}"
    assert attributes_after(Convert, text, attributes=NAMES) == {"2hb_": b"1", "2hb_m:a": b"\0\2", "c:2hb_m:": b"3"}


def test_pattern_changes_all_attributes_or_none(refusal_of):
    assert refusal_of(Convert, "{pattern: '^2hb_m:', encode: int64}", "7", NAMES) == "not_a_number"


def test_pattern_may_change_attributes_that_are_written_once(attributes_after):
    text = "{pattern: '^2hb_m:a', encode: hex}"
    assert attributes_after(Convert, text, attributes=NAMES, write_once=True)["2hb_m:a"] == b"32"


def test_pattern_reads_and_sets_no_known_name():
    settings = settings_of(Convert.settings_class(), "{pattern: '^2hb_m:', encode: auto}")
    assert (settings.reads(), settings.sets(), settings.sets_core()) == (set(), set(), set())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{pattern: '^2hb_m:', encode: auto}", True),
        ("{pattern: '^2hb_m:', decode: number, encode: int64}", True),
        ("{pattern: '^2hb_m:', decode: int64}", False),
        ("{pattern: '^2hb_n:', encode: auto}", False),
        ("{source: '2hb_m:a', encode: int64}", False),
    ],
)
def test_replaced_text_is_known(text, expected):
    assert settings_of(Convert.settings_class(), text).replaces_text("2hb_m:a") is expected


@pytest.mark.parametrize(
    ("encode", "expected"), [("auto", True), ("int32", True), ("bool8", True), ("hex", False), ("utf-16le", False)]
)
def test_binary_result_is_known(encode, expected):
    assert settings_of(Convert.settings_class(), f"{{encode: {encode}}}").writes_binary is expected


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("{source: a, encode: auto}", ["encode"]),
        ("{attributes: [a], encode: auto}", ["encode"]),
        ("{attribute: a, encode: auto}", ["encode"]),
        ("{pattern: '^a', encode: auto}", []),
        ("{source: a, encode: int64}", []),
    ],
)
def test_type_by_value_of_a_named_attribute_is_a_warning(text, warned):
    assert list(settings_of(Convert.settings_class(), text).lint_warnings()) == warned


def test_there_is_a_form_for_each_type_of_phoenix():
    assert {str(each) for each in Form if each.startswith("phoenix_")} == {f"phoenix_{kind}" for kind in CODECS}

"""The row_key decorator."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.row_key import RowKey, RowKeySettings
from ingest.api import DecorateError
from ingest.testing.events import event_of, settings_of


def key_of(settings, attributes=None, **event):
    made = event_of(attributes=attributes, **event)
    RowKey(settings_of(RowKeySettings, settings)).decorate(made)
    return made.attributes["2hb_"]


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("", "a b", b"a b"),
        ("", b"\xff", b"\xff"),
        ("encoding: padded, width: 5", "42", b"00042"),
        ("encoding: padded, width: 1", "42", b"42"),
        ("encoding: reversed", "123", b"321"),
        ("encoding: reversed", "1é", "é1".encode()),
        ("encoding: hash", "abc", b"90015098"),
        ("encoding: hash, width: 32", "abc", b"900150983cd24fb0d6963f7d28e17f72"),
        ("encoding: inverted", "0", b"9223372036854775807"),
        ("encoding: inverted", "1700000000000", b"9223370336854775807"),
        ("encoding: int64", "-1", b"\xff" * 8),
        ("encoding: int64", "7.0", b"\0\0\0\0\0\0\0\7"),
        ("encoding: int64", "258", b"\0\0\0\0\0\0\1\2"),
        ("encoding: inverted_int64", "0", b"\x7f" + b"\xff" * 7),
        ("encoding: inverted_int64", "9223372036854775807", b"\0" * 8),
    ],
)
def test_part_is_written_in_its_encoding(part, value, expected):
    assert key_of(f"{{parts: [{{value: '%{{a}}', {part}}}]}}", {"a": value}) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{parts: [{value: '%{a}'}, {value: x}, {value: '%{b}'}]}", b"1|x|2"),
        ("{separator: '', parts: [{value: '%{a}'}, {value: '%{b}'}]}", b"12"),
        ("{separator: '::', parts: [{value: '%{a}'}, {value: 'b:c'}]}", b"1::b:c"),
        ("{parts: [{value: '%{a}'}, {value: 'x|y'}]}", b"1|x|y"),
        ("{on_separator: keep, parts: [{value: 'x|y'}, {value: '%{a}'}]}", b"x|y|1"),
        ("{on_missing: empty, parts: [{value: '%{no}'}, {value: '%{a}'}]}", b"|1"),
        ("{separator: '\x41', parts: [{value: '65', encoding: int64}, {value: '%{a}'}]}", b"\0\0\0\0\0\0\0AA1"),
    ],
)
def test_parts_are_joined(settings, expected):
    assert key_of(settings, {"a": "1", "b": "2"}) == expected


NUMBERS = st.integers(0, 2**63 - 1)


@given(NUMBERS, NUMBERS, st.sampled_from(["inverted", "inverted_int64", "int64"]))
def test_encoded_numbers_sort_as_documented(first, second, encoding):
    settings = f"{{parts: [{{value: '%{{n}}', encoding: {encoding}}}]}}"
    keys = [key_of(settings, {"n": str(number)}) for number in (first, second)]
    ascending = encoding == "int64"
    assert (keys[0] < keys[1]) is (first < second if ascending else first > second)
    assert len(keys[0]) == len(keys[1])
    if encoding == "int64":
        assert struct.unpack(">q", keys[0]) == (first,)


@given(st.text("ab|", max_size=4), st.text("ab|", max_size=4), st.text("ab|", max_size=4), st.text("ab|", max_size=4))
def test_keys_are_unambiguous(a, b, c, d):
    decorator = RowKey(settings_of(RowKeySettings, "{parts: [{value: '%{a}'}, {value: '%{b}'}]}"))
    events = [event_of(attributes={"a": first, "b": second}) for first, second in ((a, b), (c, d))]
    if "|" in a:
        with pytest.raises(DecorateError):
            decorator.decorate(events[0])
    elif "|" not in c:
        for event in events:
            decorator.decorate(event)
        assert (events[0].attributes["2hb_"] == events[1].attributes["2hb_"]) is ((a, b) == (c, d))


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("{parts: [{value: x}, {value: '%{no}'}]}", "no_attribute"),
        ("{parts: [{value: '%{a}'}, {value: '%{a}'}]}", "separator_in_key"),
        ("{parts: [{value: '%{a}', encoding: reversed}, {value: x}]}", "separator_in_key"),
        ("{parts: [{value: '%{a}', encoding: inverted}]}", "not_a_number"),
        ("{parts: [{value: '7.9', encoding: int64}]}", "not_a_number"),
        ("{parts: [{value: '7.9', encoding: inverted}]}", "not_a_number"),
        ("{parts: [{value: '7.9', encoding: inverted_int64}]}", "not_a_number"),
        ("{parts: [{value: '-0.5', encoding: inverted}]}", "not_a_number"),
        ("{parts: [{value: '-1', encoding: inverted_int64}]}", "negative_number"),
        ("{parts: [{value: '9223372036854775808', encoding: int64}]}", "number_too_large"),
    ],
)
def test_event_without_a_valid_key_fails(refusal_of, settings, code):
    assert refusal_of(RowKey, settings, b"", {"a": "x|y"}) == code


def test_no_key_with_on_missing_unset(attributes_after):
    assert attributes_after(RowKey, "{on_missing: unset, parts: [{value: '%{no}'}]}") == {}


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(RowKey, "{parts: [{value: x}]}", b"", {"2hb_": ""}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{parts: []}", [("too_short", ("parts",))]),
        ("{parts: [{value: x, encoding: padded}]}", [("missing", ("parts", 0))]),
        ("{parts: [{value: x, width: 3}]}", [("conflict", ("parts", 0))]),
        ("{parts: [{value: x, encoding: hash, width: 33}]}", [("out_of_range", ("parts", 0))]),
        ("{parts: ['%{a}']}", [("model_type", ("parts", 0))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(RowKey, settings) == expected

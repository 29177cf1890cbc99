"""The phoenix_row_key decorator; the expected keys are those of Phoenix 5.2.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from decorators.phoenix_row_key import PhoenixRowKey, PhoenixRowKeySettings
from ingest.api import DecorateError
from ingest.formats.phoenix import PhoenixType
from ingest.testing.events import event_of, settings_of

FOUR = (
    "{salt_buckets: 16, on_missing: empty, parts: [{value: '%{a}', type: varchar, order: desc}, "
    "{value: '%{b}', type: timestamp, order: desc}, {value: '%{c}', type: decimal, order: desc}, "
    "{value: '%{d}', type: varchar, order: desc}]}"
)


def made(settings, attributes):
    event = event_of(attributes=attributes)
    PhoenixRowKey(settings_of(PhoenixRowKeySettings, settings)).decorate(event)
    return event.attributes["2hb_"]


def one(part):
    return f"{{parts: [{{value: '%{{v}}', {part}}}]}}"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"a": "ab", "b": "1", "c": "1.5", "d": "é"}, "059e9dff7ffffffffffffffeffffffff3efdccff3c56ff"),
        ({"b": "-0.000001"}, "03008000000000000000fff0bdc0"),
        ({"a": "ab", "b": "0", "c": "-12"}, "069e9dff7fffffffffffffffffffffffc1a699ff"),
        ({"a": "ab", "b": "0", "d": "x"}, "099e9dff7fffffffffffffffffffffff0087ff"),
    ],
)
def test_descending_columns_with_nulls_in_a_salted_table(attributes, expected):
    assert made(FOUR, attributes).hex() == expected


def test_only_a_salted_key_of_several_columns_can_be_null():
    parts = "parts: [{value: '%{a}', type: varchar}, {value: '%{b}', type: decimal}]"
    assert made(f"{{on_missing: empty, salt_buckets: 16, {parts}}}", {}) == b"\1"
    for settings in (
        f"{{on_missing: empty, {parts}}}",
        "{on_missing: empty, salt_buckets: 16, parts: [{value: '%{a}', type: varchar}]}",
    ):
        with pytest.raises(DecorateError, match="all parts of the row key are empty") as caught:
            made(settings, {})
        assert caught.value.code == "null_in_key"


@pytest.mark.parametrize("kind", PhoenixType)
def test_there_is_a_part_of_each_type(kind):
    width = ", width: 1" if kind in {PhoenixType.CHAR, PhoenixType.BINARY} else ""
    assert made(f"{{parts: [{{value: '1', type: {kind}{width}}}]}}", {})


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
KEYS = st.tuples(TEXTS, st.integers(-300, 300), TEXTS)


@given(KEYS, KEYS, st.sampled_from(("asc", "desc")), st.sampled_from(("asc", "desc")))
def test_keys_sort_as_their_columns(key, other, first, second):
    settings = (
        "{on_missing: empty, parts: [{value: '%{a}', type: varchar, order: " + first + "}, "
        "{value: '%{b}', type: smallint, order: " + second + "}, {value: '%{c}', type: varchar}]}"
    )
    bytes_of_key, bytes_of_other = (made(settings, {"a": a, "b": str(b), "c": c}) for a, b, c in (key, other))
    assert (bytes_of_key == bytes_of_other) == (key == other)
    if (key[0], other[0]) != ("", "") and "" in {key[0], other[0]}:
        assert (bytes_of_key < bytes_of_other) == (key[0] == "")  # NULL is first in both orders
    elif key[0] != other[0]:
        lower = key[0].encode() < other[0].encode()
        assert (bytes_of_key < bytes_of_other) == (lower if first == "asc" else not lower)
    elif key[1] != other[1]:
        assert (bytes_of_key < bytes_of_other) == (key[1] < other[1] if second == "asc" else key[1] > other[1])
    else:
        assert (bytes_of_key < bytes_of_other) == (key[2].encode() < other[2].encode())


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("type: char, width: 4", "ab", "61622020"),
        ("type: char, width: 4, order: desc", "ab", "9e9ddfdf"),
        ("type: binary, width: 4", b"\1\2", "01020000"),
        ("type: binary, width: 4, order: desc", b"\1\2", "fefdffff"),
        ("type: varbinary", b"\0\xff", "00ff"),
        ("type: varchar", b"a\0", "6100"),
        ("type: boolean", "yes", "01"),
    ],
)
def test_text_and_bytes(part, value, expected):
    assert made(one(part), {"v": value}).hex() == expected


@pytest.mark.parametrize(
    ("part", "value", "code", "message"),
    [
        ("type: varchar", b"\xff", "bad_encoding", "part 1 of the row key: .* is not UTF-8, so it is not VARCHAR"),
        ("type: varchar, order: desc", b"a\0", "bad_encoding", "has the byte 0, which ends a VARCHAR"),
        ("type: char, width: 4", "ü", "bad_encoding", "a character has several bytes"),
        ("type: binary, width: 1", "ab", "bad_encoding", r"more than BINARY\(1\)"),
        ("type: char, width: 1", "", "null_in_key", "part 1 of the row key is empty, and CHAR cannot be NULL"),
        ("type: boolean", "maybe", "not_a_bool", "neither true nor false"),
    ],
)
def test_a_value_that_the_type_does_not_have(part, value, code, message):
    with pytest.raises(DecorateError, match=message) as caught:
        made(one(part), {"v": value})
    assert caught.value.code == code


def test_a_zero_byte_before_another_part_is_refused():
    settings = "{parts: [{value: '%{v}', type: varchar}, {value: '1', type: bigint}]}"
    with pytest.raises(DecorateError, match="has the byte 0"):
        made(settings, {"v": b"a\0"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (one("type: char"), "a `char` needs `width`"),
        (one("type: bigint, width: 4"), "`width` is only for `char` and `binary`"),
        (one("type: boolean, order: desc"), "declare the column ascending"),
        (one("type: varbinary, order: desc"), "Phoenix has no descending VARBINARY"),
        (
            "{parts: [{value: a, type: varbinary}, {value: b, type: varchar}]}",
            "only the last part can be",
        ),
        ("{parts: [{value: a, type: varchar}], salt_buckets: 257}", "less than or equal to 256"),
        ("{parts: []}", "at least 1 item"),
    ],
)
def test_a_key_that_phoenix_does_not_have(settings, message):
    with pytest.raises(ValidationError, match=message):
        settings_of(PhoenixRowKeySettings, settings)

"""The split decorator."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.split import Split
from ingest.testing.events import event_of, settings_of


def pieces_of(text):
    """Java's rule: trailing empty pieces are removed, but there is always one piece."""
    pieces = text.split(b":")
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return pieces


@pytest.mark.parametrize(
    ("separator", "index", "body", "expected"),
    [
        (":", 0, b"2238947398:56", b"2238947398"),
        (":", 1, b"2238947398:56", b"56"),
        (":", 2, b"a:b::", b""),
        (":", 9, b"a:b::", b""),
        (":", 0, b":a", b""),
        (":", 1, b"a::b", b""),
        (":", 2, b"a::b", b"b"),
        (":", 0, b"", b""),
        ("::", 1, b"a::b:c", b"b:c"),
        (" +", 1, b"a   b", b"b"),
        ("[:;]", 2, b"a;b:c", b"c"),
        ("(,)", 1, b"a,b", b"b"),
        ("\\\\.", 1, b"a.b", b"b"),
        (".", 0, b"abc", b""),
        (":", 1, b"\xff:\xfe", b"\xfe"),
        ("ö", 1, "aöb".encode(), b"b"),
    ],
)
def test_piece_with_the_index_becomes_the_attribute(attributes_after, separator, index, body, expected):
    settings = f'{{separator: "{separator}", index: {index}, attribute: x}}'
    assert attributes_after(Split, settings, body) == {"x": expected}


@given(st.lists(st.sampled_from([b":", b"a", b"\xff", b""])).map(b"".join), st.integers(0, 6))
def test_piece_equals_java(text, index):
    event = event_of(text)
    Split(settings_of(Split.settings_class(), f"{{separator: ':', index: {index}, attribute: x}}")).decorate(event)
    pieces = pieces_of(text)
    assert event.attributes == {"x": pieces[index] if index < len(pieces) else b""}


@given(st.binary(), st.integers(0, 3))
def test_plain_text_and_pattern_split_alike(text, index):
    found = []
    for separator in ("a", "[a]"):
        event = event_of(text)
        settings = f"{{separator: '{separator}', index: {index}, attribute: x}}"
        Split(settings_of(Split.settings_class(), settings)).decorate(event)
        found.append(event.attributes["x"])
    assert found[0] == found[1] == dict(enumerate(re.split(b"a", text))).get(index, b"")


def test_pieces_become_the_listed_attributes(attributes_after):
    found = attributes_after(Split, "{separator: ':', attributes: [a, '', c, d]}", b"1:2:3")
    assert found == {"a": b"1", "c": b"3", "d": b""}


def test_splits_an_attribute(attributes_after):
    found = attributes_after(Split, "{source: s, separator: ':', index: 1, attribute: x}", b"a:b", {"s": "1:2"})
    assert found["x"] == b"2"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Split, "{source: s, separator: ':', index: 1, attribute: x}") == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    settings = "{separator: ':', attributes: [x, a]}"
    assert refusal_of(Split, settings, "1:2", {"a": "0"}, write_once=True) == "attribute_exists"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{separator: ':', index: -1, attribute: x}", [("greater_than_equal", ("index",))]),
        ("{separator: ':', index: '1', attribute: x}", [("int_type", ("index",))]),
        ("{separator: '[', index: 1, attribute: x}", [("bad_pattern", ("separator",))]),
        ("{separator: ':', index: 1}", [("conflict", ())]),
        ("{separator: ':', attribute: x}", [("conflict", ())]),
        ("{separator: ':'}", [("conflict", ())]),
        ("{separator: ':', index: 1, attribute: x, attributes: [y]}", [("conflict", ())]),
        ("{separator: ':', attributes: [x, '', '', x]}", [("conflict", ())]),
        ("{index: 1, attribute: x}", [("missing", ("separator",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Split, settings) == expected

"""What decorators that make values of values read, and where results go."""

import re

import pytest

from ingest.api import DecorateError
from ingest.decorating.edits import EditSettings, edit, edit_found
from ingest.testing.events import event_of, settings_of


def longer(value):
    """A change that takes no digit, and of x makes nothing."""
    if value.isdigit():
        raise DecorateError("a digit", code="no_match")
    return None if value == b"x" else value + b"!"


def edited(text, body="b", attributes=None, **options):
    event = event_of(body, attributes or {}, **options)
    edit(settings_of(EditSettings, text), longer)(event)
    return event.body, event.attributes


THREE = {"a": "1a", "b": "1b", "c": "1c"}


@pytest.mark.parametrize(
    ("text", "body", "attributes"),
    [
        ("{}", b"b!", {}),
        ("{attribute: a}", b"b", {"a": b"b!"}),
        ("{source: a}", b"b", {"a": b"1a!"}),
        ("{source: a, attribute: d}", b"b", {"d": b"1a!"}),
        ("{source: a, attribute: b}", b"b", {"b": b"1a!"}),
        ("{source: a, attribute: a}", b"b", {"a": b"1a!"}),
        ("{attributes: [a, c]}", b"b", {"a": b"1a!", "c": b"1c!"}),
        ("{attributes: {a: b, b: c, c: a}}", b"b", {"a": b"1c!", "b": b"1a!", "c": b"1b!"}),
        ("{attributes: {a: a, b: d}}", b"b", {"a": b"1a!", "d": b"1b!"}),
        ("{attributes: [a, e]}", b"b", {"a": b"1a!"}),
        ("{attributes: {e: a}, on_missing: empty}", b"b", {"a": b""}),
        ("{source: e, on_missing: empty}", b"b", {"e": b""}),
    ],
)
def test_what_is_read_and_where_it_goes(text, body, attributes):
    expected = {name: value.encode() for name, value in THREE.items()} | attributes
    assert edited(text, attributes=THREE) == (body, expected)


@pytest.mark.parametrize(
    ("text", "body", "attributes"),
    [
        ("{}", b"", {"a": b"x", "b": b"2b"}),
        ("{attribute: b}", b"x", {"a": b"x", "b": b"2b"}),
        ("{source: a}", b"x", {"b": b"2b"}),
        ("{attributes: {a: b}}", b"x", {"a": b"x", "b": b"2b"}),
        ("{attributes: [a, b]}", b"x", {"b": b"2b!"}),
    ],
)
def test_no_result_is_no_attribute(text, body, attributes):
    assert edited(text, "x", {"a": "x", "b": "2b"}) == (body, attributes)


def test_what_is_changed_in_its_place_may_be_written_once():
    assert edited("{attributes: [a]}", attributes={"a": "y"}, write_once=True) == (b"b", {"a": b"y!"})


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{attributes: {a: a, b: c}}", "attribute_exists"),
        ("{attribute: c}", "attribute_exists"),
        ("{attributes: {a: d, one: e}}", "no_match"),
        ("{attributes: [a, one]}", "no_match"),
        ("{attributes: [a, e], on_missing: error}", "no_attribute"),
    ],
)
def test_one_error_and_nothing_is_changed(text, code):
    event, before = (event_of("b", {**THREE, "one": "1"}, write_once=True) for _ in range(2))
    with pytest.raises(DecorateError) as caught:
        edit(settings_of(EditSettings, text), longer)(event)
    assert (caught.value.code, event) == (code, before)


def found_edited(pattern, attributes, **options):
    event = event_of("b", attributes, **options)
    edit_found(re.compile(pattern).search, longer)(event)
    return event.attributes


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (rb"^a", {"a": b"1a!", "b": b"x", "ba": b"2b"}),
        (rb"a", {"a": b"1a!", "b": b"x", "ba": b"2b!"}),
        (rb"", {"a": b"1a!", "ba": b"2b!"}),
        (rb"c", {"a": b"1a", "b": b"x", "ba": b"2b"}),
    ],
)
def test_values_of_all_matching_names_are_replaced(pattern, expected):
    before = {"a": "1a", "b": "x", "ba": "2b"}
    assert found_edited(pattern, before) == found_edited(pattern, before, write_once=True) == expected


def test_pattern_is_searched_once_for_each_name():
    searched = []
    apply = edit_found(lambda name: searched.append(name) or (name == b"a" or None), longer)
    for _ in range(3):
        apply(event_of("b", {"a": "1a", "\udcff": "1b"}))
    assert searched == [b"a", b"\xff"]


def test_one_error_and_no_matching_value_is_changed():
    event, before = (event_of("b", {"a": "1a", "b": "1"}) for _ in range(2))
    with pytest.raises(DecorateError):
        edit_found(re.compile(b"").search, longer)(event)
    assert event == before


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{source: a, attributes: [b]}", "conflict"),
        ("{attribute: a, attributes: {b: c}}", "conflict"),
        ("{attributes: [a, b, a]}", "conflict"),
        ("{attributes: {a: c, b: c}}", "conflict"),
        ("{attributes: []}", "too_short"),
        ("{attributes: {}}", "too_short"),
        ("{on_missing: drop}", "enum"),
        ("{on_missing: error}", "conflict"),
        ("{on_missing: unset, attribute: b}", "conflict"),
    ],
)
def test_wrong_options_are_refused(text, kind):
    with pytest.raises(ValueError) as caught:
        settings_of(EditSettings, text)
    assert kind in {error["type"] for error in caught.value.errors()}

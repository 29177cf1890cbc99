"""The remove decorator."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.remove import Remove
from decorators.template import Value
from ingest.api.notation import name_to_bytes
from ingest.testing.events import event_of, settings_of

FOUR = {"a": "1", "ab": "2", "": "3", "\udcff": "4"}


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ("{attributes: [a, x]}", ["ab", "", "\udcff"]),
        ("{attributes: ['']}", ["a", "ab", "\udcff"]),
        ("{pattern: a}", ["", "\udcff"]),
        ("{pattern: '^a$'}", ["ab", "", "\udcff"]),
        ("{pattern: '^$'}", ["a", "ab", "\udcff"]),
        (r"{pattern: '\xff'}", ["a", "ab", ""]),
        ("{pattern: b, attributes: ['']}", ["a", "\udcff"]),
        ("{pattern: ''}", []),
        ("{values: ['3']}", ["a", "ab", "\udcff"]),
        ("{values: ['1', '2', '4']}", [""]),
        ("{attributes: [a, ab, x], values: ['2', '3']}", ["a", "", "\udcff"]),
        ("{pattern: '^a$', values: ['1', '2']}", ["ab", "", "\udcff"]),
        ("{pattern: '^a$', attributes: [''], values: ['1', '2', '3']}", ["ab", "\udcff"]),
        ("{pattern: '', values: ['']}", ["a", "ab", "", "\udcff"]),
    ],
)
def test_only_other_attributes_remain(attributes_after, settings, left):
    assert list(attributes_after(Remove, settings, attributes=FOUR)) == left


def test_value_may_be_empty_or_any_text(attributes_after):
    attributes = {"a": b"", "b": "é".encode(), "c": b" ", "d": b"\xff"}
    assert attributes_after(Remove, "{values: ['', é]}", attributes=attributes) == {"c": b" ", "d": b"\xff"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [("{values: ['']}", True), ("{attributes: [b], values: ['']}", False), ("{attributes: [a], values: ['']}", True)],
)
def test_attribute_that_may_be_removed_is_known(settings, expected):
    assert settings_of(Remove.settings_class(), settings).may_remove("a") is expected


def test_removed_attribute_can_be_set_again_if_written_once():
    event = event_of("", {"a": "1"}, write_once=True)
    Remove(settings_of(Remove.settings_class(), "{pattern: a}")).decorate(event)
    Value(settings_of(Value.settings_class(), "{attribute: a, value: '2'}")).decorate(event)
    assert event.attributes == {"a": b"2"}


@given(st.lists(st.dictionaries(st.text("ab\udcffé", max_size=3), st.binary(max_size=2)), max_size=5))
def test_equals_a_search_of_each_name(events):
    remove = Remove(settings_of(Remove.settings_class(), "{pattern: '^a|é', attributes: [b]}"))
    for attributes in events:
        event = event_of("", attributes)
        remove.decorate(event)
        expected = {
            name: value
            for name, value in attributes.items()
            if name != "b" and not re.search("^a|é".encode(), name_to_bytes(name))
        }
        assert event.attributes == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{attributes: []}", [("missing", ())]),
        ("{values: []}", [("too_short", ("values",))]),
        ("{pattern: '['}", [("bad_pattern", ("pattern",))]),
        ("{attributes: a}", [("list_type", ("attributes",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Remove, settings) == expected

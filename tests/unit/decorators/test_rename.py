"""The rename decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.rename import Rename
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ("{attributes: {a: b}}", {"a": "1", "c": "2"}, {"b": b"1", "c": b"2"}),
        ("{attributes: {a: b, b: a}}", {"a": "1", "b": "2"}, {"b": b"1", "a": b"2"}),
        ("{attributes: {a: b}}", {"a": "1", "b": "2"}, {"b": b"1"}),
        ("{attributes: {a: a}}", {"a": "1"}, {"a": b"1"}),
        ("{attributes: {x: y}}", {"a": "1"}, {"a": b"1"}),
        ("{attributes: {a: ''}}", {"a": "1"}, {"": b"1"}),
        (r"{pattern: '^http_(.*)', replacement: 'web:\1'}", {"http_a": "1", "b": "2"}, {"web:a": b"1", "b": b"2"}),
        (r"{pattern: '(.)(x)?', replacement: '\1\2\\'}", {"ab": "1"}, {"a\\b": b"1"}),
        (r"{pattern: '(?P<n>.)b', replacement: '\g<n>\g<1>\0'}", {"ab": "1"}, {"aaab": b"1"}),
        ("{pattern: '_', replacement: ''}", {"a_b_c": "1"}, {"ab_c": b"1"}),
        ("{pattern: '^', replacement: 'p.', attributes: {a: b}}", {"a": "1", "c": "2"}, {"b": b"1", "p.c": b"2"}),
        ("{pattern: '$', replacement: 'ö'}", {"\udcff": "1"}, {"\udcffö": b"1"}),
    ],
    ids=["name", "swap", "onto", "same", "absent", "empty", "group", "unmatched", "by name", "first", "both", "bytes"],
)
def test_attributes_get_their_new_names(attributes_after, settings, before, after):
    assert attributes_after(Rename, settings, attributes=before) == after


def test_existing_new_name_fails_if_written_once(refusal_of):
    code = refusal_of(Rename, "{attributes: {a: b}}", attributes={"a": "1", "b": "2"}, write_once=True)
    assert code == "attribute_exists"


def test_two_attributes_to_one_name_fail_if_written_once(refusal_of):
    code = refusal_of(Rename, "{attributes: {a: c, b: c}}", attributes={"a": "1", "b": "2"}, write_once=True)
    assert code == "attribute_exists"


@given(st.dictionaries(st.text(), st.binary()))
def test_prefix_keeps_all_values(attributes):
    event = event_of("", attributes)
    Rename(settings_of(Rename.settings_class(), "{pattern: '^', replacement: p}")).decorate(event)
    assert event.attributes == {f"p{name}": value for name, value in attributes.items()}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{pattern: a}", [("conflict", ())]),
        ("{replacement: a}", [("conflict", ())]),
        ("{pattern: '[', replacement: a}", [("bad_pattern", ("pattern",))]),
        (r"{pattern: '(a)', replacement: '\2'}", [("bad_pattern", ())]),
        (r"{pattern: '(a)', replacement: '\n'}", [("bad_pattern", ())]),
        (r"{pattern: '(a)', replacement: 'x\'}", [("bad_pattern", ())]),
        ("{attributes: {a: 1}}", [("string_type", ("attributes", "a"))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Rename, settings) == expected

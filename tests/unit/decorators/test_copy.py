"""The copy decorator; the tests of `edits` cover the common options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.copy import Copy
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "after"),
    [
        ("{attribute: c}", {"a": b"1", "b": b"2", "c": b"body"}),
        ("{source: a, attribute: c}", {"a": b"1", "b": b"2", "c": b"1"}),
        ("{attributes: {a: b, b: a}}", {"a": b"2", "b": b"1"}),
        ("{attributes: {a: c, x: d}}", {"a": b"1", "b": b"2", "c": b"1"}),
        ("{attributes: {a: c, x: d}, on_missing: empty}", {"a": b"1", "b": b"2", "c": b"1", "d": b""}),
    ],
)
def test_value_is_copied(attributes_after, settings, after):
    assert attributes_after(Copy, settings, "body", {"a": "1", "b": "2"}) == after


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert (
        refusal_of(Copy, "{attributes: {a: c, b: a}}", "", {"a": "1", "b": "2"}, write_once=True) == "attribute_exists"
    )


@given(st.binary(), st.binary())
def test_bytes_stay_bytes(body, value):
    event = event_of(body, {"a": value})
    Copy(settings_of(Copy.settings_class(), "{attribute: b}")).decorate(event)
    Copy(settings_of(Copy.settings_class(), "{attributes: {a: c}}")).decorate(event)
    assert event == event_of(body, {"a": value, "b": body, "c": value})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ())]),
        ("{source: a}", [("missing", ())]),
        ("{source: a, attribute: a}", [("conflict", ())]),
        ("{attributes: {a: a}}", [("conflict", ())]),
        ("{attributes: {a: b, c: b}}", [("conflict", ())]),
        ("{attributes: [a]}", [("dict_type", ("attributes",))]),
        ("{attributes: {}}", [("too_short", ("attributes",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Copy, settings) == expected

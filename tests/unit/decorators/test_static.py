"""The static decorator."""

from hypothesis import given
from hypothesis import strategies as st

from decorators.template import Static, StaticSettings
from ingest.testing.events import event_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def test_values_are_literal(attributes_after):
    assert attributes_after(Static, "{attributes: {a: '%{body}', b: ''}}", b"x") == {"a": b"%{body}", "b": b""}


def test_other_attributes_stay(attributes_after):
    assert attributes_after(Static, "{attributes: {b: new}}", b"", {"a": "1", "b": "2"}) == {"a": b"1", "b": b"new"}


@given(st.dictionaries(TEXT, TEXT, min_size=1, max_size=5))
def test_any_text_is_literal(values):
    event = event_of()
    Static(StaticSettings(attributes=values)).decorate(event)
    assert event.attributes == {name: value.encode() for name, value in values.items()}


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Static, "{attributes: {a: x, b: y}}", b"", {"b": "0"}, write_once=True) == "attribute_exists"


def test_invalid_options_are_rejected(errors_of):
    assert errors_of(Static, "{attributes: {}}") == [("too_short", ("attributes",))]
    assert errors_of(Static, "{attributes: {a: 1}}") == [("string_type", ("attributes", "a"))]

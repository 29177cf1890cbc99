"""The join decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.join import Join
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("options", "before", "expected"),
    [
        ("", {"a": "1", "b": "2", "c": "3"}, b"1 2 3"),
        ("", {"c": "3", "a": "1"}, b"1 3"),
        ("", {"a": "", "b": "2"}, b" 2"),
        ("", {}, None),
        ("on_missing: empty", {}, b"  "),
        ("on_missing: empty", {"b": "2"}, b" 2 "),
        ("separator: ''", {"a": "1", "b": "2"}, b"12"),
        ("separator: ' → '", {"a": b"\xff", "b": "2"}, b"\xff \xe2\x86\x92 2"),
        ("on_missing: error", {"a": "1", "b": "2", "c": "3"}, b"1 2 3"),
    ],
)
def test_values_are_joined(attributes_after, options, before, expected):
    after = attributes_after(Join, f"{{sources: [a, b, c], attribute: x, {options}}}", b"", before)
    assert after.get("x") == expected


@given(st.lists(st.binary(max_size=5).filter(lambda value: b"," not in value), min_size=1, max_size=6))
def test_joined_parts_can_be_split(values):
    names = [f"n{number}" for number in range(len(values))]
    event = event_of(attributes=dict(zip(names, values, strict=True)))
    Join(settings_of(Join.settings_class(), f"{{sources: {names}, attribute: x, separator: ','}}")).decorate(event)
    assert event.attributes["x"].split(b",") == values


def test_source_may_repeat_and_be_the_target(attributes_after):
    assert attributes_after(Join, "{sources: [a, a], attribute: a}", b"", {"a": "1"}) == {"a": b"1 1"}


def test_absent_attribute_fails_with_on_missing_error(refusal_of):
    assert refusal_of(Join, "{sources: [a, b], attribute: x, on_missing: error}", b"", {"a": "1"}) == "no_attribute"


def test_existing_attribute_fails_if_written_once(refusal_of):
    assert refusal_of(Join, "{sources: [a], attribute: x}", b"", {"a": "1", "x": ""}, write_once=True) == (
        "attribute_exists"
    )


def test_invalid_options_are_rejected(errors_of):
    assert errors_of(Join, "{sources: [], attribute: x}") == [("too_short", ("sources",))]
    assert errors_of(Join, "{sources: [a], attribute: x, on_missing: drop}") == [("enum", ("on_missing",))]

"""The default decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.default import Default
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "expected"),
    [
        ("{attributes: {a: x}}", {}, {"a": b"x"}),
        ("{attributes: {a: x}}", {"a": ""}, {"a": b"x"}),
        ("{attributes: {a: x}}", {"a": " "}, {"a": b" "}),
        ("{attributes: {a: x}}", {"a": b"\x00"}, {"a": b"\x00"}),
        ("{attributes: {a: x}, replace_empty: false}", {"a": ""}, {"a": b""}),
        ("{attributes: {a: '%{b}', b: '%{a}'}}", {"b": "1"}, {"a": b"1", "b": b"1"}),
        ("{attributes: {a: '%{b}', b: '%{a}'}}", {}, {}),
        ("{attributes: {a: '%{b}', b: x}}", {"a": ""}, {"a": b"", "b": b"x"}),
        ("{attributes: {a: '<%{b}>', b: x}, on_missing: empty}", {}, {"a": b"<>", "b": b"x"}),
        ("{attributes: {a: '%{b}'}, on_missing: error}", {"a": "1"}, {"a": b"1"}),
        ("{attributes: {a: '100%%'}}", {}, {"a": b"100%"}),
    ],
)
def test_absent_attributes_are_set(attributes_after, settings, before, expected):
    assert attributes_after(Default, settings, b"", before) == expected


@given(st.dictionaries(st.sampled_from("abcd"), st.binary(max_size=3)), st.booleans())
def test_sets_only_absent_attributes(before, replace_empty):
    decorator = Default(
        settings_of(
            Default.settings_class(), f"{{attributes: {{a: x, b: y}}, replace_empty: {str(replace_empty).lower()}}}"
        )
    )
    event = event_of(attributes=before)
    decorator.decorate(event)
    defaults = {"a": b"x", "b": b"y"}
    expected = before | {
        name: value for name, value in defaults.items() if name not in before or (replace_empty and not before[name])
    }
    assert event.attributes == expected
    again = dict(event.attributes)
    decorator.decorate(event)
    assert event.attributes == again


def test_empty_attribute_cannot_be_set_if_written_once(refusal_of):
    assert refusal_of(Default, "{attributes: {z: y, a: x}}", b"", {"a": ""}, write_once=True) == "attribute_exists"


def test_invalid_options_are_rejected(errors_of):
    assert errors_of(Default, "{attributes: {}}") == [("too_short", ("attributes",))]
    assert errors_of(Default, "{attributes: {a: '%{b'}}") == [("bad_expression", ("attributes", "a"))]

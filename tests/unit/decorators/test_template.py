"""The template decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.template import Template
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("settings", "before", "attributes", "body"),
    [
        ("{attributes: {a: '%{b}', b: '%{a}'}}", {"a": "1", "b": "2"}, {"a": b"2", "b": b"1"}, b"text"),
        ("{attributes: {a: '%{body}'}, body: '%{a}'}", {"a": "1"}, {"a": b"text"}, b"1"),
        ("{body: '<%{body}>'}", {}, {}, b"<text>"),
        ("{body: '%{a}', on_missing: unset}", {}, {}, b"text"),
        ("{body: '%{a}'}", {}, {}, b""),
        ("{attributes: {x: '%{a}', y: 'y'}, on_missing: unset}", {}, {"y": b"y"}, b"text"),
        ("{attributes: {x: '%{a}'}, on_missing: error}", {"a": b"\xff"}, {"a": b"\xff", "x": b"\xff"}, b"text"),
        ("{attributes: {x: '%{default(a, 1)}'}, on_missing: error}", {}, {"x": b"1"}, b"text"),
    ],
)
def test_templates_see_the_original_event(settings, before, attributes, body):
    event = event_of("text", before)
    assert Template(settings_of(Template.settings_class(), settings)).decorate(event) is True
    assert (event.attributes, event.body) == (attributes, body)


@given(st.binary(max_size=9), st.binary(max_size=9), st.binary(max_size=9))
def test_any_bytes_can_be_swapped(first, second, body):
    decorator = Template(
        settings_of(Template.settings_class(), "{attributes: {a: '%{body}', b: '%{a}'}, body: '%{b}'}")
    )
    event = event_of(body, {"a": first, "b": second})
    decorator.decorate(event)
    assert (event.attributes["a"], event.attributes["b"], event.body) == (body, first, second)


@pytest.mark.parametrize(
    "settings",
    [
        "{attributes: {x: y, z: '%{a}'}, on_missing: error}",
        "{attributes: {x: y}, body: '%{a}', on_missing: error}",
    ],
)
def test_absent_attribute_fails_with_on_missing_error(refusal_of, settings):
    assert refusal_of(Template, settings) == "no_attribute"


def test_failed_event_keeps_its_body(refusal_of):
    assert refusal_of(Template, "{attributes: {a: x}, body: new}", b"old", {"a": "1"}, write_once=True) == (
        "attribute_exists"
    )


def test_invalid_options_are_rejected(errors_of):
    assert errors_of(Template, "{}") == [("missing", ())]
    assert errors_of(Template, "{attributes: {x: '%{a'}}") == [("bad_expression", ("attributes", "x"))]

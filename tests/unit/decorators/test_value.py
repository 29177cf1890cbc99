"""The value decorator."""

from decorators.template import Value
from ingest.testing.events import event_of, settings_of


def test_literal_value_is_set(attributes_after):
    assert attributes_after(Value, "{attribute: a, value: '2'}") == {"a": b"2"}


def test_variables_of_the_value_are_expanded(attributes_after):
    found = attributes_after(Value, "{attribute: a, value: '%{host}-%{x}%%'}", attributes={"x": b"\xff"}, host="h")
    assert found["a"] == b"h-\xff%"


def test_existing_attribute_is_replaced(attributes_after):
    assert attributes_after(Value, "{attribute: a, value: '2'}", attributes={"a": "1"}) == {"a": b"2"}


def test_existing_attribute_fails_if_written_once(refusal_of):
    code = refusal_of(Value, "{attribute: a, value: '2'}", attributes={"a": "1"}, write_once=True)
    assert code == "attribute_exists"


def test_empty_attribute_name(attributes_after):
    assert attributes_after(Value, "{attribute: '', value: k}") == {"": b"k"}


def test_absent_attribute_is_empty(attributes_after):
    assert attributes_after(Value, "{attribute: a, value: '[%{x}]'}") == {"a": b"[]"}


def test_absent_attribute_leaves_it_unset(attributes_after):
    assert attributes_after(Value, "{attribute: a, value: '[%{x}]', on_missing: unset}") == {}
    found = attributes_after(Value, "{attribute: a, value: '[%{x}]', on_missing: unset}", attributes={"x": "1"})
    assert found["a"] == b"[1]"


def test_absent_attribute_fails(refusal_of):
    assert refusal_of(Value, "{attribute: a, value: '[%{x}]', on_missing: error}") == "no_attribute"


def test_invalid_template_is_rejected(errors_of):
    assert errors_of(Value, "{attribute: a, value: '%{x'}") == [("bad_expression", ("value",))]


def test_dates_use_the_zone_of_the_pipeline():
    settings = settings_of(Value.settings_class(), "{attribute: a, value: '%H'}", timezone="Asia/Tokyo")
    event = event_of()
    Value(settings).decorate(event)
    assert event.attributes == {"a": b"09"}

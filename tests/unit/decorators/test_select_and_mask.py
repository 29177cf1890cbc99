"""The decorators that remove attributes: select and mask."""

from decorators.remove import Mask
from decorators.select import Select
from decorators.template import Value
from ingest.testing.events import event_of, settings_of

THREE = {"a": "1", "b": "2", "": "3"}


def test_select_keeps_only_listed_attributes(attributes_after):
    assert attributes_after(Select, "{attributes: [a, '']}", attributes=THREE) == {"a": b"1", "": b"3"}


def test_select_ignores_absent_attributes(attributes_after):
    assert attributes_after(Select, "{attributes: [a, x]}", attributes=THREE) == {"a": b"1"}


def test_select_rejects_a_duplicate_name(errors_of):
    assert errors_of(Select, "{attributes: [a, a]}") == [("conflict", ())]


def test_select_keeps_core_fields():
    event = event_of("body", {"a": "1"}, host="h", timestamp_ms=5, nanos=6)
    Select(settings_of(Select.settings_class(), "{attributes: [x]}")).decorate(event)
    assert event == event_of("body", {}, host="h", timestamp_ms=5, nanos=6)


def test_mask_removes_only_listed_attributes(attributes_after):
    assert attributes_after(Mask, "{attributes: [a, x]}", attributes=THREE) == {"b": b"2", "": b"3"}


def test_masked_attribute_can_be_set_again_if_written_once():
    event = event_of("", {"a": "1"}, write_once=True)
    Mask(settings_of(Mask.settings_class(), "{attributes: [a]}")).decorate(event)
    Value(settings_of(Value.settings_class(), "{attribute: a, value: '2'}")).decorate(event)
    assert event.attributes == {"a": b"2"}


def test_mask_has_all_options_of_remove(attributes_after, errors_of):
    assert attributes_after(Mask, "{pattern: '^[ab]$'}", attributes=THREE) == {"": b"3"}
    assert errors_of(Mask, "{}") == [("missing", ())]

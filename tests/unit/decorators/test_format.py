"""The format decorator."""

from decorators.split import Split
from decorators.template import Format
from ingest.testing.events import event_of, settings_of


def test_body_is_the_expansion():
    event = event_of("text", {"x": b"\xff"}, nanos=12, host="h")
    assert Format(settings_of(Format.settings_class(), "{template: '%{nanos}:%{x}:%{body}'}")).decorate(event)
    assert event == event_of(b"12:\xff:text", {"x": b"\xff"}, nanos=12, host="h")


def test_format_with_nanos_and_split_make_a_row_key():
    event = event_of("text", nanos=12)
    Format(settings_of(Format.settings_class(), "{template: '%{nanos}:'}")).decorate(event)
    Split(settings_of(Split.settings_class(), "{separator: ':', index: 0, attribute: 2hb_}")).decorate(event)
    assert event.attributes == {"2hb_": b"12"}


def test_inserted_text_is_not_expanded():
    event = event_of("%{host}$1\\1", host="h")
    Format(settings_of(Format.settings_class(), "{template: '%{body}'}")).decorate(event)
    assert event.body == b"%{host}$1\\1"


def test_absent_attribute_is_empty_or_fails_or_keeps_the_body(refusal_of):
    event = event_of("text")
    Format(settings_of(Format.settings_class(), "{template: '<%{x}>'}")).decorate(event)
    assert event.body == b"<>"
    Format(settings_of(Format.settings_class(), "{template: '<%{x}|%{body}>', on_missing: unset}")).decorate(event)
    assert event.body == b"<>"
    assert refusal_of(Format, "{template: '<%{x}>', on_missing: error}", "text") == "no_attribute"


def test_template_is_required(errors_of):
    assert errors_of(Format, "{}") == [("missing", ("template",))]

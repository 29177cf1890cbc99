"""The filter decorator."""

import pytest

from decorators.filter import Filter
from ingest.testing.events import event_of, settings_of


def filtered(text, **event):
    return Filter(settings_of(Filter.settings_class(), text)).decorate(event_of(**event))


@pytest.mark.parametrize(("host", "kept"), [("a", True), ("b", False)])
def test_only_events_that_meet_keep_pass(host, kept):
    assert filtered("{keep: \"%{host} == 'a'\"}", host=host) is kept


@pytest.mark.parametrize(("host", "kept"), [("a", False), ("b", True)])
def test_events_that_meet_drop_are_dropped(host, kept):
    assert filtered("{drop: \"%{host} == 'a'\"}", host=host) is kept


def test_drop_reason_is_the_option_or_the_kind():
    for text, reason in (("", "filter"), (", reason: noise", "noise")):
        decorator = Filter(settings_of(Filter.settings_class(), f"{{drop: \"%{{host}} == 'a'\"{text}}}"))
        assert decorator.drop_reason == reason


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("conflict", ())]),
        ("{keep: \"%{host} == 'a'\", drop: \"%{host} == 'b'\"}", [("conflict", ())]),
        ("{keep: '%{host} =='}", [("bad_expression", ("keep",))]),
        ("{keep: \"%{host} == 'a'\", reason: ''}", [("string_too_short", ("reason",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Filter, settings) == expected

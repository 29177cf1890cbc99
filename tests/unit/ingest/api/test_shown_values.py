"""Values in messages: text as it is, what cannot be seen escaped, and nothing of Python's own writing."""

import pytest

from decorators.ip import Ip
from decorators.timestamp import Timestamp
from ingest.api import DecorateError
from ingest.api.notation import shown, shown_start
from ingest.testing.events import event_of, settings_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"abc", '"abc"'),
        ("Köln".encode(), '"Köln"'),
        (b"a\nb\x00", '"a\\nb\\x00"'),
        (b"\xff", '"\\xff"'),
        ("\u202e".encode(), '"\\u202e"'),
        (b"", '""'),
    ],
)
def test_value_is_quoted_and_escaped(value, expected):
    assert shown(value) == expected


@pytest.mark.parametrize("value", [b"", b"/a b", b"x" * 60, b"\xff" * 60])
def test_short_value_is_shown_as_a_name(value):
    assert shown_start(value) == shown(value)


def test_long_value_is_cut_and_the_cut_stands_outside():
    assert shown_start(b"x" * 61) == f'"{"x" * 60}"…'


@pytest.mark.parametrize(
    ("decorator", "options", "message"),
    [
        (Timestamp, "{formats: iso8601}", '"a\\nb" is not a time of the format iso8601'),
        (Ip, "{class_attribute: c, on_invalid: error}", '"a\\nb" is not an IP address'),
    ],
)
def test_message_of_a_decorator_shows_the_value_escaped(decorator, options, message):
    with pytest.raises(DecorateError) as caught:
        decorator(settings_of(decorator.settings_class(), options)).decorate(event_of("a\nb"))
    assert caught.value.message == message

"""The mult decorator."""

import pytest

from decorators.mult import Mult
from ingest.api.event import MAX_EVENTS_OF_A_RECORD
from ingest.testing.events import event_of, settings_of


def copies(text, attributes=None):
    event = event_of(b"x", attributes, key=b"k", write_once=True)
    return event, list(Mult(settings_of(Mult.settings_class(), text)).decorate(event))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_number_of_copies(n):
    event, made = copies(f"{{n: {n}}}", {"a": "1"})
    assert made == [event] * n
    assert all(type(each) is type(event) for each in made)


def test_one_copy_by_default():
    assert len(copies("{}")[1]) == 1


def test_copies_are_independent():
    _, (first, second) = copies("{n: 2}")
    first.set("a", b"1")
    assert second.attributes == {}


def test_benchmark_events_of_flume_pass_once():
    assert len(copies("{n: 7}", {"BenchmarkInject": ""})[1]) == 1


def test_negative_number_is_rejected(errors_of):
    assert errors_of(Mult, "{n: -1}") == [("greater_than_equal", ("n",))]


def test_more_copies_than_allowed_are_rejected(errors_of):
    assert settings_of(Mult.settings_class(), f"{{n: {MAX_EVENTS_OF_A_RECORD}}}").n == MAX_EVENTS_OF_A_RECORD
    assert errors_of(Mult, f"{{n: {MAX_EVENTS_OF_A_RECORD + 1}}}") == [("less_than_equal", ("n",))]

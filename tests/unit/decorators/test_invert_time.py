"""The invert_time decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.invert_time import InvertTime
from ingest.api import ExpressionError
from ingest.expressions import Template
from ingest.testing.events import event_of, settings_of

LARGEST = 2**63 - 1
TIMES = st.integers(0, LARGEST)


def inverted(text, time_ms):
    event = event_of("", timestamp_ms=time_ms)
    InvertTime(settings_of(InvertTime.settings_class(), text)).decorate(event)
    return event.attributes["a"]


@pytest.mark.parametrize(
    ("time_ms", "text", "long"),
    [
        (0, b"9223372036854775807", "7fffffffffffffff"),
        (1, b"9223372036854775806", "7ffffffffffffffe"),
        (LARGEST, b"0000000000000000000", "0000000000000000"),
    ],
)
def test_time_is_inverted_in_both_encodings(time_ms, text, long):
    assert inverted("{attribute: a}", time_ms) == text
    assert inverted("{attribute: a, encoding: int64}", time_ms).hex() == long


@given(TIMES, TIMES)
def test_later_time_sorts_first(one, other):
    for text in ("{attribute: a}", "{attribute: a, encoding: int64}"):
        assert (inverted(text, one) > inverted(text, other)) == (one < other)


@given(TIMES)
def test_inverting_twice_restores_the_time(time_ms):
    event = event_of("", {"a": str(time_ms)})
    for _ in range(2):
        InvertTime(settings_of(InvertTime.settings_class(), "{source: a}")).decorate(event)
    assert int(event.attributes["a"]) == time_ms


@given(TIMES)
def test_equals_the_function_of_that_name(time_ms):
    event = event_of("", timestamp_ms=time_ms)
    assert inverted("{attribute: a}", time_ms) == Template.parse("%{inverted_time()}").render(event)


@pytest.mark.parametrize("text", ["7.9", "1e3", "0.5"])
def test_function_treats_fractions_of_a_millisecond_alike(attributes_after, text):
    found = attributes_after(InvertTime, "{source: a, attribute: b}", attributes={"a": text})
    assert found["b"] == Template.parse("%{inverted_time(a)}").render(event_of("", {"a": text}))


def test_fraction_of_a_millisecond_before_1970_is_before_1970(refusal_of):
    with pytest.raises(ExpressionError) as caught:
        Template.parse("%{inverted_time(a)}").render(event_of("", {"a": "-0.5"}))
    assert caught.value.code == refusal_of(InvertTime, "{source: a}", "", {"a": "-0.5"}) == "negative_number"


def test_several_attributes_are_inverted(attributes_after):
    text = "{attributes: {a: b, x: y}, encoding: int64, on_missing: empty}"
    after = attributes_after(InvertTime, text, attributes={"a": str(LARGEST - 1)})
    assert after == {"a": b"%d" % (LARGEST - 1), "b": bytes(7) + b"\1", "y": b""}


def test_time_without_inverse_may_stay(attributes_after):
    before = {"a": "x", "b": "-1", "c": "7"}
    after = attributes_after(InvertTime, "{attributes: [a, b, c], on_invalid: keep}", attributes=before)
    assert after == {"a": b"x", "b": b"-1", "c": b"9223372036854775800"}
    assert attributes_after(InvertTime, "{attribute: a, on_invalid: keep}", timestamp_ms=-1) == {}


@pytest.mark.parametrize(
    ("value", "code"),
    [("x", "bad_time"), ("", "bad_time"), ("-0.1", "negative_number"), (str(2**63), "number_too_large")],
)
def test_time_without_inverse_fails(refusal_of, value, code):
    for encoding in ("text", "int64"):
        assert refusal_of(InvertTime, f"{{source: a, encoding: {encoding}}}", "", {"a": value}) == code


@pytest.mark.parametrize(
    ("settings", "expected"), [("{}", [("missing", ())]), ("{attribute: a, encoding: hex}", [("enum", ("encoding",))])]
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(InvertTime, settings) == expected

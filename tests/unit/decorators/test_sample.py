"""The sample decorator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.sample import Sample
from ingest.testing.events import event_of, settings_of


def made(text):
    return Sample(settings_of(Sample.settings_class(), text))


def passed(sampler, values):
    return [value for value in values if sampler.decorate(event_of(value))]


@pytest.mark.parametrize(
    ("share", "least", "most"), [(0, 0, 0), (0.1, 900, 1_100), (0.5, 4_800, 5_200), (1, 10_000, 10_000)]
)
def test_fraction_is_about_the_option(share, least, most):
    values = [b"user-%d" % number for number in range(10_000)]
    assert least <= len(passed(made(f"{{share: {share}, by: '%{{body}}'}}"), values)) <= most


@given(st.lists(st.binary(max_size=8)), st.floats(0, 1), st.floats(0, 1))
def test_larger_fraction_includes_the_smaller_one(values, first, second):
    small, large = sorted((first, second))
    some = passed(made(f"{{share: {small!r}, by: '%{{body}}'}}"), values)
    assert set(some) <= set(passed(made(f"{{share: {large!r}, by: '%{{body}}'}}"), values))


@given(st.lists(st.binary(max_size=8), unique=True))
def test_decision_depends_only_on_the_value(values):
    sampler = made("{share: 0.5, by: '%{body}'}")
    assert passed(sampler, values) == passed(made("{share: 0.5, by: '%{body}'}"), values)
    assert passed(sampler, values[::-1]) == passed(sampler, values)[::-1]


def test_other_salt_selects_other_values():
    values = [b"%d" % number for number in range(1_000)]
    first, second = (set(passed(made(f"{{share: 0.5, by: '%{{body}}', salt: {salt}}}"), values)) for salt in "ab")
    assert 200 < len(first & second) < 300


def test_events_without_the_value_pass():
    assert made("{share: 0, by: '%{user}'}").decorate(event_of())
    assert not made("{share: 0, by: '%{user}'}").decorate(event_of("", {"user": ""}))
    assert not made("{share: 1, by: '%{user}', on_missing: drop}").decorate(event_of())


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{share: 1.1, by: x}", [("less_than_equal", ("share",))]),
        ("{share: -0.1, by: x}", [("greater_than_equal", ("share",))]),
        ("{share: 10%, by: x}", [("float_parsing", ("share",))]),
        ("{by: x}", [("missing", ("share",))]),
        ("{share: 0.1}", [("missing", ("by",))]),
        ("{share: 0.1, by: '%{'}", [("bad_expression", ("by",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Sample, settings) == expected

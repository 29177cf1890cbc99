"""The decorators that decide by the offset: interval_sampler, interval_droppy_append, prob_sampler."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.interval_droppy_append import IntervalDroppyAppend
from decorators.interval_sampler import IntervalSampler
from decorators.prob_sampler import ProbSampler
from ingest.api import Origin
from ingest.testing.events import event_of, settings_of

SAMPLERS = [
    (IntervalSampler, "{n: 7}"),
    (IntervalDroppyAppend, "{n: 7}"),
    (ProbSampler, "{p: 0.3, seed: 11}"),
]


def made(kind, text):
    return kind(settings_of(kind.settings_class(), text))


def passed(sampler, offsets):
    """The offsets that pass."""
    return [offset for offset in offsets if sampler.decorate(event_of(b"x", origin=Origin("t", 0, offset)))]


def test_every_tenth_of_31():
    assert passed(made(IntervalSampler, "{n: 10}"), range(31)) == [0, 10, 20, 30]


def test_every_third_is_dropped():
    assert passed(made(IntervalDroppyAppend, "{n: 3}"), range(10)) == [0, 1, 3, 4, 6, 7, 9]
    assert passed(made(IntervalDroppyAppend, "{n: 1}"), range(10)) == []


def test_only_the_thirteenth_of_twenty_passes():
    assert passed(made(ProbSampler, "{p: 0.10, seed: 1337}"), range(20)) == [12]


@pytest.mark.parametrize(
    ("seed", "count", "first", "last"),
    [
        (0, 249, [1, 11, 12, 13, 16, 28, 29, 33, 35, 36, 43, 44], [967, 970, 977, 986, 992, 993]),
        (1337, 257, [4, 6, 10, 12, 13, 15, 17, 23, 25, 32, 40, 41], [979, 986, 991, 992, 993, 997]),
        (-5, 234, [5, 10, 11, 12, 16, 27, 32, 36, 40, 48, 54, 59], [973, 975, 977, 978, 986, 989]),
        (4611686018427387904, 249, [1, 11, 12, 13, 16, 28, 29, 33, 35, 36, 43, 44], [967, 970, 977, 986, 992, 993]),
    ],
)
def test_draws_equal_java(seed, count, first, last):
    """Results of java.util.Random in Java 17: the draws of a thousand that are below a quarter."""
    found = passed(made(ProbSampler, f"{{p: 0.25, seed: {seed}}}"), range(1_000))
    assert (len(found), found[:12], found[-6:]) == (count, first, last)


def test_probability_zero_and_one():
    assert passed(made(ProbSampler, "{p: 0}"), range(100)) == []
    assert passed(made(ProbSampler, "{p: 1}"), range(100)) == list(range(100))


@pytest.mark.parametrize(("kind", "text"), SAMPLERS)
@given(offsets=st.lists(st.integers(0, 1 << 62) | st.integers(0, 50), max_size=20))
def test_decision_depends_only_on_the_offset(kind, text, offsets):
    alone = [offset for offset in offsets if passed(made(kind, text), [offset])]
    sampler = made(kind, text)
    assert passed(sampler, offsets) == alone
    assert passed(sampler, reversed(offsets)) == alone[::-1]


def test_far_offset_continues_the_same_series():
    sampler = made(ProbSampler, "{p: 0.3, seed: 11}")
    in_turn = passed(sampler, range(5_000))
    assert passed(sampler, range(4_900, 5_000)) == [offset for offset in in_turn if offset >= 4_900]


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (IntervalSampler, "{n: 0}", [("greater_than_equal", ("n",))]),
        (IntervalSampler, "{}", [("missing", ("n",))]),
        (IntervalDroppyAppend, "{n: 0}", [("greater_than_equal", ("n",))]),
        (ProbSampler, "{p: 1.5}", [("less_than_equal", ("p",))]),
        (ProbSampler, "{p: 0.5, seed: 1.5}", [("int_type", ("seed",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, kind, settings, expected):
    assert errors_of(kind, settings) == expected

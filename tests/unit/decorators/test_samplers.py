"""The decorators that choose events by where they stand: interval_sampler, interval_droppy_append, prob_sampler."""

from itertools import pairwise

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
    """The offsets that pass, of events that come as one share."""
    sampler.begin()
    return [offset for offset in offsets if sampler.decorate(event_of(b"x", origin=Origin("t", 0, offset)))]


def test_every_tenth_of_31():
    assert passed(made(IntervalSampler, "{n: 10}"), range(31)) == [0, 10, 20, 30]


def test_every_third_is_dropped():
    assert passed(made(IntervalDroppyAppend, "{n: 3}"), range(10)) == [0, 1, 3, 4, 6, 7, 9]
    assert passed(made(IntervalDroppyAppend, "{n: 1}"), range(10)) == []


def test_of_the_first_twenty_only_the_thirteenth():
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
def test_draws_are_those_of_java(seed, count, first, last):
    """Answers of java.util.Random in Java 17: which of a thousand draws are below a quarter."""
    found = passed(made(ProbSampler, f"{{p: 0.25, seed: {seed}}}"), range(1_000))
    assert (len(found), found[:12], found[-6:]) == (count, first, last)


def test_none_and_all():
    assert passed(made(ProbSampler, "{p: 0}"), range(100)) == []
    assert passed(made(ProbSampler, "{p: 1}"), range(100)) == list(range(100))


@pytest.mark.parametrize(("kind", "text"), SAMPLERS)
@given(cuts=st.sets(st.integers(1, 199)))
def test_size_of_the_shares_does_not_matter(kind, text, cuts):
    sampler = made(kind, text)
    edges = [0, *sorted(cuts), 200]
    found = [offset for first, end in pairwise(edges) for offset in passed(sampler, range(first, end))]
    assert found == passed(made(kind, text), range(200))


@pytest.mark.parametrize(("kind", "text"), SAMPLERS)
def test_a_far_offset_is_found_at_once(kind, text):
    far = 1 << 62
    before = passed(made(kind, text), range(far - 49 * 7, far + 100))
    assert passed(made(kind, text), range(far, far + 100)) == [offset for offset in before if offset >= far]


def test_events_that_come_are_counted_and_not_offsets():
    """A step before it may have dropped some: one in n of those that come is let pass all the same."""
    assert passed(made(IntervalSampler, "{n: 10}"), range(0, 200, 2)) == list(range(0, 200, 20))


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
def test_wrong_options_are_refused(errors_of, kind, settings, expected):
    assert errors_of(kind, settings) == expected

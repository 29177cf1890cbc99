"""The reservoir_sampler decorator."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from decorators.reservoir_sampler import ReservoirSampler
from ingest.api import Buffered, Event, Origin
from ingest.api.growth import held_by
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator, Dropped, StillBuffered
from ingest.testing.events import event_of, settings_of
from ingest.testing.splits import outcomes_of_split


def made(k):
    return ReservoirSampler(settings_of(ReservoirSampler.settings_class(), f"{{k: {k}}}"))


def split(count, first=0, topic="t"):
    return [event_of(str(number), origin=Origin(topic, 0, first + number)) for number in range(count)]


def chosen(sampler, events):
    return [number for number, found in enumerate(outcomes_of_split(sampler, events)) if found]


@given(st.integers(1, 9), st.integers(0, 60), st.integers(0, 1 << 62))
def test_exactly_k_events_stay(k, count, first):
    assert len(chosen(made(k), split(count, first))) == min(k, count)


def test_every_position_has_the_same_probability():
    sampler = made(2)
    found = Counter(position for first in range(0, 400_000, 100) for position in chosen(sampler, split(8, first)))
    assert {position for position, count in found.items() if 900 < count < 1_100} == set(range(8))


@given(st.integers(1, 5), st.integers(0, 40), st.integers(0, 40), st.text(max_size=5))
def test_split_that_runs_again_keeps_the_same_events(k, count, failed_after, topic):
    sampler = made(k)
    first = chosen(sampler, split(count, 7, topic))
    for event in split(failed_after, 3):
        sampler.decorate(event)
    assert chosen(sampler, split(count, 7, topic)) == chosen(made(k), split(count, 7, topic)) == first


@given(st.integers(1, 6), st.integers(0, 50))
def test_every_event_is_kept_in_order_or_counted(k, count):
    chain = Chain([BoundDecorator(made(k), "sampled")])
    chain.split_start()
    outcomes = [outcome for event in split(count) for outcome in chain.run(event)]
    outcomes += [outcome for _, late in chain.split_end() for outcome in late]
    kept = [outcome.origin.offset for outcome in outcomes if isinstance(outcome, Event)]
    dropped = [outcome.event.origin.offset for outcome in outcomes if isinstance(outcome, Dropped)]
    assert kept == sorted(kept)
    assert sorted(kept + dropped) == list(range(count))
    assert {type(outcome) for outcome in outcomes} <= {Event, Dropped, StillBuffered}
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Dropped)} <= {"reservoir_sampler"}


def test_buffer_has_at_most_k_events():
    sampler = made(3)
    sampler.split_start()
    answers = [sampler.decorate(event) for event in split(1_000)]
    assert answers.count(Buffered()) == len(sampler.split_end()) == 3


@pytest.fixture
def low(monkeypatch):
    """Buffered events may take 10,000 bytes."""
    monkeypatch.setattr("decorators.reservoir_sampler.MAX_GROWN_BYTES", 10_000)


def large(sizes):
    return [event_of(b"x" * size, origin=Origin("t", 0, number)) for number, size in enumerate(sizes)]


@pytest.mark.usefixtures("low")
@given(st.integers(1, 20), st.lists(st.integers(0, 12_000), max_size=60))
@example(k=1, sizes=[12_000] * 20)
@example(k=20, sizes=[100] * 16 + [9_000] * 40)
@example(k=4, sizes=[100] * 4 + [2_000, 4_000] * 28)
def test_buffer_is_bounded_by_bytes(k, sizes):
    sampler = made(k)
    sampler.split_start()
    for event in large(sizes):
        sampler.decorate(event)
    kept = sampler.split_end()
    assert len(kept) == 1 or sum(map(held_by, kept)) <= 10_000
    assert bool(kept) is bool(sizes)


@pytest.mark.usefixtures("low")
def test_the_only_event_is_replaced_by_a_large_one():
    sampler = made(1)
    kept = {
        chosen(sampler, [event_of(b"x" * 12_000, origin=event.origin) for event in split(4, first)])[0]
        for first in range(99)
    }
    assert kept == {0, 1, 2, 3}


@pytest.mark.usefixtures("low")
def test_small_events_of_a_split_with_large_ones_are_sampled_alike():
    sampler = made(1_000)
    found = Counter(
        position
        for first in range(0, 2_000, 10)
        for position in chosen(sampler, [event_of("", origin=Origin("t", 0, first + number)) for number in range(40)])
    )
    assert sum(found.values()) == 200 * 20
    assert {position for position, count in found.items() if 60 < count < 140} == set(range(40))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ("k",))]),
        ("{k: 0}", [("greater_than_equal", ("k",))]),
        ("{k: 100001}", [("less_than_equal", ("k",))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(ReservoirSampler, settings) == expected

"""Times of calls."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.call_times import SLOWEST, CallTimes


def of(*times: int) -> CallTimes:
    found = CallTimes()
    for ns in times:
        found.add(ns)
    return found


@given(st.lists(st.integers(0, 1 << 40)), st.lists(st.integers(0, 1 << 40)))
def test_times_of_tasks_add_up(first, second):
    both = of(*first)
    both.include(CallTimes(of(*second).buckets()))
    assert sorted(both.buckets()) == sorted(of(*first, *second).buckets())
    assert (both.calls, both.total_ns) == (len(first) + len(second), sum(first) + sum(second))
    both.clear()
    assert (both.calls, both.total_ns, both.usual_ns) == (0, 0, 0.0)


def test_one_of_fifty_calls_may_be_slow_and_does_not_count():
    assert SLOWEST == 50
    assert of(*[5_000] * 49, 80_000_000).usual_ns == 50 * 5_000
    assert of(*[5_000] * 97, *[80_000_000] * 2).usual_ns == 99 * 5_000
    assert of(*[5_000] * 20, 80_000_000).usual_ns == 21 * 5_000


def test_kind_of_events_that_is_slow_and_not_rare_counts():
    found = of(*[5_000] * 90, *[1_000_000] * 10)
    assert found.usual_ns == found.total_ns


@given(st.lists(st.integers(1, 1 << 40), min_size=1))
def test_usual_time_is_at_most_the_time_of_all(times):
    found = of(*times)
    assert 0 < found.usual_ns <= found.total_ns * (1 + 1e-9)
    assert found.usual_ns >= (sum(sorted(times)[: -(-len(times) // SLOWEST)]) if len(times) > 1 else times[0])

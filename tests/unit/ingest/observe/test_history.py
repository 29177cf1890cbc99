"""The last hour of a pipeline in steps of half a minute."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ingest.observe.history import STEP_S, STEPS, History

NOW = 1_000_000.0 * STEP_S


def shown(history: History, now_s: float, name: str) -> list[float | None]:
    return history.to_json(now_s)[name]


def test_batches_of_a_step_are_a_rate_and_the_longest_of_them():
    history = History(NOW)
    history.batch(NOW + 2, 300, 2.0)
    history.batch(NOW + 29, 150, 1.0)
    history.batch(NOW + 61, 60, 0.5)
    assert shown(history, NOW + 61, "read_per_s")[-4:] == [None, 15.0, 0.0, None]
    assert shown(history, NOW + 80, "read_per_s")[-4:] == [None, 15.0, 0.0, 3.0]
    assert shown(history, NOW + 90, "read_per_s")[-4:] == [15.0, 0.0, 2.0, None]
    assert shown(history, NOW + 61, "batch_s")[-4:] == [None, 2.0, None, 0.5]


def test_records_of_a_long_batch_are_spread_over_its_time():
    history = History(NOW)
    history.batch(NOW + 620, 600_000, 600.0)
    assert shown(history, NOW + 620, "read_per_s")[-22:] == [None, 333.33, *[1_000.0] * 20]
    history = History(NOW)
    history.batch(NOW + 15, 3_000, 600.0)  # it began before, as after a reload
    assert shown(history, NOW + 30, "read_per_s")[-3:] == [None, 100.0, None]


def test_lag_stays_until_it_is_measured_again_or_unknown():
    history = History(NOW)
    history.lag(NOW, 7)
    history.lag(NOW + 1, 9)
    history.batch(NOW + 90, 1, 1.0)
    history.lag(NOW + 120, None)
    assert shown(history, NOW + 180, "lag")[-8:] == [None, 9, 9, 9, 9, None, None, None]
    history.lag(NOW + 180, 5)
    assert shown(history, NOW + 180 + 2 * STEPS * STEP_S, "lag") == [5] * STEPS


@given(
    st.lists(st.tuples(st.integers(0, 3 * STEP_S * STEPS), st.integers(0, 1_000), st.floats(0.0, 900.0)), max_size=99)
)
def test_an_hour_has_the_records_that_were_read_in_it_and_no_more(batches):
    history = History(NOW)
    end = max((at // STEP_S for at, _, _ in batches), default=0) + 1  # a step that has just begun
    begin_s = max(0, end - STEPS + 1) * STEP_S
    expected = 0.0
    for at, read, seconds in sorted(batches):
        history.batch(NOW + at, read, seconds)
        start = max(at - seconds, 0, (at // STEP_S - STEPS + 1) * STEP_S)
        whole = at - start
        expected += read * (at >= begin_s) if not whole else read * max(0.0, at - max(start, begin_s)) / whole
    rates = shown(history, NOW + end * STEP_S, "read_per_s")
    assert (len(rates), rates[-1]) == (STEPS, None)
    assert math.isclose(STEP_S * sum(rate or 0.0 for rate in rates), expected, abs_tol=STEP_S * STEPS * 0.005 + 1e-6)

"""The last hour of a pipeline in steps of half a minute."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.observe.history import STEP_S, STEPS, History

NOW = 1_000_000.0 * STEP_S


def shown(history: History, now_s: float, name: str) -> list[float | None]:
    return history.to_json(now_s)[name]


def test_batches_of_a_step_are_a_rate_and_the_longest_of_them():
    history = History(NOW)
    history.batch(NOW, 300, 2.0)
    history.batch(NOW + 29, 150, 1.0)
    history.batch(NOW + 60, 60, 0.5)
    assert shown(history, NOW + 60, "read_per_s")[-4:] == [None, 15.0, 0.0, None]
    assert shown(history, NOW + 80, "read_per_s")[-4:] == [None, 15.0, 0.0, 3.0]
    assert shown(history, NOW + 90, "read_per_s")[-4:] == [15.0, 0.0, 2.0, None]
    assert shown(history, NOW + 60, "batch_s")[-4:] == [None, 2.0, None, 0.5]


def test_lag_stays_until_it_is_measured_again_or_unknown():
    history = History(NOW)
    history.lag(NOW, 7)
    history.lag(NOW + 1, 9)
    history.batch(NOW + 90, 1, 1.0)
    history.lag(NOW + 120, None)
    assert shown(history, NOW + 180, "lag")[-8:] == [None, 9, 9, 9, 9, None, None, None]
    history.lag(NOW + 180, 5)
    assert shown(history, NOW + 180 + 2 * STEPS * STEP_S, "lag") == [5] * STEPS


@given(st.lists(st.tuples(st.integers(0, 3 * STEP_S * STEPS), st.integers(0, 1_000)), max_size=300))
def test_an_hour_has_its_records_and_no_more(batches):
    history = History(NOW)
    for at, read in sorted(batches):
        history.batch(NOW + at, read, 1.0)
    end = max((at // STEP_S for at, _ in batches), default=0) + 1  # a step that has just begun
    rates = shown(history, NOW + end * STEP_S, "read_per_s")
    steps = dict.fromkeys(range(max(0, end - STEPS + 1), end), 0)
    for at, read in batches:
        if at // STEP_S in steps:
            steps[at // STEP_S] += read
    assert (len(rates), rates[-1]) == (STEPS, None)
    assert [rate for rate in rates if rate is not None] == [round(read / STEP_S, 2) for read in steps.values()]

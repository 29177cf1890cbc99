"""Back-pressure on a clock of the test."""

import pytest

from ingest.pipeline.back_pressure import MAX_DELAY_S, MIN_RATIO, BackPressure


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pressure(clock: Clock) -> BackPressure:
    return BackPressure(clock)


def test_without_busy_answers_nothing_waits(pressure: BackPressure) -> None:
    pressure.attempted(0, 5.0)
    assert (pressure.ratio(), pressure.delay_s()) == (1.0, 0.0)


def test_each_busy_attempt_halves_the_ratio_down_to_a_minimum(pressure: BackPressure) -> None:
    found = []
    for _ in range(6):
        pressure.attempted(3, 2.0)
        found.append((pressure.ratio(), pressure.delay_s()))
    assert found == [(0.5, 2.0), (0.25, 6.0), (0.125, 14.0), (MIN_RATIO, 30.0), (MIN_RATIO, 30.0), (MIN_RATIO, 30.0)]


def test_tasks_run_for_the_fraction_of_the_time(clock: Clock, pressure: BackPressure) -> None:
    pressure.attempted(1, 4.0)
    assert pressure.delay_s() == 4.0
    clock.now += 3.0
    assert pressure.delay_s() == 1.0
    clock.now += 2.0
    assert pressure.delay_s() == 0.0


def test_pause_after_a_slow_batch_is_limited(pressure: BackPressure) -> None:
    pressure.attempted(1, 500.0)
    assert pressure.delay_s() == MAX_DELAY_S


def test_ratio_recovers_steadily_also_without_batches(clock: Clock, pressure: BackPressure) -> None:
    pressure.attempted(1, 1.0)
    clock.now += 10.0
    assert pressure.ratio() == pytest.approx(0.6)
    pressure.attempted(0, 3.0)
    assert pressure.delay_s() == pytest.approx(2.0)
    clock.now += 20.0
    pressure.attempted(1, 1.0)
    assert pressure.ratio() == pytest.approx(0.4)
    clock.now += 60.0
    assert pressure.ratio() == pytest.approx(1.0)
    pressure.attempted(0, 1.0)
    assert pressure.delay_s() == pytest.approx(0.0)
    clock.now += 1_000.0
    assert pressure.ratio() == 1.0

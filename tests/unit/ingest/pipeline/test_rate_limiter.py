"""The maximum rate of a pipeline on a clock of the test."""

import pytest

from ingest.pipeline.rate_limiter import RateLimiter, records_per_batch


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def test_without_a_rate_nothing_waits() -> None:
    limiter = RateLimiter(None)
    limiter.start()
    limiter.finish(1_000_000)
    assert limiter.delay_s() == 0.0


def test_next_batch_waits_for_the_records_of_the_last_one() -> None:
    clock = Clock()
    limiter = RateLimiter(100.0, clock)
    assert limiter.delay_s() == 0.0
    limiter.start()
    clock.now += 0.5
    limiter.finish(200)
    assert limiter.delay_s() == 1.5  # two seconds from the start of the batch
    clock.now += 1.0
    assert limiter.delay_s() == 0.5
    clock.now += 7.0
    assert limiter.delay_s() == 0.0


def test_average_stays_below_the_maximum_whatever_the_batches() -> None:
    """Also with batches larger than planned, with slow ones, and after idle time, which earns no credit."""
    batches = ((200, 0.1, 0.0), (1_000, 0.1, 0.0), (200, 30.0, 0.0), (0, 0.1, 60.0), (200, 0.1, 0.0))
    clock = Clock()
    limiter = RateLimiter(100.0, clock)
    began, records = clock.now, 0
    for size, seconds, idle_s in batches:
        clock.now += limiter.delay_s()
        limiter.start()
        clock.now += seconds
        limiter.finish(size)
        records += size
        assert records - size <= 100.0 * (clock.now - began)
        clock.now += idle_s
    clock.now += 60.0
    limiter.start()
    limiter.finish(200)
    assert limiter.delay_s() == 2.0


def test_failed_batch_does_not_count() -> None:
    """It runs again with the same records."""
    clock = Clock()
    limiter = RateLimiter(100.0, clock)
    limiter.start()
    clock.now += 0.1
    assert limiter.delay_s() == 0.0


@pytest.mark.parametrize(
    ("max_rate", "every_s", "expected"),
    [
        (None, 0.0, None),
        (None, 60.0, None),
        (1, 0.0, 2),
        (5_000, 0.0, 10_000),
        (5_000, 1.0, 10_000),
        (100, 60.0, 6_000),
    ],
)
def test_batch_holds_the_records_of_two_seconds_or_of_an_interval(
    max_rate: int | None, every_s: float, expected: int | None
) -> None:
    assert records_per_batch(max_rate, every_s) == expected

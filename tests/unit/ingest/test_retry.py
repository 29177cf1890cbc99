"""A call that is repeated: pauses, attempts and time."""

import pytest

from ingest.api import ConfigError, StoreUnavailableError
from ingest.retry import Retry, doubling
from tests.support.clock import Clock


class Failing:
    """A call that fails a number of times and takes a second each; the clock advances in the pauses, too."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or StoreUnavailableError("away")
        self.clock = Clock(0.0)
        self.calls: list[float] = []
        self.paused: list[float] = []

    def __call__(self) -> int:
        self.calls.append(self.clock.now)
        self.clock.now += 1
        if len(self.calls) <= self.failures:
            raise self.error
        return len(self.calls)

    def sleep(self, seconds: float) -> None:
        self.paused.append(seconds)
        self.clock.now += seconds


def test_pauses_double_up_to_the_longest() -> None:
    assert doubling(0.5, 4.0) == (0.5, 1.0, 2.0, 4.0)
    assert doubling(0.1, 0.3) == (0.1, 0.2, 0.3)
    assert doubling(5.0, 2.0) == (2.0,)


def test_result_of_the_first_call_that_succeeds() -> None:
    call = Failing(4)
    retry = Retry(pauses_s=(1.0, 3.0), sleep=call.sleep, clock=call.clock)
    assert retry.run(call) == 5
    assert call.paused == [1.0, 3.0, 3.0, 3.0]


def test_no_call_begins_after_the_time() -> None:
    call = Failing(9)
    retry = Retry(pauses_s=(2.0,), timeout_s=6.0, sleep=call.sleep, clock=call.clock)
    with pytest.raises(StoreUnavailableError):
        retry.run(call)
    assert call.calls == [0.0, 3.0, 6.0]


def test_number_of_calls_is_limited() -> None:
    call = Failing(9)
    with pytest.raises(StoreUnavailableError):
        Retry(pauses_s=(0.0,), attempts=3, sleep=call.sleep, clock=call.clock).run(call)
    assert len(call.calls) == 3


@pytest.mark.parametrize("error", [ConfigError("wrong"), KeyError("bug")])
def test_error_that_does_not_end_is_raised_at_once(error: Exception) -> None:
    call = Failing(1, error)
    with pytest.raises(type(error)):
        Retry(pauses_s=(1.0,), sleep=call.sleep, clock=call.clock).run(call)
    assert (len(call.calls), call.paused) == (1, [])


def test_other_errors_are_transient_if_the_policy_says_so() -> None:
    call = Failing(1, KeyError("early"))
    retry = Retry(pauses_s=(1.0,), is_transient=lambda error: isinstance(error, KeyError), sleep=call.sleep)
    assert retry.run(call) == 2


def test_pause_that_raises_ends_the_repetition() -> None:
    call = Failing(9)

    def stopped(error: Exception, seconds: float) -> None:
        raise ConfigError(f"stopped after {seconds}: {error}")

    with pytest.raises(ConfigError, match=r"stopped after 1\.0: away"):
        Retry(pauses_s=(1.0,)).run(call, pause=stopped)
    assert len(call.calls) == 1


@pytest.mark.parametrize("paused", [0, 1])
def test_caller_ends_the_repetition_before_or_after_a_pause(paused: int) -> None:
    call = Failing(9)
    retry = Retry(pauses_s=(1.0,), sleep=call.sleep)
    with pytest.raises(StoreUnavailableError):
        retry.run(call, should_continue=lambda: len(call.paused) < paused)
    assert (len(call.calls), call.paused) == (1, [1.0] * paused)


def test_each_pause_is_shortened_by_the_jitter() -> None:
    call = Failing(2)
    assert Retry(pauses_s=(4.0,), sleep=call.sleep, jitter=lambda: 0.25).run(call) == 3
    assert call.paused == [1.0, 1.0]

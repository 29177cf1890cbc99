"""How long a call is repeated."""

from ingest.api import BusyWait
from sinks.hbase.rpc.attempts import BUSY_TIMEOUT_S, RETRY_TIMEOUT_S, Attempts


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def attempts(clock: Clock, timeout_s: float) -> Attempts:
    return Attempts(timeout_s, clock=clock, sleep=clock.sleep)


def test_pauses_double_up_to_a_second_and_end_with_their_timeout() -> None:
    clock = Clock()
    made = attempts(clock, 180.0)
    assert made.deadline_s == 280.0
    while made.pause():
        pass
    assert clock.pauses[:6] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert RETRY_TIMEOUT_S - 1 < sum(clock.pauses) <= RETRY_TIMEOUT_S


def test_timeout_of_an_operation_may_be_shorter() -> None:
    clock = Clock()
    made = attempts(clock, 0.2)
    while made.pause():
        pass
    assert clock.pauses == [0.05, 0.1]
    assert made.is_in_time
    clock.now_s += 1
    assert not made.is_in_time


def test_wait_for_a_busy_server_is_as_long_as_it_says() -> None:
    clock = Clock()
    waits: list[BusyWait] = []
    made = Attempts(180.0, clock=clock, sleep=clock.sleep, on_busy=waits.append)
    assert made.wait_for_busy("RpcThrottlingException", 1.5)
    assert made.wait_for_busy("RpcThrottlingException", 0.0)
    assert made.wait_for_busy("RegionTooBusyException", None)
    assert made.wait_for_busy("RegionTooBusyException", None)
    assert clock.pauses == [1.5, 0.05, 0.5, 1.0]
    assert [wait.seconds for wait in waits] == clock.pauses
    assert {wait.reason for wait in waits} == {"RpcThrottlingException", "RegionTooBusyException"}


def test_wait_that_is_too_long_is_not_begun() -> None:
    clock = Clock()
    assert not attempts(clock, 180.0).wait_for_busy("RpcThrottlingException", 30.0)
    assert not attempts(clock, 0.2).wait_for_busy("RegionTooBusyException", None)
    assert clock.pauses == []


def test_waits_for_a_busy_server_end_before_its_caller_is_blocked() -> None:
    clock = Clock()
    made = attempts(clock, 180.0)
    while made.wait_for_busy("RegionTooBusyException", None):
        pass
    assert BUSY_TIMEOUT_S - 1 < sum(clock.pauses) <= BUSY_TIMEOUT_S < RETRY_TIMEOUT_S

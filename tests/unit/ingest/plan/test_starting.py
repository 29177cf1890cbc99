"""An action waits for servers that are starting."""

import pytest

from ingest.api import StoreUnavailableError
from ingest.plan.starting import when_started
from sinks.hbase.errors import Kind, error_of_kind, unavailable_because

STARTING = "PleaseHoldException: Master is initializing"


class Waits:
    """A clock that a sleep moves, and an action that fails some times."""

    def __init__(self, failures: int, reason: str = STARTING) -> None:
        self.now_s, self.failures, self.reason, self.told, self.calls = 0.0, failures, reason, [], 0

    def run(self, call_s: float = 0.0) -> str:
        def action() -> str:
            self.calls += 1
            self.now_s += call_s
            if self.calls <= self.failures:
                raise error_of_kind(Kind.UNAVAILABLE, "t", self.reason)
            return "done"

        def sleep(seconds: float) -> None:
            self.now_s += seconds

        return when_started(
            action, lambda error: self.told.append(error.message), clock=lambda: self.now_s, sleep=sleep
        )


def test_action_is_repeated_and_the_wait_is_told_once() -> None:
    waits = Waits(3)
    assert (waits.run(), waits.calls, waits.now_s) == ("done", 4, 3.0)
    assert waits.told == [f"not available: {STARTING}"]


def test_action_that_succeeds_is_not_repeated() -> None:
    waits = Waits(0)
    assert (waits.run(), waits.calls, waits.told) == ("done", 1, [])


@pytest.mark.parametrize(("call_s", "calls"), [(0.0, 61), (9.0, 7), (70.0, 1)])
def test_wait_ends_after_a_minute(call_s: float, calls: int) -> None:
    waits = Waits(100)
    with pytest.raises(StoreUnavailableError, match="Master is initializing"):
        waits.run(call_s)
    assert waits.calls == calls


def test_servers_that_are_away_are_not_waited_for() -> None:
    waits = Waits(1, "ConnectException: refused")
    with pytest.raises(StoreUnavailableError, match="refused"):
        waits.run()
    assert (waits.calls, waits.told) == (1, [])


@pytest.mark.parametrize("name", ["PleaseHoldException", "ServerNotRunningYetException", "MasterNotRunningException"])
def test_exceptions_of_a_start(name: str) -> None:
    reason = f"org.apache.hadoop.hbase.{name}: not yet"
    for kind in (Kind.MOVED, Kind.UNAVAILABLE):
        error = error_of_kind(kind, "t", reason)
        assert isinstance(error, StoreUnavailableError)
        assert error.is_starting
    assert unavailable_because("no server says", f"h:1: {name}; h:2: refused").is_starting
    assert not unavailable_because("no server says", "h:2: refused").is_starting

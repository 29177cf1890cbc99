"""Retries of calls to a store: bounded backoff with jitter, only after transient errors."""

import pytest

from ingest.api import SchemaError, StoreBusyError
from sinks.writing.retry import store_retry


class Failing:
    """Fails a number of times, then succeeds; records attempts and pauses."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.attempts = 0
        self.pauses: list[float] = []
        self.reported: list[tuple[Exception, float]] = []

    def call(self) -> None:
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)

    def pause(self, error: Exception, seconds: float) -> None:
        self.reported.append((error, seconds))
        self.pauses.append(seconds)

    def run(self, *, should_continue=lambda: True, **options) -> None:
        retry = store_retry(jitter=lambda: 0.5, **options)
        retry.run(self.call, should_continue=should_continue, pause=self.pause)


def test_successful_call_is_made_once():
    calls = Failing()
    calls.run()
    assert (calls.attempts, calls.pauses) == (1, [])


def test_pauses_double_up_to_the_maximum():
    calls = Failing(*[StoreBusyError("busy")] * 4)
    calls.run(attempts=5, first_s=1.0, max_s=3.0)
    assert (calls.attempts, calls.pauses) == (5, [0.5, 1.0, 1.5, 1.5])


def test_last_attempt_raises_its_error():
    calls = Failing(StoreBusyError("first"), StoreBusyError("second"), StoreBusyError("third"))
    with pytest.raises(StoreBusyError, match="second"):
        calls.run(attempts=2)
    assert calls.attempts == 2


def test_permanent_error_is_not_retried():
    calls = Failing(SchemaError("differs"))
    with pytest.raises(SchemaError):
        calls.run()
    assert (calls.attempts, calls.pauses) == (1, [])


def test_store_that_has_waited_is_not_retried_at_once():
    error = StoreBusyError("busy")
    error.has_waited = True
    calls = Failing(error)
    with pytest.raises(StoreBusyError):
        calls.run()
    assert (calls.attempts, calls.pauses) == (1, [])


def test_pauses_are_reported_with_their_error():
    error = StoreBusyError("busy")
    calls = Failing(error)
    calls.run(first_s=1.0)
    assert calls.reported == [(error, 0.5)]


def test_unexpected_exception_is_not_retried():
    calls = Failing(KeyError("bug"))
    with pytest.raises(KeyError):
        calls.run()
    assert calls.attempts == 1


def test_abandoned_before_the_pause():
    calls = Failing(StoreBusyError("busy"))
    with pytest.raises(StoreBusyError):
        calls.run(should_continue=lambda: False)
    assert (calls.attempts, calls.pauses) == (1, [])


def test_abandoned_during_the_pause():
    calls = Failing(StoreBusyError("busy"))
    with pytest.raises(StoreBusyError):
        calls.run(should_continue=lambda: not calls.pauses)
    assert (calls.attempts, len(calls.pauses)) == (1, 1)

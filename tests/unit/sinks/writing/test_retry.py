"""Back-off is bounded, jittered, and only for what may succeed later."""

import pytest

from ingest.api import SchemaError, StoreBusyError
from sinks.writing.retry import Retry


class Failing:
    """Fails a number of times, then succeeds; counts attempts and remembers pauses."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.attempts = 0
        self.pauses: list[float] = []

    def call(self) -> None:
        if self.errors:
            raise self.errors.pop(0)

    def tried(self) -> None:
        self.attempts += 1

    def run(self, *, go_on=lambda: True, **options) -> None:
        retry = Retry(sleep=self.pauses.append, jitter=lambda: 0.5, **options)
        retry.run(self.call, tried=self.tried, go_on=go_on)


def test_success_is_called_once():
    calls = Failing()
    calls.run()
    assert (calls.attempts, calls.pauses) == (1, [])


def test_pauses_double_up_to_the_longest():
    calls = Failing(*[StoreBusyError("busy")] * 4)
    calls.run(attempts=5, first_s=1.0, max_s=3.0)
    assert (calls.attempts, calls.pauses) == (5, [0.5, 1.0, 1.5, 1.5])


def test_spent_attempts_raise_the_last_error():
    calls = Failing(StoreBusyError("first"), StoreBusyError("second"), StoreBusyError("third"))
    with pytest.raises(StoreBusyError, match="second"):
        calls.run(attempts=2)
    assert calls.attempts == 2


def test_what_never_succeeds_is_not_tried_again():
    calls = Failing(SchemaError("differs"))
    with pytest.raises(SchemaError):
        calls.run()
    assert (calls.attempts, calls.pauses) == (1, [])


def test_bug_is_not_tried_again():
    calls = Failing(KeyError("bug"))
    with pytest.raises(KeyError):
        calls.run()
    assert calls.attempts == 1


def test_given_up_before_the_pause():
    calls = Failing(StoreBusyError("busy"))
    with pytest.raises(StoreBusyError):
        calls.run(go_on=lambda: False)
    assert (calls.attempts, calls.pauses) == (1, [])


def test_given_up_during_the_pause():
    calls = Failing(StoreBusyError("busy"))
    with pytest.raises(StoreBusyError):
        calls.run(go_on=lambda: not calls.pauses)
    assert (calls.attempts, len(calls.pauses)) == (1, 1)

"""Repeats a call after an error that may end: the one loop of all that retry with a pause."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from ingest.api import Disposition, IngestError

T = TypeVar("T")


def is_transient(error: Exception) -> bool:
    """Whether an error may end without an operator, as its disposition says."""
    return isinstance(error, IngestError) and error.disposition is Disposition.RETRY


def doubling(first_s: float, max_s: float) -> tuple[float, ...]:
    """Pauses that double, up to the longest one."""
    pauses = [min(first_s, max_s)]
    while pauses[-1] < max_s:
        pauses.append(min(2 * pauses[-1], max_s))
    return tuple(pauses)


@dataclass(slots=True)
class Attempt:
    """
    One attempt of `Retry.repeating`; the block of its `with` makes the call.

    Attributes:
        after: the error of the last attempt; None of the first one.
        waited_s: the pause between the two, in seconds.
        error: of this attempt; None while it has none.
    """

    after: Exception | None = None
    waited_s: float = 0.0
    error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """
    How a call is repeated; any number of threads may use it.

    Attributes:
        pauses_s: seconds before the second call, the third, and so on; the last one repeats.
        attempts: maximum number of calls; None without a limit.
        timeout_s: seconds from the first call in which a further one may begin; None without a limit.
        is_transient: whether the call is repeated after an error.
        sleep: waits for a number of seconds.
        jitter: returns the factor of a pause, so that those that failed together do not retry together.
        clock: monotonic seconds.
    """

    pauses_s: Sequence[float]
    attempts: int | None = None
    timeout_s: float | None = None
    is_transient: Callable[[Exception], bool] = is_transient
    sleep: Callable[[float], object] = time.sleep
    jitter: Callable[[], float] = lambda: 1.0
    clock: Callable[[], float] = time.monotonic

    def run(
        self,
        call: Callable[[], T],
        *,
        should_continue: Callable[[], bool] = lambda: True,
        pause: Callable[[Any, float], object] | None = None,
    ) -> T:
        """
        The result of a call, which is repeated until success, a permanent error or the last attempt.

        Args:
            call: the call; idempotent.
            should_continue: as `repeating`.
            pause: as `repeating`.

        Raises:
            Exception: as the call, at the last attempt.
        """
        result: list[T] = []
        for attempt in self.repeating(should_continue=should_continue, pause=pause):
            with attempt:
                result.append(call())
        return result[0]

    def repeating(
        self,
        *,
        should_continue: Callable[[], bool] = lambda: True,
        pause: Callable[[Any, float], object] | None = None,
    ) -> Iterator[Attempt]:
        """
        Attempts, each for one `with`, until one has no error; without a function around the call.

        Args:
            should_continue: called before and after each pause; False raises the last error.
            pause: waits in place of `sleep`, given the error too; raises to end the repetition.

        Raises:
            Exception: of the last attempt.

        Source: stamina's `retry_context`.
        """
        begun_s, failures = self.clock(), 0
        attempt = Attempt()
        while True:
            yield attempt
            error = attempt.error
            if error is None:
                return
            pause_s = self.pauses_s[min(failures, len(self.pauses_s) - 1)] * self.jitter()
            failures += 1
            is_last = failures == self.attempts or (
                self.timeout_s is not None and self.clock() + pause_s > begun_s + self.timeout_s
            )
            if not self.is_transient(error) or is_last or not should_continue():
                break
            if pause is None:
                self.sleep(pause_s)
            else:
                pause(error, pause_s)
            if not should_continue():
                break
            attempt = Attempt(error, pause_s)
        try:
            raise error
        finally:
            del error, attempt  # else the error's frames keep it alive

"""Retries of a call to a store, with bounded exponential backoff and jitter."""

import random
import time
from collections.abc import Callable

from ingest.api import Disposition, IngestError, StoreBusyError, StoreRefusedError


class Retry:
    """
    Repeats a call after a transient error, a few times.

    Full jitter: each pause is random between zero and a bound that doubles, so tasks that failed together do not retry
    together. The number of attempts is small, because a failed task is cheap: the batch runs again.

    Args:
        attempts: maximum number of calls.
        first_s: bound of the first pause; it doubles with each.
        max_s: longest pause.

    Source: M. Brooker, "Exponential backoff and jitter" (2015).
    """

    def __init__(
        self,
        *,
        attempts: int = 4,
        first_s: float = 0.1,
        max_s: float = 2.0,
        sleep: Callable[[float], object] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._attempts = attempts
        self._first_s = first_s
        self._max_s = max_s
        self._sleep = sleep
        self._jitter = jitter

    def run(
        self,
        call: Callable[[], None],
        *,
        on_attempt: Callable[[], None],
        should_continue: Callable[[], bool],
        on_pause: Callable[[IngestError, float], None] = lambda _error, _seconds: None,
    ) -> None:
        """
        Call until success, a permanent error, or the last attempt.

        Args:
            call: the call; idempotent.
            on_attempt: called before each attempt.
            should_continue: called before each further attempt; False raises the last error.
            on_pause: called before each pause, with the error and the length of the pause in seconds.
        """
        bound_s = self._first_s
        for remaining in range(self._attempts - 1, -1, -1):
            on_attempt()
            try:
                call()
            except IngestError as error:
                # a missing table or permission needs an operator; a short pause does not help
                is_transient = error.disposition is Disposition.RETRY and not isinstance(error, StoreRefusedError)
                if isinstance(error, StoreBusyError) and error.has_waited:
                    raise
                if not is_transient or not remaining or not should_continue():
                    raise
                pause_s = min(bound_s, self._max_s) * self._jitter()
                on_pause(error, pause_s)
                self._sleep(pause_s)
                bound_s *= 2
                if not should_continue():
                    raise
            else:
                return

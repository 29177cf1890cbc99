"""Bounded back-off with jitter around one call to a store."""

import random
import time
from collections.abc import Callable

from ingest.api import Disposition, IngestError, StoreRefusedError


class Retry:
    """
    Repeats a call that failed for now, a few times.

    Full jitter: each pause is anywhere between nothing and a bound that doubles, so tasks that failed together do not
    retry together. Bounded, because a failed task is cheap: the batch runs again with the same times.

    Args:
        attempts: calls in all.
        first_s: bound of the first pause; it doubles with each.
        max_s: no pause is longer.

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

    def run(self, call: Callable[[], None], *, tried: Callable[[], None], go_on: Callable[[], bool]) -> None:
        """
        Call until it succeeds, until it fails for good, or until the attempts are spent.

        Args:
            call: the call; idempotent.
            tried: called before each attempt.
            go_on: called before each further attempt; False raises the last error.
        """
        bound_s = self._first_s
        for left in range(self._attempts - 1, -1, -1):
            tried()
            try:
                call()
            except IngestError as error:
                # a missing table or permission needs an operator; a short pause does not help
                is_passing = error.disposition is Disposition.RETRY and not isinstance(error, StoreRefusedError)
                if not is_passing or not left or not go_on():
                    raise
                self._sleep(min(bound_s, self._max_s) * self._jitter())
                bound_s *= 2
                if not go_on():
                    raise
            else:
                return

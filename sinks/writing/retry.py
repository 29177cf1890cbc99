"""How a call to a store is repeated: a few times, with bounded exponential backoff and jitter."""

import random
import time
from collections.abc import Callable

from ingest.api import StoreBusyError, StoreRefusedError
from ingest.retry import Retry, doubling, is_transient


def store_retry(
    *,
    attempts: int = 4,
    first_s: float = 0.1,
    max_s: float = 2.0,
    sleep: Callable[[float], object] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> Retry:
    """
    Repeats a call to a store after a transient error.

    Full jitter: each pause is random between zero and a bound that doubles, so tasks that failed together do not retry
    together. The number of attempts is small, because a failed task is cheap: the batch runs again.

    Args:
        attempts: maximum number of calls.
        first_s: bound of the first pause; it doubles with each.
        max_s: longest pause.
        sleep: waits for a number of seconds.
        jitter: between 0 and 1.

    Source: M. Brooker, "Exponential backoff and jitter" (2015).
    """
    return Retry(
        pauses_s=doubling(first_s, max_s), attempts=attempts, is_transient=_may_end, sleep=sleep, jitter=jitter
    )


def _may_end(error: Exception) -> bool:
    # a missing table or permission needs an operator; a short pause does not help
    is_refused = isinstance(error, StoreRefusedError)
    return is_transient(error) and not is_refused and not (isinstance(error, StoreBusyError) and error.has_waited)

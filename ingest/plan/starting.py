"""Waits for the servers of a store that are starting, as HBase's master does after a restart."""

import time
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from ingest.api import StoreUnavailableError
from ingest.retry import Retry

T = TypeVar("T")

START_TIMEOUT_S = 60.0
"""HBase's master assigns the regions of a cluster within it, unless write-ahead logs are to be split."""
_PAUSE_S = 1.0


def when_started(
    action: Callable[[], T],
    on_wait: Callable[[StoreUnavailableError], None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """
    The result of an action, which is repeated for a minute while the servers of a store are starting.

    Args:
        action: may be repeated.
        on_wait: called before the first wait, with the reason.
        clock: in seconds.
        sleep: waits so many seconds.

    Raises:
        StoreUnavailableError: they have not started in time.
    """
    retry = Retry(
        pauses_s=(_PAUSE_S,),
        timeout_s=START_TIMEOUT_S,
        is_transient=lambda error: isinstance(error, StoreUnavailableError) and error.is_starting,
        clock=clock,
    )
    waits = count()

    def pause(error: StoreUnavailableError, seconds: float) -> None:
        if next(waits) == 0:
            on_wait(error)
        sleep(seconds)

    return retry.run(action, pause=pause)

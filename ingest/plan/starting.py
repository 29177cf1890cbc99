"""Waits for the servers of a store that are starting, as HBase's master does after a restart."""

import time
from collections.abc import Callable
from typing import TypeVar

from ingest.api import StoreUnavailableError

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
    end_s = clock() + START_TIMEOUT_S
    is_told = False
    while True:
        try:
            return action()
        except StoreUnavailableError as error:
            if not error.is_starting or clock() + _PAUSE_S > end_s:
                raise
            if not is_told:
                on_wait(error)
                is_told = True
        sleep(_PAUSE_S)

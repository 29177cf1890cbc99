"""The lock of a root: one process at a time makes a dump or removes some."""

import time
from collections.abc import Callable

from ingest.durable.lease import Grant, Lease, Timing, grant_in
from sinks.dumps.layout import LOCK
from sinks.files.register import RootRegister
from sinks.files.root import Root


def root_lock(
    root: Root,
    activity: str,
    *,
    wait: Callable[[float], object] = time.sleep,
    on_wait: Callable[[str], None] = lambda _message: None,
) -> Lease:
    """
    The lock of a root; check it before each change that readers see.

    Args:
        root: that is locked.
        activity: what this process does, for messages.
        wait: waits for a number of seconds; raises to end a wait for the lock.
        on_wait: as in `Lease`.
    """
    return Lease(
        RootRegister(root, LOCK),
        what=f'root "{root}"',
        hint="wait until it has ended",
        activity=activity,
        on_wait=on_wait,
        timing=Timing(wait=wait),
    )


def holder_of(root: Root) -> Grant | None:
    """Who has the lock of a root, or had it when it was killed."""
    return grant_in(RootRegister(root, LOCK))

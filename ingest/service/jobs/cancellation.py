"""Ends a long action from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ingest.api import ConflictError


class JobCancelledError(ConflictError):
    """The job that a command waits for was cancelled."""

    code = "job_cancelled"
    remedy = "Run the command again; a replay resumes."


class Cancellation:
    """
    The request to end one action, such as a replay.

    Thread-safe. The action looks at `is_requested` between its slices, waits with `wait`, and registers with
    `calls` what ends a slice that runs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested = threading.Event()
        self._actions: list[Callable[[], None]] = []

    def request(self) -> None:
        """Request the end; the second call does nothing."""
        with self._lock:
            if self._requested.is_set():
                return
            self._requested.set()
            actions = list(self._actions)
        for action in actions:
            action()

    @property
    def is_requested(self) -> bool:
        """Whether the end is requested."""
        return self._requested.is_set()

    def check(self, activity: str) -> None:
        """
        End the action if that is requested.

        Args:
            activity: for the message, as in "dump".

        Raises:
            ConflictError: it is.
        """
        if self.is_requested:
            raise JobCancelledError(f"the {activity} was cancelled")

    def wait(self, seconds: float) -> bool:
        """Wait until the end is requested, at most for this time; returns whether it is."""
        return self._requested.wait(seconds)

    def wait_or_end(self, activity: str, seconds: float) -> None:
        """Wait for this time, or end the action as `check`."""
        self.wait(seconds)
        self.check(activity)

    @contextmanager
    def calls(self, action: Callable[[], None]) -> Iterator[None]:
        """Call an action at the request if that comes before the block ends, or now if it has come already."""
        with self._lock:
            self._actions.append(action)
            is_late = self._requested.is_set()
        if is_late:
            action()
        try:
            yield
        finally:
            with self._lock:
                self._actions.remove(action)

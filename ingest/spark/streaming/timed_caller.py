"""Calls with a timeout, to a process that may never answer."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

TIMEOUT_S = 1.0  # the JVM answers in a millisecond, later during a garbage collection


class TimedCaller:
    """
    Makes calls in a thread of its own, and waits for each for a limited time.

    Used by one thread. While a call is pending after its timeout, no other is made: each returns its default.

    Args:
        timeout_s: maximum time to wait for a result.
        clock: monotonic seconds.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout_s = timeout_s
        self._clock = clock
        self._pending: _Call[Any] | None = None
        self._called_at = 0.0
        self._calls: queue.SimpleQueue[_Call[Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def __call__(self, function: Callable[[], T], default: T) -> T:
        """The function's result, or the default if there is none in time; raises what the function raises."""
        if self.pending_s:
            return default
        call = _Call(function)
        self._pending = call
        self._called_at = self._clock()
        self._calls.put(call)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="timed-caller", daemon=True)
            self._thread.start()
        if not call.done.wait(self._timeout_s):
            return default
        if call.error is not None:
            raise call.error
        return call.results[0]

    @property
    def pending_s(self) -> float:
        """Seconds since the start of a call that has not returned in time; 0 if there is none."""
        if self._pending is None or self._pending.done.is_set():
            return 0.0
        return self._clock() - self._called_at

    def _run(self) -> None:
        while True:
            self._calls.get().run()


class _Call(Generic[T]):
    """One call and, later, its result."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self.done = threading.Event()
        self.results: list[T] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.results.append(self._function())
        except Exception as error:  # noqa: BLE001 - raised again in the calling thread
            self.error = error
        finally:
            self.done.set()

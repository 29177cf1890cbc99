"""How long a pipeline has worked."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class BusyTime:
    """
    Adds the times of blocks, of which several may run at once.

    Thread-safe.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ended_s = 0.0
        self._starts: dict[object, float] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """A block whose time counts."""
        block = object()
        with self._lock:
            self._starts[block] = self._clock()
        try:
            yield
        finally:
            with self._lock:
                self._ended_s += self._clock() - self._starts.pop(block)

    def seconds(self) -> float:
        """The sum, with that of the blocks that run now until now."""
        with self._lock:
            now = self._clock()
            return self._ended_s + sum(now - start for start in self._starts.values())

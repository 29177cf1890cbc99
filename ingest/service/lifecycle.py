"""Signals of a service: SIGTERM or SIGINT stops it gracefully, a second one at once; SIGHUP reloads its file."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # the exit code shells give a process ended by SIGINT


class Stop:
    """
    A stop request, set by a signal or a caller.

    Attributes:
        requested: set to finish the running batches and stop.
        at_once: set to abandon them.
        exit_code: 0, or 130 after SIGINT.
        hang_ups: number of SIGHUP signals; a number, because a lock may be held by the thread that a signal interrupts.
    """

    def __init__(self) -> None:
        self.requested = threading.Event()
        self.at_once = threading.Event()
        self.exit_code = 0
        self.hang_ups = 0

    def request(self) -> None:
        """Request a graceful stop; a second call requests an immediate one."""
        (self.at_once if self.requested.is_set() else self.requested).set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle SIGTERM, SIGINT and SIGHUP until the block ends; only in the main thread."""

        def handle(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGINT:
                self.exit_code = INTERRUPTED
            self.request()

        def hang_up(_number: int, _frame: FrameType | None) -> None:
            self.hang_ups += 1

        handlers = {signal.SIGTERM: handle, signal.SIGINT: handle, signal.SIGHUP: hang_up}
        earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

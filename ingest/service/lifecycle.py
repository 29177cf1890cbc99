"""Signals of a service: SIGTERM or SIGINT stops it gracefully, a second one at once; SIGHUP reloads its file."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType

INTERRUPTED = 130  # the exit code shells give a process ended by SIGINT


class Receiver(Enum):
    """The process that received a signal."""

    DRIVER = "driver"
    JVM = "jvm"


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
        self._requests = dict.fromkeys(Receiver, 0)

    def request(self, receiver: Receiver = Receiver.DRIVER) -> None:
        """
        Request a graceful stop; a second call for the same receiver requests an immediate one.

        A signal to the whole process group reaches both receivers, and counts once.
        """
        self._requests[receiver] += 1
        (self.at_once if self._requests[receiver] > 1 else self.requested).set()

    def forwarded(self, number: int) -> None:
        """Handle a signal that the JVM of spark-submit received; called in any thread."""
        if number == signal.SIGHUP:
            signal.raise_signal(number)  # its handler runs in the main thread
        else:
            self._stop(number, Receiver.JVM)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Handle SIGTERM, SIGINT and SIGHUP until the block ends; only in the main thread."""

        def handle(number: int, _frame: FrameType | None) -> None:
            self._stop(number, Receiver.DRIVER)

        def hang_up(_number: int, _frame: FrameType | None) -> None:
            self.hang_ups += 1

        handlers = {signal.SIGTERM: handle, signal.SIGINT: handle, signal.SIGHUP: hang_up}
        earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

    def _stop(self, number: int, receiver: Receiver) -> None:
        if number == signal.SIGINT:
            self.exit_code = INTERRUPTED
        self.request(receiver)

"""Signals of a service: SIGTERM or SIGINT stops it gracefully, a second one at once; SIGHUP reloads its file."""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType

from ingest.observe.logs import logger

_log = logger(__name__)
INTERRUPTED = 130  # the exit code shells give a process ended by SIGINT


class Receiver(Enum):
    """The process that received a signal."""

    DRIVER = "driver"
    JVM = "jvm"


def hang_ups_are_ignored() -> bool:
    """Whether this process was started with SIGHUP ignored: whoever did, as `nohup` does, wants no effect of it."""
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


class HeldHangUps:
    """
    A handler that counts SIGHUP until a service handles it; unlike a blocked signal, child processes do not inherit it.

    Attributes:
        count: number of signals.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Count a signal."""
        self.count += 1


class Stop:
    """
    A stop request, set by a signal or a caller.

    A signal handler interrupts the main thread anywhere, also while that holds the lock of one of these events. So the
    handler only puts the signal into a queue, and a thread sets the events.

    Args:
        reloads: whether SIGHUP counts in `hang_ups`; if not, it requests a stop, as the end of a terminal sends it.

    Attributes:
        requested: set to finish the running batches and stop.
        at_once: set to abandon them.
        exit_code: 0, or 130 after SIGINT; final for a first signal once `requested` is set.
        hang_ups: number of SIGHUP signals since the start of the process.
    """

    def __init__(self, *, reloads: bool = True) -> None:
        self._reloads = reloads
        self.requested = threading.Event()
        self.at_once = threading.Event()
        self.exit_code = 0
        self.hang_ups = 0
        self._requests = dict.fromkeys(Receiver, 0)
        # its `put` is reentrant, unlike that of `queue.Queue`; None ends the thread
        self._received: queue.SimpleQueue[tuple[int, Receiver] | None] = queue.SimpleQueue()

    def request(self, receiver: Receiver = Receiver.DRIVER) -> None:
        """
        Request a graceful stop; a second call for the same receiver requests an immediate one.

        A signal to the whole process group reaches both receivers, and counts once. Not for signal handlers.
        """
        self._requests[receiver] += 1
        (self.at_once if self._requests[receiver] > 1 else self.requested).set()

    def forwarded(self, number: int) -> None:
        """Handle a signal that the JVM of spark-submit received; called in any thread, within `on_signals`."""
        self._received.put((number, Receiver.JVM))

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """
        Handle SIGTERM, SIGINT and SIGHUP until the block ends; only in the main thread.

        The attributes change shortly after a signal. At the end of the block all received signals have been handled.
        A SIGHUP that `attr2hbase run` has held since its start counts. If the process was started with SIGHUP ignored,
        as by `nohup`, it stays ignored.
        """

        def handle(number: int, _frame: FrameType | None) -> None:
            self._received.put((number, Receiver.DRIVER))

        handled = [signal.SIGTERM, signal.SIGINT]
        if not hang_ups_are_ignored():
            handled.append(signal.SIGHUP)
        elif self._reloads:
            _log.info("SIGHUP is ignored, as under nohup", hint="'attr2hbase reload' reloads the file")
        earlier = {number: signal.signal(number, handle) for number in handled}
        thread = threading.Thread(target=self._handle_received, name="signals", daemon=True)
        thread.start()
        held = earlier.get(signal.SIGHUP)
        if isinstance(held, HeldHangUps):
            for _ in range(held.count):
                self._received.put((signal.SIGHUP, Receiver.DRIVER))
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)
            self._received.put(None)
            thread.join()

    def _handle_received(self) -> None:
        while (received := self._received.get()) is not None:
            number, receiver = received
            if number == signal.SIGHUP and self._reloads:
                self.hang_ups += 1
                continue
            if number == signal.SIGINT:
                self.exit_code = INTERRUPTED
            if not self.requested.is_set():
                # now, since a batch or a start may take long
                _log.info("stop requested; a second signal stops at once", signal=signal.Signals(number).name)
            self.request(receiver)

"""Signals of a service: the first SIGTERM or SIGINT asks it to finish, the second to end at once; SIGHUP is logged."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ingest.observe.logs import logger

INTERRUPTED = 130  # the exit code shells give a process ended by SIGINT

_log = logger(__name__)


class Stop:
    """
    The wish to end, set by signals or by a caller and waited for by the service.

    Attributes:
        asked: finish the running batches and end.
        at_once: abandon them.
        exit_code: 0, or 130 after SIGINT.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.at_once = threading.Event()
        self.exit_code = 0

    def ask(self) -> None:
        """The first call asks for an end, the second for one at once."""
        (self.at_once if self.asked.is_set() else self.asked).set()

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Listen to SIGTERM, SIGINT and SIGHUP until the block ends; only in the main thread."""

        def handle(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGINT:
                self.exit_code = INTERRUPTED
            self.ask()

        with _logged_hangups() as hang_up:
            handlers = {signal.SIGTERM: handle, signal.SIGINT: handle, signal.SIGHUP: hang_up}
            earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
            try:
                yield
            finally:
                for number, handler in earlier.items():
                    signal.signal(number, handler)


@contextmanager
def _logged_hangups() -> Iterator[Callable[[int, FrameType | None], None]]:
    """A handler that logs each signal from a thread: the main thread may hold the locks of the log when it runs."""
    hang_ups: queue.SimpleQueue[bool] = queue.SimpleQueue()  # its `put` may interrupt itself

    def log() -> None:
        while hang_ups.get():
            _log.info("SIGHUP is ignored: reload is not available yet", hint="restart to apply a changed file")

    thread = threading.Thread(target=log, name="hang-ups", daemon=True)
    thread.start()
    try:
        yield lambda _number, _frame: hang_ups.put(True)
    finally:
        hang_ups.put(False)
        thread.join()

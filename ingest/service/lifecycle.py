"""How a service is told to end: the first signal asks it to finish, the second to let go at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # the exit code shells give a process ended by SIGINT


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
        """Listen to SIGTERM and SIGINT until the block ends; only in the main thread."""

        def handle(number: int, _frame: FrameType | None) -> None:
            if number == signal.SIGINT:
                self.exit_code = INTERRUPTED
            self.ask()

        earlier = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in earlier.items():
                signal.signal(number, handler)

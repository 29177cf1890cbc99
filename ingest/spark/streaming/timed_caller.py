"""Questions to a process that may never answer."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from py4j.protocol import Py4JError

T = TypeVar("T")

JVM_GONE = (Py4JError, OSError)  # what asking a JVM raises that has ended, or ends meanwhile
PATIENCE_S = 1.0  # an answer of the JVM takes a millisecond, and some more while it collects garbage


class TimedCaller:
    """
    Asks from a thread of its own, so that nobody waits for longer than a moment.

    Called by one thread. While a question is open no other one is asked: each gets what the caller takes for granted.

    Args:
        patience_s: how long an answer is waited for.
        clock: monotonic seconds.
    """

    def __init__(self, patience_s: float = PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._open: _Question[Any] | None = None
        self._asked_at = 0.0
        self._questions: queue.SimpleQueue[_Question[Any]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def __call__(self, question: Callable[[], T], otherwise: T) -> T:
        """The answer, or what is to be taken for it when there is none; what the question raises is raised here."""
        if self.silent_s:
            return otherwise
        asked = _Question(question)
        self._open = asked
        self._asked_at = self._clock()
        self._questions.put(asked)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="asking", daemon=True)
            self._thread.start()
        if not asked.answered.wait(self._patience_s):
            return otherwise
        if asked.error is not None:
            raise asked.error
        return asked.answers[0]

    @property
    def silent_s(self) -> float:
        """For how long a question has been open that was not answered in time; 0 when there is none."""
        if self._open is None or self._open.answered.is_set():
            return 0.0
        return self._clock() - self._asked_at

    def _run(self) -> None:
        while True:
            self._questions.get().ask()


class _Question(Generic[T]):
    """One question and, later, its answer."""

    def __init__(self, question: Callable[[], T]) -> None:
        self._question = question
        self.answered = threading.Event()
        self.answers: list[T] = []
        self.error: Exception | None = None

    def ask(self) -> None:
        try:
            self.answers.append(self._question())
        except Exception as error:  # noqa: BLE001 - raised again where it was asked
            self.error = error
        finally:
            self.answered.set()

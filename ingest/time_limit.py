"""
An end for a step that does not come to one by itself: a pattern that backtracks for ever, a loop that never ends.

A timer ticks in the main thread of the process that runs the chain, and costs the events nothing: the code they run
knows nothing of it. At each tick the handler looks which guarded call is on the stack; when it meets the very same one
too often in a row it raises there. Python's `re` asks for signals while it searches, so a search ends that way as well.

Ticks are counted, not seconds: a process that was stopped, starved or moved gets one tick for all it slept through.
"""

import signal
import threading
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, TracebackType
from typing import Self

from ingest.api import IngestError, MappingError

TICK_S = 0.5
TICKS = 6  # two and a half to three seconds, for what takes microseconds; a MiB of JSON takes 20 ms
LIMIT_S = TICK_S * TICKS
MAX_ENDED = 20  # of one task; past a minute of waiting the fault is a step's, and no longer an event's


class OutOfTimeError(BaseException):
    """
    A guarded call took too long; raised from within, wherever it was.

    No Exception: a step that catches those to try again would else keep it.
    """


class OutOfTimeTooOftenError(IngestError):
    """Event after event does not come out of a step; a human must mend it."""

    code = "timeouts"


def sink_timeout() -> MappingError:
    """What an event fails with that a sink's condition or mapping did not come to an end for."""
    return MappingError(f"the sink did not come to an end within {LIMIT_S:g} s", code="sink_timeout")


class TimeLimit:
    """
    Ends guarded calls that take too long while it is entered; in the main thread alone, elsewhere it does nothing.

    Args:
        guarded: functions and methods of Python, each call of which has to come back.

    Attributes:
        ended: calls that were ended since it was entered.
    """

    def __init__(
        self, guarded: Iterable[Callable[..., object]] = (), *, tick_s: float = TICK_S, ticks: int = TICKS
    ) -> None:
        codes = (getattr(function, "__code__", None) for function in guarded)
        self._codes = frozenset(code for code in codes if isinstance(code, CodeType))
        self._tick_s = tick_s
        self._ticks = ticks
        self._seen: FrameType | None = None
        self._count = 0
        self._earlier: signal._HANDLER = None
        self._is_ticking = False
        self.ended = 0

    def __enter__(self) -> Self:
        self.ended = 0
        self._forget()
        # where somebody else has the timer, it stays theirs
        is_free = threading.current_thread() is threading.main_thread() and not any(
            signal.getitimer(signal.ITIMER_REAL)
        )
        if self._codes and is_free:
            self._earlier = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, self._tick_s, self._tick_s)
            self._is_ticking = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_ticking:
            self._is_ticking = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._earlier)
        self._forget()

    def check(self, component: str) -> None:
        """
        See that not too many calls were ended since it was entered.

        Raises:
            OutOfTimeTooOftenError: they are too many; names the component that the last one was of.
        """
        if self.ended > MAX_ENDED:
            raise OutOfTimeTooOftenError(
                f"more than {MAX_ENDED} events of one partition and batch took longer than {LIMIT_S:g} s in a step, "
                f'the last one in "{component}"',
                hint="mend the step: 'ingest explain' runs it on single events",
            )

    def _tick(self, _number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back
        # one that did not let itself be ended is not counted anew, but ended again at each tick
        if frame is None or frame is not self._seen:
            self._seen = frame
            self._count = 0
            return
        self._count += 1
        if self._count >= self._ticks - 1:
            self.ended += 1
            raise OutOfTimeError

    def _forget(self) -> None:
        self._seen = None
        self._count = 0

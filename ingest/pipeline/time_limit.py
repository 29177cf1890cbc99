"""
The per-event timeout: interrupts a call that does not return, such as a pattern that backtracks or an endless loop.

A timer ticks in the main thread of the process that runs the chain. It adds no work to an event. At each tick the
signal handler looks for the outermost guarded call on the stack; if it finds the very same call too many times in a
row, it raises there. Python's `re` handles signals while it searches, so a search is interrupted as well.

It counts ticks, not seconds: a process that was stopped, starved or moved gets one tick for all the time it slept.

The write call of a sink may wait for a disk or a network, which is not the fault of the event that it writes. Such a
call may take the call timeout of the attempt for all that it does, and the event fails only for the CPU time of the
call.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Self

from ingest.api import IngestError, MappingError, StoreUnavailableError

TICK_S = 0.5
TICKS = 6  # two and a half to three seconds, for what takes microseconds; a MiB of JSON takes 20 ms
LIMIT_S = TICK_S * TICKS
MAX_ENDED = 20  # in one task: after a minute of timeouts the cause is the decorator, not the events


class SinkTimeoutError(MappingError):
    """A sink's condition or mapping exceeded its time limit for this event, most likely a pattern that backtracks."""

    code = "sink_timeout"
    remedy = "Simplify the pattern; then replay the dead letters."


class OutOfTimeError(BaseException):
    """
    A guarded call took too long; raised inside the call.

    Not an `Exception`, so that a decorator that catches those and retries does not catch it.
    """


class WaitedTooLongError(BaseException):
    """
    A write call of a sink did not return within the call timeout of the attempt; raised inside the call.

    Not an `Exception`, as `OutOfTimeError`.
    """


class OutOfTimeTooOftenError(IngestError):
    """More than 20 events of one task took longer than 3 s in a decorator."""

    code = "timeouts"
    remedy = "Simplify the slow decorator, then start again."


def sink_timeout() -> MappingError:
    """The error of an event for which a sink's condition or mapping did not return in time."""
    return SinkTimeoutError(f"the sink did not return within {LIMIT_S:g} s")


def sink_waited(name: str, error: WaitedTooLongError) -> StoreUnavailableError:
    """The error of a batch in which a sink has waited for too long."""
    return StoreUnavailableError(
        f'sink "{name}" waits for its destination: {error}',
        hint="check the destination; the batch runs again, with more time",
    )


class TimeLimit:
    """
    Interrupts guarded calls that take too long while it is entered. Outside the main thread it does nothing.

    Args:
        guarded: Python functions and methods whose calls must return in time. Their caller catches `OutOfTimeError`,
            so it must not be guarded itself: its handler would be interrupted as well.
        writes: the same for calls that may wait for the destination of a sink; each must return within the call
            timeout. Their caller catches `WaitedTooLongError` too.
        timed_writes: those of `writes` whose CPU time counts as one event's.
        cpu_s: CPU time of the thread, in seconds.

    Attributes:
        ended: number of calls interrupted since it was entered.
    """

    def __init__(
        self,
        guarded: Iterable[Callable[..., object]] = (),
        *,
        writes: Iterable[Callable[..., object]] = (),
        timed_writes: Iterable[Callable[..., object]] = (),
        tick_s: float = TICK_S,
        ticks: int = TICKS,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._codes = _codes_of(guarded)
        self._writes = _codes_of(writes)
        self._timed_writes = _codes_of(timed_writes)
        self._tick_s = tick_s
        self._ticks = ticks
        self._cpu_s = cpu_s
        self._call_timeout_s = LIMIT_S
        self._seen: FrameType | None = None
        self._count = 0
        self._written: FrameType | None = None
        self._write_count = 0
        self._write_cpu_s = 0.0
        self._earlier: signal._HANDLER = None
        self._is_ticking = False
        self.ended = 0

    def __enter__(self) -> Self:
        self.ended = 0
        self._forget()
        # never replace a timer that other code has set
        is_free = threading.current_thread() is threading.main_thread() and not any(
            signal.getitimer(signal.ITIMER_REAL)
        )
        if (self._codes or self._writes) and is_free:
            self._earlier = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, self._tick_s, self._tick_s)
            self._is_ticking = True
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._is_ticking:
            self._is_ticking = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._earlier)
        self._forget()

    def within(self, call_timeout_s: float) -> Self:
        """This limit, with the call timeout of an attempt; to be entered."""
        self._call_timeout_s = call_timeout_s
        return self

    def check(self, component: str) -> None:
        """
        Check that not too many calls were interrupted since it was entered.

        Raises:
            OutOfTimeTooOftenError: too many were; names the component of the last one.
        """
        if self.ended > MAX_ENDED:
            raise OutOfTimeTooOftenError(
                f"more than {MAX_ENDED} events of one task took longer than {LIMIT_S:g} s in a "
                f'decorator or sink, the last one in "{component}"',
                hint="correct it: 'attr2hbase explain' runs it on single events",
            )

    def _tick(self, _number: int, frame: FrameType | None) -> None:
        call = write = None
        while frame is not None:
            # the outermost: a guarded call may make many short guarded calls, such as of the method that it overrides
            if frame.f_code in self._codes:
                call = frame
            elif frame.f_code in self._writes:
                write = frame
            frame = frame.f_back
        if self._writes:
            self._tick_of_write(write)
        # the count is not reset after an interrupt, so a call that catches it is interrupted again at each tick
        if call is None or call is not self._seen:
            self._seen = call
            self._count = 0
            return
        self._count += 1
        if self._count >= self._ticks - 1:
            self.ended += 1
            raise OutOfTimeError

    def _tick_of_write(self, write: FrameType | None) -> None:
        if write is None or write is not self._written:
            self._written = write
            self._write_count = 0
            self._write_cpu_s = self._cpu_s()
            return
        self._write_count += 1
        ticks = self._ticks - 1
        is_timed = write.f_code in self._timed_writes
        if is_timed and self._cpu_s() - self._write_cpu_s >= ticks * self._tick_s:
            self.ended += 1
            raise OutOfTimeError
        if self._write_count * self._tick_s >= self._call_timeout_s:
            raise WaitedTooLongError(f"no answer within {self._call_timeout_s:g} s")

    def _forget(self) -> None:
        self._seen = self._written = None
        self._count = 0


def _codes_of(functions: Iterable[Callable[..., object]]) -> frozenset[CodeType]:
    codes = (getattr(function, "__code__", None) for function in functions)
    return frozenset(code for code in codes if isinstance(code, CodeType))

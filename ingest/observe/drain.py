"""A text stream whose writers never wait, for a service whose log nobody reads."""

import contextlib
import io
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TextIO

MAX_WAITING_BYTES = 1024 * 1024  # a few thousand lines; what a reader that is away for longer misses is counted
MAX_LINE_BYTES = 64 * 1024
_STDERR = 2  # whatever sys.stderr is by now, children inherit this
FINISH_S = 2.0  # what the last lines get when a process ends


class Drain(io.TextIOBase):
    """
    Takes text at once and writes it to a file descriptor from a thread of its own.

    Any thread may write. What does not fit any more is left out and counted, never kept and never waited for. The
    descriptor is written to directly: a thread that hangs there holds no lock that anybody else, or the end of the
    interpreter, would wait for. A forked child begins with an empty queue; what waited is the parent's to write.

    Args:
        descriptor: of a pipe, a terminal or a file; a copy of it is kept.
        is_terminal: what `isatty` answers.
        on_lost: told how many lines were left out, once the stream flows again; called by the thread.

    Attributes:
        lost: lines that were left out so far.
    """

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(
        self,
        descriptor: int,
        *,
        is_terminal: bool = False,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        on_lost: Callable[[int], None] = lambda _lines: None,
    ) -> None:
        super().__init__()
        self._descriptor = os.dup(descriptor)
        self._is_terminal = is_terminal
        self._max_waiting_bytes = max_waiting_bytes
        self._on_lost = on_lost
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    @classmethod
    def of(cls, stream: TextIO, on_lost: Callable[[int], None] = lambda _lines: None) -> Self | None:
        """A drain to where a stream leads, or None when that is no descriptor."""
        try:
            stream.flush()
            return cls(stream.fileno(), is_terminal=stream.isatty(), on_lost=on_lost)
        except (OSError, ValueError):
            return None

    def write(self, text: str) -> int:
        """Take text; returns at once."""
        self.take(text.encode(self.encoding, self.errors))
        return len(text)

    def take(self, data: bytes) -> None:
        """Take bytes; returns at once."""
        with self._changed:
            if self._waiting_bytes + len(data) > self._max_waiting_bytes:
                self._lose(data)
            elif data:
                self._waiting.append(data)
                self._waiting_bytes += len(data)
                self._wake()

    def finish(self, timeout_s: float = FINISH_S) -> bool:
        """Wait until all that was taken is written; False when that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting_bytes, timeout_s)

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor, for those who write past this stream."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether a person reads."""
        return self._is_terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self.lost = 0
        self._reported = 0
        self._thread: threading.Thread | None = None

    def _lose(self, data: bytes) -> None:
        self.lost += max(1, data.count(b"\n"))

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log-drain", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the machine has no thread left, or the interpreter ends
                self._thread = None
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                data = self._waiting[0]
            is_written = _written(self._descriptor, data)
            with self._changed:
                self._waiting.popleft()
                self._waiting_bytes -= len(data)
                if not is_written:
                    self._lose(data)
                lost = self.lost - self._reported if is_written and not self._waiting else 0
                self._reported += lost
                self._changed.notify_all()
            if lost:
                self._on_lost(lost)


@contextlib.contextmanager
def caught_stderr() -> Iterator[None]:
    """
    Processes that are started in this block write their stderr into this process's drain, if it has one.

    They inherit a pipe that is always read: what they say before they can be told anything, such as a Java process that
    warns of its own options, does not wait for a reader either.
    """
    drain = sys.stderr
    if not isinstance(drain, Drain):
        yield
        return
    reader, writer = os.pipe()
    own = os.dup(_STDERR)
    os.dup2(writer, _STDERR)
    os.close(writer)
    threading.Thread(target=_pass_on, args=(reader, drain), name="stderr-of-children", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(own, _STDERR)
        os.close(own)


def _pass_on(reader: int, drain: Drain) -> None:
    rest = b""
    while data := os.read(reader, 65_536):
        # whole lines, so that they do not mix with ours; but no line is waited for without end
        lines, newline, rest = (rest + data).rpartition(b"\n")
        drain.take(lines + newline)
        if len(rest) > MAX_LINE_BYTES:
            drain.take(rest)
            rest = b""
    drain.take(rest)
    os.close(reader)


def _written(descriptor: int, data: bytes) -> bool:
    """Write all of it, however long that takes; False when there is nobody who could read it."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody who has the same terminal or pipe made it so
            _wait_for_room(descriptor)
        except OSError:
            return False
    return True


def _wait_for_room(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
    time.sleep(0.01)  # a pipe may have room for less than one line, and says that it has room

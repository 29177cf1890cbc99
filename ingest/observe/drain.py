"""A text stream whose writers never block, for a service whose log is not read."""

import contextlib
import io
import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol, Self, TextIO

MAX_QUEUED_BYTES = 1024 * 1024  # a few thousand lines; more are dropped and counted
MAX_LINE_BYTES = 64 * 1024
_STDERR = 2  # child processes inherit this descriptor, whatever sys.stderr is
FINISH_S = 2.0  # time for the last lines when a process ends


class Drain(io.TextIOBase):
    """
    Queues text without blocking; a background thread writes it to a file descriptor.

    Any thread may write. Text that exceeds the queue is dropped and counted. The thread writes to the descriptor
    directly, so while it hangs there it holds no lock that other threads or the interpreter's shutdown wait for. A
    forked child starts with an empty queue; the parent writes what was queued.

    Args:
        descriptor: of a pipe, a terminal or a file; it is duplicated.
        is_terminal: result of `isatty`.
        on_drop: called by the thread with the number of dropped lines, once writes succeed again.

    Attributes:
        dropped: lines dropped so far.
    """

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(
        self,
        descriptor: int,
        *,
        is_terminal: bool = False,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        on_drop: Callable[[int], None] = lambda _lines: None,
    ) -> None:
        super().__init__()
        self._descriptor = os.dup(descriptor)
        self._is_terminal = is_terminal
        self._max_queued_bytes = max_queued_bytes
        self._on_drop = on_drop
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    @classmethod
    def of(cls, stream: TextIO, on_drop: Callable[[int], None] = lambda _lines: None) -> Self | None:
        """A drain to the descriptor of a stream, or None if it has none."""
        try:
            stream.flush()
            return cls(stream.fileno(), is_terminal=stream.isatty(), on_drop=on_drop)
        except (OSError, ValueError):
            return None

    def write(self, text: str) -> int:
        """Queue text; never blocks."""
        self.put(text.encode(self.encoding, self.errors))
        return len(text)

    def put(self, data: bytes) -> None:
        """Queue bytes; never blocks."""
        with self._changed:
            if self._queued_bytes + len(data) > self._max_queued_bytes:
                self._drop(data)
            elif data:
                self._queue.append(data)
                self._queued_bytes += len(data)
                self._wake()

    def finish(self, timeout_s: float = FINISH_S) -> bool:
        """Wait until the queue is written; False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queued_bytes, timeout_s)

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor, for writes that bypass this stream."""
        return self._descriptor

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._is_terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.finish()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self.dropped = 0
        self._reported = 0
        self._thread: threading.Thread | None = None

    def _drop(self, data: bytes) -> None:
        self.dropped += max(1, data.count(b"\n"))

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="log-drain", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # no threads left on the machine, or the interpreter shuts down
                self._thread = None
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue)
                data = self._queue[0]
            is_written = _write_all(self._descriptor, data)
            with self._changed:
                self._queue.popleft()
                self._queued_bytes -= len(data)
                if not is_written:
                    self._drop(data)
                dropped = self.dropped - self._reported if is_written and not self._queue else 0
                self._reported += dropped
                self._changed.notify_all()
            if dropped:
                self._on_drop(dropped)


class LineFilter(Protocol):
    """Takes lines out of a stream, which it gets in pieces of whole lines."""

    def __call__(self, lines: bytes) -> bytes:
        """What is left of lines, and of some before them; others may wait for the next ones."""

    def rest(self) -> bytes:
        """What waits, at the end."""


@contextlib.contextmanager
def caught_stderr(without: LineFilter | None = None) -> Iterator[None]:
    """
    Send the stderr of processes started in this block to this process's drain, if it has one.

    They inherit a pipe that is always read, so their first output does not block either, such as a JVM's warnings about
    its own options.

    Args:
        without: what to leave out; None to leave out nothing.
    """
    drain = sys.stderr
    if not isinstance(drain, Drain):
        yield
        return
    reader, writer = os.pipe()
    own = os.dup(_STDERR)
    os.dup2(writer, _STDERR)
    os.close(writer)
    threading.Thread(target=_copy_lines, args=(reader, drain, without), name="stderr-of-children", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(own, _STDERR)
        os.close(own)


def _copy_lines(reader: int, drain: Drain, without: LineFilter | None) -> None:
    rest = b""
    while data := os.read(reader, 65_536):
        # whole lines, so that they do not mix with ours; a line over the limit is passed in parts
        lines, newline, rest = (rest + data).rpartition(b"\n")
        drain.put(lines + newline if without is None else without(lines + newline))
        if len(rest) > MAX_LINE_BYTES:
            drain.put(rest)
            rest = b""
    drain.put((b"" if without is None else without.rest()) + rest)
    os.close(reader)


def _write_all(descriptor: int, data: bytes) -> bool:
    """Write all of it, however long that takes; False if the reader is gone."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # another process with the same terminal or pipe set it to non-blocking
            _wait_until_writable(descriptor)
        except OSError:
            return False
    return True


def _wait_until_writable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
    time.sleep(0.01)  # a pipe also counts as writable when it has room for less than a line

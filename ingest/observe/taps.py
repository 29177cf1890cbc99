"""Taps of running pipelines: what their tasks report, until readers take it; bounded in number, bytes and time."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ingest.api import ConflictError, NotFoundError
from ingest.api.taps import Tap

MAX_TAPS = 8
"""Of a service."""
MAX_LINES = 1_000
MAX_BYTES = 4 << 20
"""Lines and bytes of a tap that wait for its reader; then the oldest are left out."""
UNREAD_S = 15.0
"""A tap ends if its reader does not ask for so long; a command asks several times a second."""


@dataclass(slots=True)
class _Reader:
    pipeline: str
    tap: Tap
    asked_at: float
    lines: deque[bytes] = field(default_factory=deque)
    size: int = 0
    left_out: int = 0


class Taps:
    """
    The taps of a service.

    Thread-safe.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._readers: dict[str, _Reader] = {}

    def open(
        self, pipeline: str, at: str = "", *, is_sink: bool = False, is_before: bool = False, where: str | None = None
    ) -> str:
        """
        Open a tap, from the next attempt at a micro-batch on; see `Tap`.

        Returns:
            The id of the tap.

        Raises:
            ConflictError: there are `MAX_TAPS` already.
        """
        tap = Tap(secrets.token_hex(8), at, is_sink, is_before, where)
        with self._lock:
            self._end_unread()
            if len(self._readers) >= MAX_TAPS:
                raise ConflictError(f"the service has {MAX_TAPS} taps already", hint="end one of their readers")
            self._readers[tap.id] = _Reader(pipeline, tap, self._clock())
        return tap.id

    def of(self, pipeline: str) -> tuple[Tap, ...]:
        """The taps of a pipeline now."""
        with self._lock:
            self._end_unread()
            return tuple(each.tap for each in self._readers.values() if each.pipeline == pipeline)

    def deliver(self, lines: Iterable[tuple[str, bytes]]) -> None:
        """Add what a task has reported: the id of a tap, and a line of JSON."""
        with self._lock:
            for tap, line in lines:
                reader = self._readers.get(tap)
                if reader is None:
                    continue
                reader.lines.append(line)
                reader.size += len(line)
                while len(reader.lines) > MAX_LINES or reader.size > MAX_BYTES:
                    reader.size -= len(reader.lines.popleft())
                    reader.left_out += 1

    def take(self, tap: str) -> tuple[list[bytes], int]:
        """
        The lines since the last call, and how many were left out.

        Raises:
            NotFoundError: there is no such tap; its reader has not asked for too long.
        """
        with self._lock:
            self._end_unread()
            reader = self._readers.get(tap)
            if reader is None:
                raise NotFoundError(f"the service has no tap {tap}", hint="open it again")
            found = list(reader.lines), reader.left_out
            reader.asked_at = self._clock()
            reader.lines.clear()
            reader.size = reader.left_out = 0
            return found

    def close(self, tap: str) -> None:
        """End a tap; one that has ended stays so."""
        with self._lock:
            self._readers.pop(tap, None)

    def _end_unread(self) -> None:
        now = self._clock()
        for tap in [each for each, reader in self._readers.items() if now - reader.asked_at > UNREAD_S]:
            del self._readers[tap]

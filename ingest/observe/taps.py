"""Taps of running pipelines: what their tasks report, until readers take it; bounded in number, bytes and time."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ingest.api import ConflictError, NotFoundError
from ingest.api.taps import Tap, TapCounts

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
    counts: TapCounts = field(default_factory=TapCounts)


class Taken(NamedTuple):
    """
    What a reader takes.

    Attributes:
        lines: since the last call.
        left_out: how many were not read in time.
        counts: of the condition, since the tap was opened; None for a tap without one.
    """

    lines: list[bytes]
    left_out: int
    counts: TapCounts | None


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

    def open(self, pipeline: str, tap: Tap) -> str:
        """
        Open a tap, from the next attempt at a micro-batch on.

        Args:
            pipeline: its name.
            tap: its id is replaced.

        Returns:
            The id of the tap.

        Raises:
            ConflictError: there are `MAX_TAPS` already.
        """
        tap = replace(tap, id=secrets.token_hex(8))
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

    def deliver(self, lines: Iterable[tuple[str, bytes]], counts: Iterable[tuple[str, TapCounts]] = ()) -> None:
        """Add what tasks have reported: the id of a tap, and a line of JSON or the counts of its condition."""
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
            for tap, counted in counts:
                if tap in self._readers:
                    self._readers[tap].counts.add(counted)

    def take(self, tap: str) -> Taken:
        """
        What was reported since the last call.

        Raises:
            NotFoundError: there is no such tap; its reader has not asked for too long.
        """
        with self._lock:
            self._end_unread()
            reader = self._readers.get(tap)
            if reader is None:
                raise NotFoundError(f"the service has no tap {tap}", hint="open it again")
            counts = None if reader.tap.where is None else TapCounts.unpacked(reader.counts.packed())
            found = Taken(list(reader.lines), reader.left_out, counts)
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

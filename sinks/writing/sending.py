"""Sends chunks, one in flight for each connection: the next is filled while the store handles the last."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ingest import failpoint
from ingest.api import StoreError, StoreUnavailableError
from ingest.retry import Retry
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.retry import store_retry
from sinks.writing.retrying_store import CallResult, InFlight, RetryingStore
from sinks.writing.target import Target

T = TypeVar("T")
NO_TABLES = CycleTables()


class Sender(ABC):
    """
    Sends chunks to one store.

    Called by one thread. Order: begin, then any number of submit and call, then wait; that is a flush cycle. After an
    error nothing more is sent, and every further call raises that error until the next begin.
    """

    @abstractmethod
    def begin(self, call_timeout_s: float, tables: CycleTables = NO_TABLES) -> None:
        """
        Start a flush cycle.

        Args:
            call_timeout_s: how long a chunk may be in flight before a call raises.
            tables: that the caller writes.

        Raises:
            StoreUnavailableError: a chunk of an earlier flush cycle is still in flight.
        """

    @abstractmethod
    def submit(self, chunk: Chunk) -> None:
        """
        Send a chunk; may return before the store answers.

        Raises:
            StoreError: a chunk of this flush cycle failed, or has been in flight for too long.
        """

    @abstractmethod
    def wait(self) -> None:
        """
        Return once all submitted chunks are durable.

        Raises:
            StoreError: as submit.
        """

    @abstractmethod
    def call(self, request: Callable[[Target], T]) -> T:
        """
        Call the store, after all submitted chunks.

        Raises:
            StoreError: as submit, or the error of this call.
        """

    @property
    def blocked(self) -> Chunk | None:
        """The chunk that failed or was in flight for too long in this flush cycle; None if there is none."""
        return None

    @abstractmethod
    def take_results(self) -> list[CallResult]:
        """The results of chunks since the last call of this method."""

    @abstractmethod
    def close(self) -> None:
        """Close the store; may be called twice."""


class DirectSender(Sender):
    """Sends on the caller's thread, for a store that never blocks (a file, memory)."""

    def __init__(
        self, store: Target, *, retry: Retry | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = RetryingStore(store, retry or store_retry(attempts=1), clock)
        self._error: BaseException | None = None

    def begin(self, call_timeout_s: float, tables: CycleTables = NO_TABLES) -> None:  # noqa: ARG002 - nothing is in flight
        """Start a flush cycle."""
        self._error = None
        self._store.begin(tables)

    def submit(self, chunk: Chunk) -> None:
        """Send a chunk; returns once it is durable."""
        self.wait()
        try:
            self._store.apply(chunk)
        except BaseException as error:
            self._error = error
            raise

    def wait(self) -> None:
        """Raise the error of the flush cycle, if any."""
        if self._error is not None:
            raise self._error

    def call(self, request: Callable[[Target], T]) -> T:
        """Call the store."""
        self.wait()
        return self._store.call(request)

    def take_results(self) -> list[CallResult]:
        """The results of chunks since the last call of this method."""
        return self._store.take_results()

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class ThreadSender(Sender):
    """
    Sends on its own thread, the only one that uses the store; one call is in flight at a time.

    The caller never waits longer than its call timeout. A timed-out call is not cancelled and stays in flight; the next
    flush cycle first waits for it, so that calls do not pile up. A flush cycle in another process cannot wait for it;
    see ADR 0016.

    Args:
        store: not open yet.
        clock: monotonic seconds.
    """

    def __init__(
        self, store: Target, *, retry: Retry | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._in_flight = InFlight()
        self._store = RetryingStore(store, retry or store_retry(), clock, self._in_flight)
        self._clock = clock
        self._call_timeout_s = 10.0
        self._changed = threading.Condition()
        self._job: Callable[[], object] | None = None
        self._chunk: Chunk | None = None
        self._error: BaseException | None = None
        self._before_each = failpoint.sends()
        self._late_error: BaseException | None = None
        self._closing = False
        self._thread: threading.Thread | None = None

    def begin(self, call_timeout_s: float, tables: CycleTables = NO_TABLES) -> None:
        """Start a flush cycle, after the last call of an earlier one has ended."""
        with self._changed:
            self._call_timeout_s = call_timeout_s
            # stops the retries of an abandoned chunk
            self._in_flight.is_abandoned = True
            self._await_idle(since_s=self._clock())
            self._in_flight.is_abandoned = False
            self._error = None
            self._chunk = None
            self._before_each = failpoint.sends()
            self._store.abandon()
            self._store.begin(tables)

    def submit(self, chunk: Chunk) -> None:
        """Send a chunk; waits while another one is in flight."""
        with self._changed:
            self.wait()
            self._before_each()
            self._chunk = chunk
            self._start(partial(self._store.apply, chunk))

    def wait(self) -> None:
        """Return once nothing is in flight."""
        with self._changed:
            if self._error is None:
                self._await_idle()
            if self._error is not None:
                raise self._error

    def call(self, request: Callable[[Target], T]) -> T:
        """Call the store, on its thread."""
        answers: list[T] = []
        with self._changed:
            self.wait()
            self._chunk = None
            self._start(lambda: answers.append(self._store.call(request)))
            self.wait()
        return answers[0]

    @property
    def blocked(self) -> Chunk | None:
        """The chunk that failed or was in flight for too long."""
        return None if self._error is None else self._chunk

    def take_results(self) -> list[CallResult]:
        """The results of chunks since the last call of this method."""
        with self._changed:
            return self._store.take_results()

    def close(self) -> None:
        """Make the thread close the store and end, without waiting for a call that hangs."""
        with self._changed:
            self._in_flight.is_abandoned = self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None:
            self._store.close()
        else:
            thread.join(min(self._call_timeout_s, 1.0))

    def _start(self, job: Callable[[], object]) -> None:
        if self._thread is None:
            # daemon: a call that never returns must not keep the process alive
            self._thread = threading.Thread(target=self._work, name="sender", daemon=True)
            self._thread.start()
        self._job = job
        self._in_flight.since_s = self._clock()
        self._changed.notify_all()

    def _await_idle(self, since_s: float | None = None) -> None:
        while self._in_flight.since_s is not None:
            if self._closing:
                raise StoreUnavailableError("the connection was closed while a call was in flight")
            since = self._in_flight.since_s if since_s is None else since_s
            remaining = self._call_timeout_s - (self._clock() - since)
            if remaining <= 0:
                error = self._timed_out(self._clock() - self._in_flight.since_s)
                self._error = error
                self._in_flight.is_abandoned = True
                raise error
            self._changed.wait(remaining)

    def _timed_out(self, seconds: float) -> StoreUnavailableError:
        """
        The error of a call that takes too long.

        It has the probable reason: the error after which the call is repeated, or how the previous call ended after its
        time-out.
        """
        what = "a call" if self._chunk is None else f'a chunk of table "{self._chunk.table}"'
        text = f"{what} has been in flight for {seconds:.1f} s"
        after, late = self._in_flight.after, self._late_error
        if isinstance(after, StoreError):
            return StoreUnavailableError(
                f"{text}; it is repeated after: {after.message}", code=after.code, hint=after.hint
            )
        if isinstance(late, StoreError):
            text = f"{text}; the previous call ended with: {late.message}"
            return StoreUnavailableError(text, code=late.code, hint=late.hint)
        return StoreUnavailableError(text)

    def _work(self) -> None:
        while True:
            with self._changed:
                while self._job is None and not self._closing:
                    self._changed.wait()
                job = self._job
                self._job = None
            if job is None:
                self._store.close()
                return
            error: BaseException | None = None
            try:
                job()
            except BaseException as raised:  # noqa: BLE001 - it surfaces in the caller's thread
                error = raised
            with self._changed:
                self._in_flight.since_s = None
                self._late_error = error if self._in_flight.is_abandoned else None
                if not self._in_flight.is_abandoned:
                    self._error = error
                self._changed.notify_all()

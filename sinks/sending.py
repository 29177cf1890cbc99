"""Chunks on their way: one in flight for each connection, so the next is made while the store works."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from ingest import failpoint
from ingest.api import IngestError, Mutation, Put, StoreError, StoreUnavailableError
from sinks.bisection import Refusal, apply_all_but_refused
from sinks.buffer import Chunk, size_of
from sinks.retry import Retry

T = TypeVar("T")


class Target(Protocol):
    """What chunks are applied to: a store, or the file that leads to one."""

    def open(self) -> None:
        """As `Store.open`."""

    def close(self) -> None:
        """As `Store.close`."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Store.apply`."""

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Store.families`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """
    What became of one chunk.

    Attributes:
        cells: without the refused ones, as size_bytes.
        rows_sent: rows of all its calls: each attempt, and each part of a refused one.
        retries: calls repeated because the store was not there or busy.
        stored: the store has it, but for what it refused; False when it was given up.
        refused: the rows that it can never write.
    """

    table: str
    rows_sent: int
    cells: int
    size_bytes: int
    retries: int
    seconds: float
    stored: bool
    refused: Sequence[Refusal] = ()


class Sender(ABC):
    """
    The way of chunks to one store.

    Called by one thread. Order: begin, then any number of submit and call, then wait; that is a round. After an error
    nothing of the round is sent any more; every further call raises that error until the next begin. `close` ends it.
    """

    @abstractmethod
    def begin(self, patience_s: float) -> None:
        """
        Start a round.

        Args:
            patience_s: how long a chunk may be in flight before the caller gets to know.

        Raises:
            StoreUnavailableError: a chunk of an earlier round is still in flight.
        """

    @abstractmethod
    def submit(self, chunk: Chunk) -> None:
        """
        Send a chunk; returns once it is on its way.

        Raises:
            StoreError: a chunk of this round failed, or has been in flight for too long.
        """

    @abstractmethod
    def wait(self) -> None:
        """
        Return once all that was submitted is durable.

        Raises:
            StoreError: as submit.
        """

    @abstractmethod
    def call(self, ask: Callable[[Target], T]) -> T:
        """
        Ask the store something, after all that was submitted.

        Raises:
            StoreError: as submit, or what the store answered.
        """

    @abstractmethod
    def taken(self) -> list[Sent]:
        """What became of chunks since the last time this was asked."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the store; fine to call twice."""


class _Line:
    """A store, opened when it is needed and again after it was not reached, and chunks applied to it with retries."""

    def __init__(self, store: Target, retry: Retry, clock: Callable[[], float]) -> None:
        self._store = store
        self._retry = retry
        self._clock = clock
        self._is_open = False
        self.sent: list[Sent] = []

    def apply(self, chunk: Chunk, go_on: Callable[[], bool], answered: Callable[[], None] = lambda: None) -> None:
        """
        Make a chunk durable, all but the rows that the store refuses.

        Args:
            chunk: what.
            go_on: asked before each further call; False gives up.
            answered: told after each call.
        """
        started = self._clock()
        calls = attempts = rows_sent = 0
        refused: Sequence[Refusal] = ()
        stored = False

        def send(mutations: Sequence[Mutation]) -> None:
            nonlocal calls

            def tried() -> None:
                nonlocal attempts, rows_sent
                attempts += 1
                rows_sent += len(mutations)

            if calls and not go_on():
                raise StoreUnavailableError(f'a refused chunk for table "{chunk.table}" was given up half way')
            calls += 1
            try:
                self._retry.run(
                    lambda: self.ask(lambda store: store.apply(chunk.table, mutations)), tried=tried, go_on=go_on
                )
            finally:
                answered()

        try:
            refused = apply_all_but_refused(chunk.mutations, send)
            stored = True
        finally:
            seconds = self._clock() - started
            left_out = [one.mutation for one in refused if isinstance(one.mutation, Put)]
            self.sent.append(
                Sent(
                    table=chunk.table,
                    rows_sent=rows_sent,
                    cells=chunk.cells - sum(len(put.columns) for put in left_out),
                    size_bytes=chunk.size_bytes - sum(map(size_of, left_out)),
                    retries=attempts - calls,
                    seconds=seconds,
                    stored=stored,
                    refused=refused,
                )
            )

    def ask(self, ask: Callable[[Target], T]) -> T:
        try:
            if not self._is_open:
                self._store.open()
                self._is_open = True
            return ask(self._store)
        except StoreUnavailableError:
            # what is broken is not trusted again: the next call opens anew
            self.close()
            raise
        except (IngestError, KeyboardInterrupt):
            raise
        except BaseException as bug:
            # no event's fault: it must not be told as if it were one of the sink's own
            self.close()
            raise StoreUnavailableError(
                f"the store failed in a way it did not foresee: {type(bug).__name__}: {bug}", code="store_bug"
            ) from bug

    def close(self) -> None:
        self._is_open = False
        self._store.close()

    def taken(self) -> list[Sent]:
        sent, self.sent = self.sent, []
        return sent

    def give_up(self) -> None:
        """What ended after its round counts as rows that were sent, and as nothing else."""
        self.sent = [replace(sent, stored=False, refused=()) for sent in self.sent]


class DirectSender(Sender):
    """Sends on the caller's own thread, for a store that keeps nobody waiting (a file, memory)."""

    def __init__(
        self, store: Target, *, retry: Retry | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line = _Line(store, retry or Retry(attempts=1), clock)
        self._error: BaseException | None = None

    def begin(self, patience_s: float) -> None:  # noqa: ARG002 - nothing is ever in flight here
        """Start a round."""
        self._error = None

    def submit(self, chunk: Chunk) -> None:
        """Send a chunk; returns once it is durable."""
        self.wait()
        try:
            self._line.apply(chunk, lambda: True)
        except BaseException as error:
            self._error = error
            raise

    def wait(self) -> None:
        """Raise what failed."""
        if self._error is not None:
            raise self._error

    def call(self, ask: Callable[[Target], T]) -> T:
        """Ask the store something."""
        self.wait()
        return self._line.ask(ask)

    def taken(self) -> list[Sent]:
        """What became of chunks since the last time this was asked."""
        return self._line.taken()

    def close(self) -> None:
        """Let go of the store."""
        self._line.close()


class ThreadSender(Sender):
    """
    Sends on a thread of its own, which alone touches the store; one job at a time is in flight.

    The caller never waits longer than its patience. What it gave up on stays in flight, for a call to a store can not
    be taken back: the next round starts by waiting for it, so that calls do not pile up. A round in another process
    does not know of it; see ADR 0016.

    Args:
        store: not open yet.
        clock: monotonic seconds.
    """

    def __init__(
        self, store: Target, *, retry: Retry | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._line = _Line(store, retry or Retry(), clock)
        self._clock = clock
        self._patience_s = 10.0
        self._changed = threading.Condition()
        self._job: Callable[[], object] | None = None
        self._in_flight_since: float | None = None
        self._error: BaseException | None = None
        self._before_each = failpoint.sends()
        self._abandoned = False
        self._late_error: BaseException | None = None
        self._closing = False
        self._thread: threading.Thread | None = None

    def begin(self, patience_s: float) -> None:
        """Start a round, once nothing of an earlier one is in flight."""
        with self._changed:
            self._patience_s = patience_s
            # the retries of what was given up end with the attempt that runs now
            self._abandoned = True
            self._await_idle(since_s=self._clock())
            self._abandoned = False
            self._error = None
            self._before_each = failpoint.sends()
            self._line.give_up()

    def submit(self, chunk: Chunk) -> None:
        """Send a chunk; waits while another one is in flight."""
        with self._changed:
            self.wait()
            self._before_each()
            self._start(lambda: self._line.apply(chunk, self._goes_on, self._answered))

    def wait(self) -> None:
        """Return once nothing is in flight."""
        with self._changed:
            if self._error is None:
                self._await_idle()
            if self._error is not None:
                raise self._error

    def call(self, ask: Callable[[Target], T]) -> T:
        """Ask the store something, on its own thread."""
        answers: list[T] = []
        with self._changed:
            self.wait()
            self._start(lambda: answers.append(self._line.ask(ask)))
            self.wait()
        return answers[0]

    def taken(self) -> list[Sent]:
        """What became of chunks since the last time this was asked."""
        with self._changed:
            return self._line.taken()

    def close(self) -> None:
        """Let the thread close the store and end; it is not waited for when a call does not come back."""
        with self._changed:
            self._abandoned = self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None:
            self._line.close()
        else:
            thread.join(min(self._patience_s, 1.0))

    def _goes_on(self) -> bool:
        return not self._abandoned

    def _answered(self) -> None:
        """A refused chunk takes many calls; what counts as in flight is the call that runs."""
        with self._changed:
            self._in_flight_since = self._clock()

    def _start(self, job: Callable[[], object]) -> None:
        if self._thread is None:
            # daemon: a call that never comes back must not keep the process alive
            self._thread = threading.Thread(target=self._work, name="sender", daemon=True)
            self._thread.start()
        self._job = job
        self._in_flight_since = self._clock()
        self._changed.notify_all()

    def _await_idle(self, since_s: float | None = None) -> None:
        while self._in_flight_since is not None:
            since = self._in_flight_since if since_s is None else since_s
            left = self._patience_s - (self._clock() - since)
            if left <= 0:
                error = self._out_of_patience(self._clock() - self._in_flight_since)
                self._error = error
                self._abandoned = True
                raise error
            self._changed.wait(left)

    def _out_of_patience(self, seconds: float) -> StoreUnavailableError:
        """Tells also how the call before ended, for which nobody waited any more: it is likely to have the reason."""
        text = f"a chunk has been in flight for {seconds:.1f} s"
        late = self._late_error
        if isinstance(late, StoreError):
            text = f"{text}; the call before ended with: {late.message}"
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
                self._line.close()
                return
            error: BaseException | None = None
            try:
                job()
            except BaseException as raised:  # noqa: BLE001 - it surfaces in the caller's thread
                error = raised
            with self._changed:
                self._in_flight_since = None
                self._late_error = error if self._abandoned else None
                if not self._abandoned:
                    self._error = error
                self._changed.notify_all()

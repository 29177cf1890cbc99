"""Chunks applied to a store with retries, and the result of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from ingest.api import IngestError, Mutation, Put, StoreUnavailableError
from sinks.writing.bisection import Refusal, apply_all_but_refused
from sinks.writing.buffer import Chunk, size_of
from sinks.writing.retry import Retry

T = TypeVar("T")


class Target(Protocol):
    """The target of chunks: a store, or a staged file for one."""

    def open(self) -> None:
        """As `Store.open`."""

    def close(self) -> None:
        """As `Store.close`."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Store.apply`."""

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Store.families`."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """
    The result of one chunk.

    Attributes:
        cells: without the refused ones, as size_bytes.
        rows_sent: rows of all its calls: each attempt, and each part of a refused one.
        retries: calls repeated because the store was unavailable or busy.
        stored: the store has it, except for refused rows; False if the chunk was abandoned.
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


class RetryingStore:
    """Applies chunks to a store with retries; opens it when first used and again after it was unavailable."""

    def __init__(self, store: Target, retry: Retry, clock: Callable[[], float]) -> None:
        self._store = store
        self._retry = retry
        self._clock = clock
        self._is_open = False
        self.sent: list[CallResult] = []

    def apply(self, chunk: Chunk, go_on: Callable[[], bool], answered: Callable[[], None] = lambda: None) -> None:
        """
        Make a chunk durable, all but the rows that the store refuses.

        Args:
            chunk: what.
            go_on: called before each further call; False abandons the chunk.
            answered: called after each call.
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
                raise StoreUnavailableError(f'a refused chunk for table "{chunk.table}" was abandoned half way')
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
                CallResult(
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
        """Call the store, after opening it if needed; an unexpected exception of it counts as unavailable."""
        try:
            if not self._is_open:
                self._store.open()
                self._is_open = True
            return ask(self._store)
        except StoreUnavailableError:
            # a broken connection is not reused: the next call opens another
            self.close()
            raise
        except (IngestError, KeyboardInterrupt):
            raise
        except BaseException as bug:
            # no event caused it: it must not count as an error of the sink
            self.close()
            raise StoreUnavailableError(
                f"the store raised an unexpected exception: {type(bug).__name__}: {bug}", code="store_bug"
            ) from bug

    def close(self) -> None:
        """Close the store; the next call opens it again."""
        self._is_open = False
        self._store.close()

    def take_results(self) -> list[CallResult]:
        """The results since the last time this was called."""
        sent, self.sent = self.sent, []
        return sent

    def give_up(self) -> None:
        """A chunk that ended after its flush cycle counts in rows_sent alone."""
        self.sent = [replace(sent, stored=False, refused=()) for sent in self.sent]

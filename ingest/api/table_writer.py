"""The contract of what writes a table in a task: a chain of writers, each of which calls the next one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ingest.api.cells import Mutation
from ingest.api.errors import MappingError
from ingest.api.sink import WriteCounts
from ingest.api.store import Store

T = TypeVar("T")

Reason = tuple[str, str]
"""Why the store refuses a row: the error's code, and the store's words."""
RejectedRows = dict[tuple[str, bytes], Reason]
"""(table, row key) -> why, of rows that the store can never write."""
FeatureMessages = Mapping[str, Mapping[str, bytes]]
"""Name of a table -> name of a feature -> what its half on the driver says to its writers."""


@dataclass(frozen=True, slots=True)
class FlushCycle:
    """
    One micro-batch of one task, as the writers of its tables know it.

    Attributes:
        batch_time_ms: of the micro-batch.
        counts: the writers add what they write.
        refused: rows that earlier attempts at this micro-batch found refused, as `FirstWriter.refused` returned them.
        features: of this attempt.
    """

    batch_time_ms: int
    counts: WriteCounts
    refused: RejectedRows = field(default_factory=dict)
    features: FeatureMessages = field(default_factory=dict)


class RowReader(ABC):
    """
    Reads from one store; called by one thread, within a flush cycle.

    Attributes:
        reads_own_writes: whether it reads the mutations that the task has sent before.
    """

    reads_own_writes: bool

    @abstractmethod
    def read(self, request: Callable[[Store[Any]], T]) -> T:
        """
        Call the open store.

        Raises:
            StoreError: as `request`; or the store cannot be opened.
        """

    @abstractmethod
    def close(self) -> None:
        """Close what the reader has opened; may be called twice."""


class TableWriter(ABC):
    """
    Writes mutations in a task: gives them, perhaps others, to the next writer, or sends them if it is the last one.

    Called by one thread. Order: `begin`; for each split `split_start` (if splits have ranks), any number of `check` and
    `add`, and `split_end`; then `flush`; that is a flush cycle. It may be abandoned at any point, and `begin` discards
    it. When `flush` has returned, all mutations are durable but refused ones. A flush cycle that runs again gives
    the next writer the same mutations.
    """

    @abstractmethod
    def begin(self, cycle: FlushCycle) -> None:
        """
        Start a flush cycle.

        Raises:
            StoreUnavailableError: a call of an earlier flush cycle is still in flight.
        """

    @abstractmethod
    def split_start(self, rank: int) -> None:
        """Start a split with this rank in the micro-batch."""

    @abstractmethod
    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Check that mutations of one event can be added one after the other; nothing is written.

        Raises:
            MappingError: as `add`.
        """

    @abstractmethod
    def add(self, table: str, mutation: Mutation) -> None:
        """
        Add a mutation, whose families exist.

        Raises:
            MappingError: it can never be written; nothing is written of it.
            StoreError: the store failed to write an earlier mutation; the flush cycle is over.
        """

    @abstractmethod
    def split_end(self) -> None:
        """
        End a split.

        Raises:
            StoreError: as `add`.
        """

    @abstractmethod
    def send(self) -> None:
        """
        Send what was added to the last writer, without waiting for the answers.

        Raises:
            StoreError: as `add`.
        """

    @abstractmethod
    def flush(self) -> None:
        """
        Send what was added, and return when it is durable or refused.

        Raises:
            StoreError: the store failed to write; the flush cycle is over.
        """

    @abstractmethod
    def take_refused(self, table: str) -> dict[bytes, Reason]:
        """The rows of a table, as they were added, that the store has refused since the last call of this method."""


class ChainedWriter(TableWriter):
    """
    A writer with a next one: passes on every call that it does not override.

    Args:
        next_writer: that this one calls.
    """

    def __init__(self, next_writer: TableWriter) -> None:
        self._next = next_writer

    def begin(self, cycle: FlushCycle) -> None:
        """Start a flush cycle."""
        self._next.begin(cycle)

    def split_start(self, rank: int) -> None:
        """Start a split."""
        self._next.split_start(rank)

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Check that mutations of one event can be added."""
        self._next.check(table, mutations)

    def split_end(self) -> None:
        """End a split."""
        self._next.split_end()

    def send(self) -> None:
        """Send what was added to the last writer."""
        self._next.send()

    def flush(self) -> None:
        """Send what was added, and return when it is durable or refused."""
        self._next.flush()

    def take_refused(self, table: str) -> dict[bytes, Reason]:
        """The rows that the store has refused, as the next writer knows them."""
        return self._next.take_refused(table)


class TtlRefusedError(MappingError):
    """The sink gives a time to live to cells of a table with `updates` or `feed`, which cannot have one."""

    code = "ttl_refused"
    remedy = "Leave `ttl` of the sink out, or write to a table without `updates` and `feed`."


class FirstWriter(ChainedWriter):
    """A writer that gets the mutations of events; it knows the rows that earlier attempts found refused."""

    @abstractmethod
    def is_refused(self, table: str, row: bytes) -> bool:
        """Whether an earlier attempt found a row, or its change in this split, refused."""

    def withdraw(self, row: bytes) -> None:
        """
        An event that changes a row fails, because another row of it was refused by an earlier attempt.

        What that attempt has written of the event is deleted, if no other event of the split writes it.
        """

    @abstractmethod
    def refused(self) -> RejectedRows:
        """
        All rows that the store has refused in this flush cycle; called after `flush`, which may have been left out.

        The micro-batch must run again with them in `FlushCycle.refused`, to find their events.
        """


def refused_error(store_name: str, table: str, refused: Reason) -> MappingError:
    """The error of an event whose row the store refuses, from its code and reason."""
    code, reason = refused
    return MappingError(f'store "{store_name}" refused a row of table "{table}": {reason}', code=code)

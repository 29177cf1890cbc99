"""Chunks applied to a store with retries, and the result of each."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    BucketsChangedError,
    BusyWait,
    IngestError,
    Mutation,
    NoTableError,
    Put,
    StoreBusyError,
    StoreUnavailableError,
    TimestampRefusedError,
    UnclearRefusalError,
    UpdatesChangedError,
    WriteRejectedError,
)
from ingest.api.event_errors import RowKeyTooLongError
from ingest.formats.times import moment
from ingest.plugins.surfaces import at
from ingest.retry import Retry
from sinks.folding.sizes import size_of
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.table_records import UNDECLARED
from sinks.writing.bisection import Bisection, Judge, Refusal
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.target import Target, TargetLayer

P = ParamSpec("P")
T = TypeVar("T")


class StoreBugError(StoreUnavailableError):
    """A store raised an unexpected exception; the batch is retried."""

    code = "store_bug"
    remedy = "Read the traceback in the log and correct the plugin; for a built-in component, report the bug."


@dataclass(frozen=True, slots=True)
class CallResult:
    """
    The result of one chunk.

    Attributes:
        cells: without rejected rows; size_bytes too.
        rows_sent: rows of all its calls: of each attempt, and of each part of a rejected call.
        retries: calls repeated because the store was unavailable or busy.
        busy: calls refused because the store is overloaded.
        busy_waits: the waits after these calls.
        stored: all rows but the refused ones are durable; False if the chunk failed or was abandoned.
        refused: the rows that the store can never write.
        counted: as `WriteCounts.counted`.
    """

    table: str
    rows_sent: int
    cells: int
    size_bytes: int
    retries: int
    busy: int
    seconds: float
    stored: bool
    refused: Sequence[Refusal] = ()
    busy_waits: Sequence[BusyWait] = ()
    counted: Counter[tuple[str, str]] = field(default_factory=Counter)


class InFlight:
    """
    The call of a chunk that is in flight, as its sender and its store know it; changed by both threads.

    Attributes:
        since_s: when the call began, by the clock of the sender; None if there is none.
        is_abandoned: no further call of the chunk is made.
        after: the error after which the call is repeated; None if it is the first one.
    """

    def __init__(self) -> None:
        self.since_s: float | None = None
        self.is_abandoned = False
        self.after: Exception | None = None

    def continues(self) -> bool:
        """Whether further calls are made."""
        return not self.is_abandoned


@dataclass(slots=True)
class _Tally:
    """The calls of one chunk, counted."""

    calls: int = 0
    attempts: int = 0
    busy: int = 0
    rows_sent: int = 0
    busy_waits: list[BusyWait] = field(default_factory=list)


class RetryingStore:
    """
    Applies chunks to a store with retries; opens it when first used and again after it was unavailable.

    Chunks have logical row keys, and so have their results. The physical keys of a table with buckets are created here,
    for each call; the row format is read from the table's record once in a flush cycle, and nothing is written to a
    table whose record differs from its declaration. A table of deferred updates that is not declared is refused too,
    and so is a table whose record has a feature of `UNDECLARED` that the caller leaves out.

    Args:
        store: not open.
        retry: of each call.
        clock: monotonic seconds.
        in_flight: of the sender; the store updates its time after each call.
    """

    def __init__(
        self, store: Target, retry: Retry, clock: Callable[[], float], in_flight: InFlight | None = None
    ) -> None:
        self._store = store
        self._retry = retry
        self._clock = clock
        self._in_flight = in_flight or InFlight()
        self._is_open = False
        self._results: list[CallResult] = []
        self._physical_keys: dict[str, Callable[[bytes], bytes] | None] = {}
        self._tables = CycleTables()

    def begin(self, tables: CycleTables) -> None:
        """Start a flush cycle: what an earlier one read of the tables is read again."""
        self._tables = tables
        self._physical_keys.clear()
        if isinstance(self._store, TargetLayer):
            self._store.begin(tables.features, self._progressed, tables.new_times_ms)

    def apply(self, chunk: Chunk) -> None:
        """
        Make a chunk durable, all but the rows that the store refuses.

        Raises:
            StoreError: some rows may not be durable.
        """
        started = self._clock()
        tally = _Tally()
        refused: Sequence[Refusal] = ()
        stored = False
        try:
            if chunk.table not in self._physical_keys:
                # before the bisection, which takes an error for a rejection of rows
                self._physical_keys[chunk.table] = self._repeat(tally, 0, self._read_record, chunk.table)
            physical_key = self._physical_keys[chunk.table]
            judge = None if chunk.is_refused else Judge(chunk.table, physical_key)
            bisection = Bisection(chunk.mutations, judge)
            while (part := bisection.next_part()) is not None:
                try:
                    mutations = part if physical_key is None else _stored(part, physical_key)
                    self._repeat(tally, len(part), self._store.apply, chunk.table, mutations)
                except (WriteRejectedError, UnclearRefusalError, TimestampRefusedError) as error:
                    rejection = self._rejection(part, error)
                    if judge is not None and judge.starts is None and isinstance(rejection, UnclearRefusalError):
                        judge.starts = self._repeat(tally, 0, self._store.region_starts, chunk.table)
                    bisection.rejected(part, rejection)
                else:
                    bisection.written(part)
            refused = bisection.refused()
            stored = True
        finally:
            self._add_result(chunk, tally, started, stored=stored, refused=refused)

    def _progressed(self) -> None:
        """A part of a call is done: the time in flight is that of the next part."""
        if self._in_flight.is_abandoned:
            raise StoreUnavailableError("a chunk was abandoned")
        if self._in_flight.since_s is not None:
            self._in_flight.since_s = self._clock()

    def _add_result(
        self, chunk: Chunk, tally: _Tally, started: float, *, stored: bool, refused: Sequence[Refusal] = ()
    ) -> None:
        refused_puts = [one.mutation for one in refused if isinstance(one.mutation, Put)]
        self._results.append(
            CallResult(
                table=chunk.table,
                rows_sent=tally.rows_sent,
                cells=chunk.cells - sum(len(put.columns) for put in refused_puts),
                size_bytes=chunk.size_bytes - sum(map(size_of, refused_puts)),
                retries=tally.attempts - tally.calls,
                busy=tally.busy,
                seconds=self._clock() - started,
                stored=stored,
                refused=refused,
                busy_waits=tally.busy_waits,
                counted=self._store.take_counted(),
            )
        )

    def call(self, request: Callable[[Target], T]) -> T:
        """The result of an idempotent call of the store, with retries; raises as the request, at the last attempt."""
        tally, started = _Tally(), self._clock()
        try:
            return self._repeat(tally, 0, request, self._store)
        finally:
            if tally.busy:  # the pipeline writes less
                self._add_result(Chunk(""), tally, started, stored=False)

    def close(self) -> None:
        """Close the store; the next call opens it again."""
        self._is_open = False
        self._store.close()

    def take_results(self) -> list[CallResult]:
        """The results since the last call of this method."""
        results, self._results = self._results, []
        return results

    def abandon(self) -> None:
        """Count chunks that ended after their flush cycle only in rows_sent."""
        self._results = [replace(result, stored=False, refused=()) for result in self._results]

    def _repeat(self, tally: _Tally, rows: int, request: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """
        The result of a call that sends rows; repeated while the store may become available, and counted.

        Raises:
            StoreBugError: an unexpected exception, which counts as unavailable.
        """
        if tally.calls and self._in_flight.is_abandoned:
            raise StoreUnavailableError("a chunk was abandoned")
        tally.calls += 1
        results: list[T] = []
        try:
            for attempt in self._retry.repeating(should_continue=self._in_flight.continues):
                if isinstance(attempt.after, StoreBusyError):
                    tally.busy_waits.append(BusyWait(attempt.after.code, attempt.waited_s))
                self._in_flight.after = attempt.after
                tally.attempts += 1
                tally.rows_sent += rows
                with attempt:
                    try:
                        if not self._is_open:
                            self._store.open()
                            self._is_open = True
                        results.append(request(*args, **kwargs))
                    except StoreBusyError:
                        tally.busy += 1
                        raise
                    except StoreUnavailableError:
                        # a broken connection is not reused: the next call opens a new one
                        self.close()
                        raise
                    except (IngestError, KeyboardInterrupt):
                        raise
                    except BaseException as bug:
                        # not caused by an event: it must not count as an error of the sink
                        self.close()
                        what = f"{type(bug).__name__}: {bug}"
                        raise StoreBugError(f"the store raised an unexpected exception: {what}") from bug
                    finally:
                        waits = self._store.take_busy_waits()
                        tally.busy += len(waits)
                        tally.busy_waits.extend(waits)
        finally:
            self._in_flight.after = None
            if self._in_flight.since_s is not None:
                # a rejected chunk needs several calls; the time in flight is that of the current call
                self._in_flight.since_s = self._clock()
        return results[0]

    def _rejection(
        self, mutations: Sequence[Mutation], error: WriteRejectedError | UnclearRefusalError | TimestampRefusedError
    ) -> WriteRejectedError | UnclearRefusalError:
        """
        An error of `Store.apply` as a rejection of rows.

        Raises:
            TimestampRefusedError: batch times are among the refused timestamps, or no event is at fault.
        """
        if not isinstance(error, TimestampRefusedError):
            return error
        batch_ms = self._tables.batch_time_ms
        if batch_ms is None:
            raise error
        # deletes are written 1 ms before the puts of their batch; a replay gives its changes a time of their own
        chosen = {time_ms: time_ms for time_ms in self._tables.times_ms}
        chosen |= {batch_ms - 1: batch_ms, batch_ms: batch_ms}
        refused = mutations if error.indexes is None else [mutations[index] for index in error.indexes]
        found = [chosen[mutation.timestamp_ms] for mutation in refused if mutation.timestamp_ms in chosen]
        # if the store does not say which are refused, those of events may be; the bisection finds them
        if found and (error.indexes is not None or len(found) == len(refused)):
            what = f"the time of the micro-batch, {moment(max(found))}, is refused: {error.message}"
            raise TimestampRefusedError(what, hint=error.hint) from error
        return WriteRejectedError(error.message, indexes=error.indexes, code=error.code, hint=error.hint)

    def _read_record(self, table: str) -> Callable[[bytes], bytes] | None:
        """The function to the physical keys of a table whose record is as declared."""
        buckets, properties = self._store.record(table)
        for feature in UNDECLARED.keys() & properties.keys() - self._tables.features.get(table, {}).keys():
            raise at(UNDECLARED[feature])(table)
        recorded = RowFormat(buckets, properties.get(UPDATES, ""))
        declared = self._tables.declared.get(table, RowFormat(recorded.buckets))
        if declared != recorded:
            if self._store.families(table) is None:
                raise NoTableError(f'there is no table "{table}"')
            if declared.buckets != recorded.buckets:
                raise BucketsChangedError(table, declared.buckets, recorded.buckets)
            raise UpdatesChangedError(table, declared.updates, recorded.updates)
        return recorded.physical_key()


def _stored(mutations: Sequence[Mutation], physical_key: Callable[[bytes], bytes]) -> Sequence[Mutation]:
    """The mutations with physical row keys."""
    # a staging writer accepts every key, and its store would refuse the whole file
    too_long = [index for index, one in enumerate(mutations) if len(one.row) >= MAX_ROW_KEY_BYTES]
    if too_long:
        raise WriteRejectedError(
            f"the row key has {len(mutations[too_long[0]].row)} bytes; with its bucket it has more than the "
            f"{MAX_ROW_KEY_BYTES} that are allowed",
            indexes=too_long,
            code=RowKeyTooLongError.code,
            hint="shorten it, for example with a hash of the long part",
        )
    return with_physical_keys(mutations, physical_key)

"""Chunks applied to a store with retries, and the result of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol, TypeVar

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    BucketsChangedError,
    BusyWait,
    IngestError,
    Mutation,
    NoTableError,
    Put,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    TimestampRefusedError,
    UpdatesChangedError,
    WriteRejectedError,
)
from ingest.api.event_errors import RowKeyTooLongError
from ingest.formats.times import moment
from ingest.retry import Retry
from sinks.feed.change_feed import FEED
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.writing.bisection import Judge, Refusal, apply_all_but_refused
from sinks.writing.buffer import Chunk, size_of
from sinks.writing.feed_rows import FeedBatch

T = TypeVar("T")


class FeedUndeclaredError(StoreRefusedError):
    """A table has a change feed, and the pipeline that writes it declares none: rows would lack their changes."""

    code = "feed_undeclared"
    hint = "declare `feed` of the table; or start the pipeline that owns it without `feed`, which closes it"


class StoreBugError(StoreUnavailableError):
    """A store raised an unexpected exception; the batch is retried."""

    code = "store_bug"
    remedy = "Read the traceback in the log and correct the plugin; for a built-in component, report the bug."


class Target(Protocol):
    """The target of chunks: a store, or a staging writer for one."""

    def open(self) -> None:
        """As `Store.open`."""

    def close(self) -> None:
        """As `Store.close`."""

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """As `Store.apply`."""

    def take_busy_waits(self) -> list[BusyWait]:
        """As `Store.take_busy_waits`."""

    def region_starts(self, table: str) -> Sequence[bytes]:
        """As `Store.region_starts`."""

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """As `Store.record`."""

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Store.families`."""


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


class RetryingStore:
    """
    Applies chunks to a store with retries; opens it when first used and again after it was unavailable.

    Chunks have logical row keys, and so have their results. The physical keys of a table with buckets are created here,
    for each call; the row format is read from the table's record once in a flush cycle, and nothing is written to a
    table whose record differs from its declaration. A table of deferred updates that is not declared is refused too,
    and so is a table with a change feed that the caller does not write.
    """

    def __init__(self, store: Target, retry: Retry, clock: Callable[[], float]) -> None:
        self._store = store
        self._retry = retry
        self._clock = clock
        self._is_open = False
        self._results: list[CallResult] = []
        self._physical_keys: dict[str, Callable[[bytes], bytes] | None] = {}
        self._declared: Mapping[str, RowFormat] = {}
        self._feeds: Mapping[str, FeedBatch] = {}
        self._batch_time_ms: int | None = None

    def begin(
        self,
        declared: Mapping[str, RowFormat] = MappingProxyType({}),
        feeds: Mapping[str, FeedBatch] = MappingProxyType({}),
        batch_time_ms: int | None = None,
    ) -> None:
        """
        Start a flush cycle: what an earlier one read of the tables is read again.

        Args:
            declared: table -> its declared row format; other tables are written as their records say.
            feeds: table -> how the caller writes its feed.
            batch_time_ms: mutations with other times than this one, and than those of `feeds`, have that of an event;
                None if no event is at fault whose time the store refuses.
        """
        self._batch_time_ms = batch_time_ms
        self._physical_keys.clear()
        self._declared = declared
        self._feeds = feeds

    def apply(
        self, chunk: Chunk, should_continue: Callable[[], bool], answered: Callable[[], None] = lambda: None
    ) -> None:
        """
        Make a chunk durable, all but the rows that the store refuses.

        Args:
            chunk: the rows.
            should_continue: called before each further call; False abandons the chunk.
            answered: called after each call.
        """
        started = self._clock()
        calls = attempts = busy = rows_sent = 0
        refused: Sequence[Refusal] = ()
        busy_waits: list[BusyWait] = []
        stored = False

        def call(request: Callable[[Target], None], rows: int) -> None:
            nonlocal calls

            if calls and not should_continue():
                raise StoreUnavailableError(f'a chunk for table "{chunk.table}" was abandoned')

            def attempt() -> None:
                nonlocal attempts, busy, rows_sent
                attempts += 1
                rows_sent += rows
                try:
                    self.call(request)
                except StoreBusyError:
                    busy += 1
                    raise
                finally:
                    waits = self._store.take_busy_waits()
                    busy += len(waits)
                    busy_waits.extend(waits)

            def pause(error: IngestError, seconds: float) -> None:
                if isinstance(error, StoreBusyError):
                    busy_waits.append(BusyWait(error.code, seconds))
                self._retry.sleep(seconds)

            calls += 1
            try:
                self._retry.run(attempt, should_continue=should_continue, pause=pause)
            finally:
                answered()

        try:
            if chunk.table not in self._physical_keys:
                # before the bisection, which takes an error for a rejection of rows
                call(lambda store: self._read_record(store, chunk.table), 0)
            physical_key = self._physical_keys[chunk.table]

            def send(mutations: Sequence[Mutation]) -> None:
                stored_ones = mutations if physical_key is None else _stored(mutations, physical_key)
                call(lambda store: self._apply(store, chunk.table, stored_ones), len(mutations))

            refused = apply_all_but_refused(chunk.mutations, send, _judge(chunk, call, physical_key))
            stored = True
        finally:
            seconds = self._clock() - started
            refused_puts = [one.mutation for one in refused if isinstance(one.mutation, Put)]
            self._results.append(
                CallResult(
                    table=chunk.table,
                    rows_sent=rows_sent,
                    cells=chunk.cells - sum(len(put.columns) for put in refused_puts),
                    size_bytes=chunk.size_bytes - sum(map(size_of, refused_puts)),
                    retries=attempts - calls,
                    busy=busy,
                    seconds=seconds,
                    stored=stored,
                    refused=refused,
                    busy_waits=busy_waits,
                )
            )

    def call(self, request: Callable[[Target], T]) -> T:
        """Call the store, after opening it if needed; an unexpected exception counts as unavailable."""
        try:
            if not self._is_open:
                self._store.open()
                self._is_open = True
            return request(self._store)
        except StoreUnavailableError:
            # a broken connection is not reused: the next call opens a new one
            self.close()
            raise
        except (IngestError, KeyboardInterrupt):
            raise
        except BaseException as bug:
            # not caused by an event: it must not count as an error of the sink
            self.close()
            raise StoreBugError(f"the store raised an unexpected exception: {type(bug).__name__}: {bug}") from bug

    def _apply(self, store: Target, table: str, mutations: Sequence[Mutation]) -> None:
        """Apply mutations; refused timestamps are a rejection of rows, unless batch times are among them."""
        try:
            store.apply(table, mutations)
        except TimestampRefusedError as error:
            batch_ms = self._batch_time_ms
            if batch_ms is None:
                raise
            # deletes are written 1 ms before the puts of their batch; a replay gives its changes a time of their own
            chosen = {feed.time_ms: feed.time_ms for feed in self._feeds.values()}
            chosen |= {batch_ms - 1: batch_ms, batch_ms: batch_ms}
            raise _refused_times(mutations, error, chosen) from error.__cause__

    def _read_record(self, store: Target, table: str) -> None:
        buckets, properties = store.record(table)
        if FEED in properties and table not in self._feeds:
            raise FeedUndeclaredError(
                f'table "{table}" has a change feed, and its rows would be written without their changes',
            )
        recorded = RowFormat(buckets, properties.get(UPDATES, ""))
        declared = self._declared.get(table, RowFormat(recorded.buckets))
        if declared != recorded:
            if store.families(table) is None:
                raise NoTableError(f'there is no table "{table}"')
            if declared.buckets != recorded.buckets:
                raise BucketsChangedError(table, declared.buckets, recorded.buckets)
            raise UpdatesChangedError(table, declared.updates, recorded.updates)
        self._physical_keys[table] = recorded.physical_key()

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


def _judge(
    chunk: Chunk, call: Callable[[Callable[[Target], None], int], None], physical_key: Callable[[bytes], bytes] | None
) -> Judge | None:
    """
    The judge of refusals in a chunk; None if its row is known to be at fault.

    Args:
        chunk: of one table.
        call: calls the store, which sends a number of rows.
        physical_key: of the table.
    """

    def region_starts() -> Sequence[bytes]:
        found: list[bytes] = []
        call(lambda store: found.extend(store.region_starts(chunk.table)), 0)
        return found

    return None if chunk.is_refused else Judge(chunk.table, region_starts, physical_key)


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


def _refused_times(
    mutations: Sequence[Mutation], error: TimestampRefusedError, chosen: Mapping[int, int]
) -> IngestError:
    """
    The error of refused timestamps.

    Args:
        mutations: of the call.
        error: of the store.
        chosen: timestamps that the driver chose -> the time that each is derived from; all others are of events.
    """
    refused = mutations if error.indexes is None else [mutations[index] for index in error.indexes]
    found = [chosen[mutation.timestamp_ms] for mutation in refused if mutation.timestamp_ms in chosen]
    # if the store does not say which are refused, those of events may be; the bisection finds them
    if found and (error.indexes is not None or len(found) == len(refused)):
        what = f"the time of the micro-batch, {moment(max(found))}, is refused: {error.message}"
        return TimestampRefusedError(what, hint=error.hint)
    return WriteRejectedError(error.message, indexes=error.indexes, code=error.code, hint=error.hint)

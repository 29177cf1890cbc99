"""Writes the mutations of all sinks of a store: folds, buffers and sends them; they are durable after a flush."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from zlib import crc32

from ingest.api import (
    Capabilities,
    ErrorBudgetSpentError,
    FeedSpec,
    Mutation,
    Put,
    StoreError,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.api.store_errors import UnknownFamilyError
from sinks.updates.merging import Merging
from sinks.writing.bisection import Refusal
from sinks.writing.buffer import MAX_ROWS, Chunk, WriteBuffer, size_of
from sinks.writing.fold import Fold
from sinks.writing.known_families import KnownFamilies
from sinks.writing.messages import Prepared, RejectedRows, packed_probe
from sinks.writing.record_bytes import MAX_RECORD_BYTES, RecordBytes
from sinks.writing.row_reader import RowReader, SenderReader
from sinks.writing.sending import Sender
from sinks.writing.split_tables import SplitTables, refused_error
from sinks.writing.staging import MIN_FILE_BYTES

BUFFERED_BYTES = 64 << 20
"""Bytes of puts that a task buffers to send each row once; rows of a full buffer may be sent again later."""
STAGED_BYTES, MAX_STAGED_ROWS = 16 << 20, 100_000
"""Bytes that a task buffers for a store that the driver writes: larger files leave fewer to merge."""
MAX_PROBE_ROWS = 100
"""Rows of a probe: few, so that a rejected row is found in few calls."""


class FamiliesChangedError(StoreUnavailableError):
    """A table lost a family while a batch was written to it; the batch runs again with the current families."""

    code = "families_changed"
    remedy = "None; if it recurs, find the process that removes families."


class BufferedMutator:
    """
    Folds, buffers, sends and counts the mutations for one store.

    All sinks of a pipeline that write to a store share one: operations on a row are applied in the order of the events.

    A row that several events write is sent once, in its final state. A timed-out call may still execute, even after
    another process wrote the batch and it was acknowledged; it then writes the same values again.

    Called by one thread. Order: begin, any number of mutate, then flush; that is a flush cycle, one micro-batch of one
    task. A flush cycle that failed or was abandoned runs again: the same events give the same mutations. After flush
    returns and no families are needed, all mutations of the flush cycle are durable.

    Args:
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages and receipts.
        capabilities: of the store itself, also if the senders write to a staging writer.
        buffer_bytes: bound on all send buffers together; the fold buffer is extra.
        deletes: whether there may be deletes; then nothing is sent before the end of a flush cycle, and the buffer has
            no bound.
        families: of the store's tables; None to read them from the store when a mutation needs them.
        max_record_bytes: see `RecordBytes`.
        max_put_bytes: maximum size of a put with the cells of several events, from the store's settings; None for none.
        folded_bytes: size of the fold buffer, if there are no deletes.
        staged_bytes: minimum size of the send buffer for a store that the driver writes.
        updates: table -> merges its deferred updates.
        feeds: table -> its feed.
        reader: reads rows before they are changed; by default through the first connection.
        clock: monotonic seconds.

    Attributes:
        batch_time_ms: of the flush cycle.
        record_bytes: counts what the events of each record write.
        families: of the store's tables. If the flush cycle needs missing ones, nothing more of it is sent, and the
            batch must run again once they exist.
        refused: (table, row key) -> code and reason of rows that the store can never write; complete after flush, when
            all other rows are durable. The batch must run again with these as `prepared.refused`, to find their events.
    """

    def __init__(  # noqa: PLR0913 - bounds, each with its own tests
        self,
        senders: Sequence[Sender],
        store_name: str,
        *,
        capabilities: Capabilities,
        buffer_bytes: int,
        deletes: bool,
        families: KnownFamilies | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        max_put_bytes: int | None = None,
        folded_bytes: int = BUFFERED_BYTES,
        staged_bytes: int = STAGED_BYTES,
        updates: Mapping[str, Merging] = MappingProxyType({}),
        feeds: Mapping[str, FeedSpec] = MappingProxyType({}),
        reader: RowReader | None = None,
        add_blobs: Callable[[WriteCounts], None] = lambda _counts: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._add_blobs = add_blobs
        self._senders = tuple(senders)
        self.store_name = store_name
        self.capabilities = capabilities
        self.families = KnownFamilies(self._families_in_store, clock) if families is None else families
        self._sends = tuple(self._sending(sender) for sender in self._senders)
        if capabilities.written_by_driver:
            # staged files store timestamp and durability with each mutation
            limit, max_rows, mixed = max(buffer_bytes, staged_bytes), MAX_STAGED_ROWS, True
        else:
            limit, max_rows, mixed = max(1, buffer_bytes // len(self._senders)), MAX_ROWS, False
        self._buffers = tuple(WriteBuffer(limit, send, max_rows=max_rows, mixed=mixed) for send in self._sends)
        self._deletes = deletes
        self._fold = Fold(max_put_bytes, self._joined) if deletes or not capabilities.written_by_driver else None
        self._max_folded_bytes = folded_bytes
        self._folded_bytes = 0
        self._split_tables = SplitTables(
            store_name,
            updates,
            feeds,
            withdraws=not capabilities.written_by_driver,
            max_put_bytes=max_put_bytes,
            buffer=self._buffer,
            send=self._send_buffers,
            wait=self._wait,
            refused=lambda: self.refused,
            reader=reader or SenderReader(self._senders[0]),
            on_joined=self._joined,
        )
        # decided once, not for each mutation
        self._by_split = self._split_tables.names
        self._counts = WriteCounts()
        self._known_refused: RejectedRows = {}
        self._max_refused: int | None = None
        self.record_bytes = RecordBytes(max_record_bytes)
        self.batch_time_ms = 0
        self.refused: RejectedRows = {}
        self._changed: set[str] = set()
        self._being_read: str | None = None

    def begin(self, spec: TaskSpec, prepared: Prepared, counts: WriteCounts) -> None:
        """
        Start a flush cycle.

        Args:
            spec: of the task.
            prepared: state of the store, from the driver.
            counts: the mutator adds what it writes.

        Raises:
            StoreUnavailableError: a chunk of an earlier flush cycle is still in flight.
        """
        self._counts = counts
        self._known_refused = prepared.refused
        self._max_refused = spec.max_failures
        self.batch_time_ms = spec.batch.time_ms
        self.record_bytes.begin()
        self.refused = {}
        self._changed = set()
        for buffer in self._buffers:
            buffer.clear()
        if self._fold is not None:
            self._fold.clear()
        self._folded_bytes = 0
        self._split_tables.begin(self.batch_time_ms, prepared)
        self.families.begin(prepared.families, prepared.at_limit)
        for sender in self._senders:
            sender.begin(spec.call_timeout_s, prepared.declared, prepared.feeds, self.batch_time_ms)

    def _joined(self) -> None:
        self._counts.joined_puts += 1

    def mutate(self, table: str, mutation: Mutation) -> None:
        """
        Add a mutation, whose families exist.

        Raises:
            MappingError: its row was refused in an earlier flush cycle, and the store refuses this mutation.
            StoreError: the store failed to write an earlier mutation; the flush cycle is over.
        """
        if table in self._by_split:
            self._split_tables.add(table, mutation)
            return
        if self._known_refused and (table, mutation.row) in self._known_refused:
            self._write_alone(table, mutation)
            return
        if self._fold is not None and self._deletes:
            self._fold.add(table, mutation)
        elif not isinstance(mutation, Put):
            raise TypeError("the mapper returned a delete, but this writer was built for puts only")
        elif self._fold is None:
            self._buffers[0].add(table, mutation)
        else:
            self._fold.add(table, mutation)
            self._folded_bytes += size_of(mutation)
            if self._folded_bytes >= self._max_folded_bytes:
                self._drain(self._fold)
                # chunks have no order: values of this fold may not be sent after those of the next one
                for buffer in self._buffers:
                    buffer.flush()
                self._folded_bytes = 0

    def refused_first(self, mutations: Sequence[tuple[str, Mutation]]) -> Sequence[tuple[str, Mutation]]:
        """
        The mutations of one event, first for rejected rows, so that none is written if one of these raises.

        Rejected rows are from earlier flush cycles. Mutations of one row keep their order.

        Raises:
            MappingError: an update among them cannot be merged.
        """
        refused = self._known_refused
        if self._by_split:
            self._split_tables.check([each for each in mutations if each[0] in self._by_split])
        if not refused:
            return mutations
        place = self._split_tables.refused_place
        return sorted(mutations, key=lambda each: place(each[0], each[1].row) not in refused)

    def split_start(self, rank: int) -> None:
        """Start a split with this rank in the micro-batch."""
        self._split_tables.split_start(rank)

    def split_end(self) -> None:
        """
        End a split: buffer its update rows, and write its changes.

        Row keys of one split are often close together, and a file with a narrow key range need not be merged with
        others. So the file of a store that the driver writes ends here if it is large enough.
        """
        if self._by_split:
            self._split_tables.split_end(is_discarded=bool(self.families.needed))
        if self.capabilities.written_by_driver:
            for buffer in self._buffers:
                if buffer.buffered_bytes >= MIN_FILE_BYTES:
                    buffer.flush()

    def flush(self) -> None:
        """
        Send the rest and return once all is durable; if families are needed, only wait for calls in flight.

        Raises:
            StoreError: the store failed to write; the flush cycle is over.
        """
        try:
            if not self.families.needed:
                if self._fold is not None:
                    self._drain(self._fold)
                self._split_tables.flush()
                self._send_buffers()
            self._wait()
        except StoreError:
            self.families.invalidate()
            raise
        finally:
            self._count()
        if self._changed:
            # the events were checked against families that have changed since
            raise FamiliesChangedError(
                f"{_tables(self._changed)} lost a family during the write, or got one that not all regions know yet; "
                "the rows are checked again",
            )

    def probe(self) -> bytes:
        """Rows that a blocked flush cycle could not write, or a table that it could not read; b"" if neither."""
        for sender in self._senders:
            chunk = sender.blocked
            if chunk is not None:
                return packed_probe(chunk.table, chunk.mutations[:MAX_PROBE_ROWS])
        return b"" if self._being_read is None else packed_probe(self._being_read, ())

    def close(self) -> None:
        """Close the store."""
        self._split_tables.close()
        for sender in self._senders:
            sender.close()

    def _families_in_store(self, table: str) -> frozenset[bytes] | None:
        self._being_read = table
        families = self._senders[0].call(lambda store: store.families(table))
        self._being_read = None
        return families

    def _drain(self, fold: Fold) -> None:
        buffers = self._buffers
        folded: Iterable[tuple[str, Mutation]] = chain(fold.deletes(), fold.puts())
        for table, mutation in folded:
            buffers[crc32(mutation.row) % len(buffers)].add(table, mutation)
        fold.clear()

    def _buffer(self, table: str, mutation: Mutation) -> None:
        self._buffers[crc32(mutation.row) % len(self._buffers)].add(table, mutation)

    def _send_buffers(self) -> None:
        for buffer in self._buffers:
            buffer.flush()

    def _wait(self) -> None:
        try:
            for sender in self._senders:
                sender.wait()
        finally:
            self._count()

    def _write_alone(self, table: str, mutation: Mutation) -> None:
        """
        Send a mutation of a rejected row in a call of its own: several events may have written that row, and only the
        bad ones must fail.

        With deletes the operations on a row are folded and cannot be sent separately: all its events fail.
        """
        place = table, mutation.row
        refused: tuple[str, str] | None = self._known_refused[place]
        if isinstance(mutation, Put) and not self._deletes:
            number = crc32(mutation.row) % len(self._senders)
            cells, size = len(mutation.columns), size_of(mutation)
            self._sends[number](Chunk(table, [mutation], cells, size, is_refused=True))
            self._senders[number].wait()
            self._count()
            refused = self.refused.pop(place, None)
        if refused is not None:
            raise refused_error(self.store_name, table, refused)

    def _sending(self, sender: Sender) -> Callable[[Chunk], None]:
        def send(chunk: Chunk) -> None:
            try:
                sender.submit(chunk)
            except StoreError:
                self.families.invalidate()
                raise
            finally:
                self._count()

        return send

    def _count(self) -> None:
        counts = self._counts
        self._add_blobs(counts)
        for sender in self._senders:
            for result in sender.take_results():
                counts.rows_sent += result.rows_sent
                counts.retries += result.retries
                counts.busy += result.busy
                counts.busy_waits.extend(result.busy_waits)
                counts.flush_s.append(result.seconds)
                if result.stored:
                    counts.write_calls += 1
                    counts.cells += result.cells
                    counts.bytes += result.size_bytes
                for refusal in result.refused:
                    self._add_refused(result.table, refusal)

    def _add_refused(self, table: str, refusal: Refusal) -> None:
        """Add a rejected row."""
        self.families.invalidate()
        mutation, error = refusal
        if isinstance(error, UnknownFamilyError):
            self._changed.add(table)
        place = self._split_tables.place_of_refusal(table, mutation.row)
        self.refused[place] = error.code, str(error)
        if self._max_refused is not None and len(self.refused) > self._max_refused:
            raise ErrorBudgetSpentError(
                f'store "{self.store_name}" refused {len(self.refused)} rows of one task, the last of table "{table}": '
                f"{error}; the batch is not acknowledged",
                hint="correct the table or the pipeline, or raise error_budget: {share: …}",
            )


def _tables(names: Iterable[str]) -> str:
    return ", ".join(f'table "{name}"' for name in sorted(names))

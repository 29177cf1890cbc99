"""Buffers the mutations of all tables of a store and sends them; they are durable after a flush."""

from collections.abc import Iterable, Sequence
from zlib import crc32

from ingest.api import (
    Capabilities,
    ErrorBudgetSpentError,
    Mutation,
    Put,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from ingest.api.store_errors import UnknownFamilyError
from ingest.api.table_writer import FlushCycle, Reason, RejectedRows, TableWriter
from sinks.folding.sizes import size_of
from sinks.writing.bisection import Refusal
from sinks.writing.buffer import MAX_ROWS, Chunk, WriteBuffer
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.messages import Prepared, packed_probe
from sinks.writing.sending import Sender
from sinks.writing.staging import MIN_FILE_BYTES

STAGED_BYTES, MAX_STAGED_ROWS = 16 << 20, 100_000
"""Bytes that a task buffers for a store that the driver writes: larger files leave fewer to merge."""
LARGE_BYTES, MAX_LARGE_ROWS = 64 << 20, 200_000
"""The same for a store whose connections divide large chunks: as much as a task folds before it sends the rows."""
MAX_PROBE_ROWS = 100
"""Rows of a probe: few, so that a rejected row is found in few calls."""


class FamiliesChangedError(StoreUnavailableError):
    """A table lost a family while a batch was written to it; the batch runs again with the current families."""

    code = "families_changed"
    remedy = "None; if it recurs, find the process that removes families."


class BufferedMutator(TableWriter):
    """
    Buffers, sends and counts the mutations for one store: the last writer of all its tables.

    Mutations of one row key in one table and flush cycle are added once, in its final state, or in an order that does
    not matter (`sinks.folding.fold`).

    Args:
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages.
        capabilities: of the store itself, also if the senders write to a staging writer.
        buffer_bytes: bound on all buffers together.
        staged_bytes: minimum size of the buffer for a store that the driver writes.
        large_chunks: whether the connections divide chunks of any size, times and kinds of mutations into calls.
    """

    def __init__(
        self,
        senders: Sequence[Sender],
        store_name: str,
        *,
        capabilities: Capabilities,
        buffer_bytes: int,
        staged_bytes: int = STAGED_BYTES,
        large_chunks: bool = False,
    ) -> None:
        self._senders = tuple(senders)
        self._store_name = store_name
        self._is_staged = capabilities.written_by_driver
        if self._is_staged:
            # staged files store timestamp and durability with each mutation
            limit, max_rows, mixed = max(buffer_bytes, staged_bytes), MAX_STAGED_ROWS, True
        elif large_chunks:
            limit, max_rows, mixed = max(buffer_bytes, LARGE_BYTES) // len(self._senders), MAX_LARGE_ROWS, True
        else:
            limit, max_rows, mixed = max(1, buffer_bytes // len(self._senders)), MAX_ROWS, False
        self._buffers = tuple(
            WriteBuffer(limit, max_rows=max_rows, mixed=mixed, mixes_puts=capabilities.mixes_puts)
            for _ in self._senders
        )
        self._counts = WriteCounts()
        self._max_refused: int | None = None
        self._is_divided = len(self._senders) > 1
        self._refused: dict[str, dict[bytes, Reason]] = {}
        self._places: set[tuple[str, bytes]] = set()  # of refused rows, which count towards the error budget
        self._changed: set[str] = set()
        self._being_read: str | None = None

    def start(self, spec: TaskSpec, prepared: Prepared, counts: WriteCounts) -> None:
        """
        Start a flush cycle, before `begin` of any writer.

        It is not `begin`, which every chain calls: the chains of all tables share this writer.

        Args:
            spec: of the task.
            prepared: state of the store, from the driver.
            counts: the mutator adds what it writes.

        Raises:
            StoreUnavailableError: a chunk of an earlier flush cycle is still in flight.
        """
        self._counts = counts
        self._max_refused = spec.max_failures
        self._refused = {}
        self._places.clear()
        self._changed = set()
        for buffer in self._buffers:
            buffer.clear()
        tables = CycleTables.of(prepared, spec.batch.time_ms)
        for sender in self._senders:
            sender.begin(spec.call_timeout_s, tables)

    def begin(self, cycle: FlushCycle) -> None:
        """Do nothing: `start` has started the flush cycle for all chains."""

    def split_start(self, rank: int) -> None:
        """Do nothing: buffers are not divided."""

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Do nothing: every mutation can be buffered."""

    def add(self, table: str, mutation: Mutation) -> None:
        """Buffer a mutation, and send what is full."""
        number = crc32(mutation.row) % len(self._buffers) if self._is_divided else 0
        for chunk in self._buffers[number].add(table, mutation):
            try:
                self._senders[number].submit(chunk)
            finally:
                self._count()

    def add_all(self, mutations: Iterable[tuple[str, Mutation]]) -> None:
        """As `add` for each of them."""
        buffers, is_divided = self._buffers, self._is_divided  # without a call of `add` for each
        for table, mutation in mutations:
            number = crc32(mutation.row) % len(buffers) if is_divided else 0
            for chunk in buffers[number].add(table, mutation):
                try:
                    self._senders[number].submit(chunk)
                finally:
                    self._count()

    def split_end(self) -> None:
        """
        End the file of a store that the driver writes if it is large enough.

        Row keys of one split are often close together, and a file with a narrow key range need not be merged with
        others.
        """
        if self._is_staged and any(buffer.buffered_bytes >= MIN_FILE_BYTES for buffer in self._buffers):
            self.send()

    def send(self) -> None:
        """Send all buffers."""
        try:
            for sender, buffer in zip(self._senders, self._buffers, strict=True):
                for chunk in buffer.take():
                    sender.submit(chunk)
        finally:
            self._count()

    def flush(self) -> None:
        """Send all buffers, and return when all is durable or refused."""
        self.send()
        self.wait()

    def wait(self) -> None:
        """
        Return when all that was sent is durable or refused.

        Raises:
            StoreError: the store failed to write.
        """
        try:
            for sender in self._senders:
                sender.wait()
        finally:
            self._count()

    def write_alone(self, table: str, put: Put) -> Reason | None:
        """
        Write a put of a row that an earlier attempt found refused, in a call of its own; returns when it is durable.

        Returns:
            Why the store refuses it; None if it is written.

        Raises:
            StoreError: as `add`.
        """
        sender = self._senders[crc32(put.row) % len(self._senders)]
        try:
            sender.submit(Chunk(table, [put], len(put.columns), size_of(put), is_refused=True))
            sender.wait()
        finally:
            self._count()
        self._places.discard((table, put.row))  # its event fails, and counts itself
        return self._refused.get(table, {}).pop(put.row, None)

    def take_refused(self, table: str) -> dict[bytes, Reason]:
        """The refused rows of a table."""
        return self._refused.pop(table, {})

    def take_all_refused(self) -> RejectedRows:
        """The refused rows of all tables that were not taken yet."""
        refused, self._refused = self._refused, {}
        return {(table, row): reason for table, rows in refused.items() for row, reason in rows.items()}

    def check_families(self) -> None:
        """
        Check, after a flush, that no row was refused because its family is gone.

        Raises:
            FamiliesChangedError: one was, or more; its event was checked against families that have changed since.
        """
        if self._changed:
            raise FamiliesChangedError(
                f"{_tables(self._changed)} lost a family during the write, or got one that not all regions know yet; "
                "the rows are checked again",
            )

    def families(self, table: str) -> frozenset[bytes] | None:
        """
        The families of a table in the store; None if there is no such table.

        Raises:
            StoreError: the store does not answer.
        """
        self._being_read = table
        try:
            families = self._senders[0].call(lambda store: store.families(table))
        finally:
            self._count()
        self._being_read = None
        return families

    def probe(self) -> bytes:
        """Rows that a blocked flush cycle could not write, or a table that it could not read; b"" if neither."""
        for sender in self._senders:
            chunk = sender.blocked
            if chunk is not None:
                return packed_probe(chunk.table, chunk.mutations[:MAX_PROBE_ROWS])
        return b"" if self._being_read is None else packed_probe(self._being_read, ())

    def close(self) -> None:
        """Close the connections."""
        for sender in self._senders:
            sender.close()

    def _count(self) -> None:
        counts = self._counts
        for sender in self._senders:
            for result in sender.take_results():
                counts.rows_sent += result.rows_sent
                counts.retries += result.retries
                counts.busy += result.busy
                counts.busy_waits.extend(result.busy_waits)
                counts.flush_s.append(result.seconds)
                counts.counted.update(result.counted)
                if result.stored:
                    counts.write_calls += 1
                    counts.cells += result.cells
                    counts.bytes += result.size_bytes
                for refusal in result.refused:
                    self._add_refused(result.table, refusal)

    def _add_refused(self, table: str, refusal: Refusal) -> None:
        mutation, error = refusal
        if isinstance(error, UnknownFamilyError):
            self._changed.add(table)
        self._refused.setdefault(table, {})[mutation.row] = error.code, str(error)
        self._places.add((table, mutation.row))
        if self._max_refused is not None and len(self._places) > self._max_refused:
            raise ErrorBudgetSpentError(
                f'store "{self._store_name}" refused {len(self._places)} rows of one task, the last of table '
                f'"{table}": {error}; the batch is not acknowledged',
                hint="correct the table or the pipeline, or raise error_budget: {share: …}",
            )


def _tables(names: Iterable[str]) -> str:
    return ", ".join(f'table "{name}"' for name in sorted(names))

"""The one path to a store: mutations of all the sinks that write to it, buffered, sent, and durable after a flush."""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from zlib import crc32

from ingest.api import (
    Capabilities,
    ErrorBudgetSpentError,
    MappingError,
    Mutation,
    Put,
    StoreError,
    StoreUnavailableError,
    TaskSpec,
    WriteCounts,
)
from sinks.writing.bisection import Refusal
from sinks.writing.buffer import MAX_ROWS, Chunk, WriteBuffer, size_of
from sinks.writing.fold import Fold
from sinks.writing.known_families import KnownFamilies
from sinks.writing.messages import Prepared, RefusedRows, packed_probe
from sinks.writing.sending import Sender
from sinks.writing.staging import MIN_FILE_BYTES

BUFFERED_BYTES = 64 << 20
"""Bytes of puts that a task buffers to send each row once; a full buffer is sent, and its rows may be sent again."""
STAGED_BYTES, MAX_STAGED_ROWS = 16 << 20, 100_000
"""Bytes that a task buffers for a store that the driver writes: larger files leave the store fewer to merge."""
MAX_PROBE_ROWS = 100
"""Rows of a probe: enough to show that the store writes, and few enough to find a refused row at once."""
UNKNOWN_FAMILY = "unknown_family"


class BufferedMutator:
    """
    Mutations on their way into one store: folded, buffered, sent, counted.

    All sinks of a pipeline that write to a store share one: operations on a row are applied in the order of the events.

    A row that several events write is sent once, in its final state. A timed-out call may still execute, even after
    another process wrote the batch and it was acknowledged; then it writes the values that are there already.

    Called by one thread. Order: begin, any number of mutate, then flush; that is a flush cycle, one micro-batch of one
    task. After a StoreError, or when it is abandoned, a flush cycle is run again: the same events give the same
    mutations. After flush returns and no families are needed, all mutations of the flush cycle are durable.

    Args:
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages and receipts.
        capabilities: of the store itself, also if the senders write to a staging writer.
        buffer_bytes: bound on all send buffers together; the fold buffer is extra.
        deletes: whether there may be deletes; then nothing is sent before the end of a flush cycle, whatever it
            buffers.
        max_put_bytes: how large a put of several events of one row may be, as the store's settings say; None for any.
        folded_bytes: size of the fold buffer, if there are no deletes.
        staged_bytes: least size of the buffer for a store that the driver writes.
        clock: monotonic seconds.

    Attributes:
        batch_time_ms: of the flush cycle.
        families: of the store's tables. If the flush cycle needs missing ones, nothing more of it is sent, and the
            batch must run again once they exist.
        refused: (table, row key) -> code and reason of rows that the store can never write; complete after flush, when
            all other rows are durable. The batch must run again with them prepared, to find their events.
    """

    def __init__(  # noqa: PLR0913 - bounds, each tried by its own tests
        self,
        senders: Sequence[Sender],
        store_name: str,
        *,
        capabilities: Capabilities,
        buffer_bytes: int,
        deletes: bool,
        max_put_bytes: int | None = None,
        folded_bytes: int = BUFFERED_BYTES,
        staged_bytes: int = STAGED_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._senders = tuple(senders)
        self.store_name = store_name
        self.capabilities = capabilities
        self.families = KnownFamilies(self._families_in_store, clock)
        self._sends = tuple(self._sending(sender) for sender in self._senders)
        if capabilities.written_by_driver:
            # staged files keep the time and flag of each mutation anyway
            limit, max_rows, mixed = max(buffer_bytes, staged_bytes), MAX_STAGED_ROWS, True
        else:
            limit, max_rows, mixed = max(1, buffer_bytes // len(self._senders)), MAX_ROWS, False
        self._buffers = tuple(WriteBuffer(limit, send, max_rows=max_rows, mixed=mixed) for send in self._sends)
        self._deletes = deletes
        self._fold = Fold(max_put_bytes) if deletes or not capabilities.written_by_driver else None
        self._max_folded_bytes = folded_bytes
        self._folded_bytes = 0
        self._counts = WriteCounts()
        self._known_refused: RefusedRows = {}
        self._max_refused: int | None = None
        self.batch_time_ms = 0
        self.refused: RefusedRows = {}
        self._changed: set[str] = set()
        self._asked: str | None = None

    def begin(self, spec: TaskSpec, prepared: Prepared, counts: WriteCounts) -> None:
        """
        Start a flush cycle.

        Args:
            spec: of the task.
            prepared: what the driver knows of the store.
            counts: to which the mutator adds what it sends.

        Raises:
            StoreUnavailableError: a chunk of an earlier flush cycle is still in flight.
        """
        self._counts = counts
        self._known_refused = prepared.refused
        self._max_refused = spec.max_failures
        self.batch_time_ms = spec.batch.time_ms
        self.refused = {}
        self._changed = set()
        for buffer in self._buffers:
            buffer.clear()
        if self._fold is not None:
            self._fold.clear()
        self._folded_bytes = 0
        self.families.begin(prepared.families, prepared.at_limit)
        for sender in self._senders:
            sender.begin(spec.patience_s)

    def mutate(self, table: str, mutation: Mutation) -> None:
        """
        Add a mutation to the flush cycle; the families it names exist.

        Raises:
            MappingError: its row was refused in an earlier flush cycle, and the store refuses this mutation.
            StoreError: the store failed to write an earlier mutation; the flush cycle is over.
        """
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
                # chunks have no order: no row of this fold may be buffered beside the next fold, with older values
                for buffer in self._buffers:
                    buffer.flush()
                self._folded_bytes = 0

    def refused_first(self, mutations: Sequence[tuple[str, Mutation]]) -> Sequence[tuple[str, Mutation]]:
        """
        The mutations of one event in an order to take them: when the first raises, none of the others was taken.

        Rows that earlier flush cycles found refused come first; mutations of one row keep their order.
        """
        refused = self._known_refused
        return sorted(mutations, key=lambda each: (each[0], each[1].row) not in refused) if refused else mutations

    def split_end(self) -> None:
        """
        End a split, for a store that the driver writes.

        Row keys of one split are often close together. A file with a narrow key range does not overlap others and is
        not merged with them, so the file is closed here if it is large enough.
        """
        for buffer in self._buffers:
            if buffer.waiting_bytes >= MIN_FILE_BYTES:
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
                for buffer in self._buffers:
                    buffer.flush()
            for sender in self._senders:
                sender.wait()
        except StoreError:
            self.families.forget()
            raise
        finally:
            self._count()
        if self._changed:
            # its events were checked against families that have changed; a run checks them again
            raise StoreUnavailableError(
                f"{_tables(self._changed)} lost a family during the write, or got one that not all regions know yet; "
                "the rows are checked again",
                code="families_changed",
            )

    def probe(self) -> bytes:
        """Rows that a blocked flush cycle could not send, or the table it could not read; b"" for neither."""
        for sender in self._senders:
            chunk = sender.blocked
            if chunk is not None:
                return packed_probe(chunk.table, chunk.mutations[:MAX_PROBE_ROWS])
        return b"" if self._asked is None else packed_probe(self._asked, ())

    def close(self) -> None:
        """Close the store."""
        for sender in self._senders:
            sender.close()

    def _families_in_store(self, table: str) -> frozenset[bytes] | None:
        self._asked = table
        families = self._senders[0].call(lambda store: store.families(table))
        self._asked = None
        return families

    def _drain(self, fold: Fold) -> None:
        buffers = self._buffers
        folded: Iterable[tuple[str, Mutation]] = chain(fold.deletes(), fold.puts())
        for table, mutation in folded:
            buffers[crc32(mutation.row) % len(buffers)].add(table, mutation)
        fold.clear()

    def _write_alone(self, table: str, mutation: Mutation) -> None:
        """
        Send a mutation whose row was refused before in a call of its own: several events may have written that row, and
        only the bad ones must fail.

        Folded operations cannot be separated again: all events of such a row fail.
        """
        place = table, mutation.row
        refused: tuple[str, str] | None = self._known_refused[place]
        if isinstance(mutation, Put) and not self._deletes:
            number = crc32(mutation.row) % len(self._senders)
            cells, size = len(mutation.columns), size_of(mutation)
            self._sends[number](Chunk(table, [mutation], cells, size))
            self._senders[number].wait()
            self._count()
            refused = self.refused.pop(place, None)
        if refused is not None:
            code, reason = refused
            raise MappingError(f'store "{self.store_name}" refused a row of table "{table}": {reason}', code=code)

    def _sending(self, sender: Sender) -> Callable[[Chunk], None]:
        def send(chunk: Chunk) -> None:
            try:
                sender.submit(chunk)
            except StoreError:
                self.families.forget()
                raise
            finally:
                self._count()

        return send

    def _count(self) -> None:
        counts = self._counts
        for sender in self._senders:
            for sent in sender.take_results():
                counts.rows_sent += sent.rows_sent
                counts.retries += sent.retries
                counts.flush_s.append(sent.seconds)
                if sent.stored:
                    counts.write_calls += 1
                    counts.cells += sent.cells
                    counts.bytes += sent.size_bytes
                for refusal in sent.refused:
                    self._refuse(sent.table, refusal)

    def _refuse(self, table: str, refusal: Refusal) -> None:
        """Keep a refused row for the end of the flush cycle."""
        self.families.forget()
        mutation, error = refusal
        if error.code == UNKNOWN_FAMILY:
            self._changed.add(table)
        self.refused[table, mutation.row] = error.code, str(error)
        if self._max_refused is not None and len(self.refused) > self._max_refused:
            raise ErrorBudgetSpentError(
                f'store "{self.store_name}" refused {len(self.refused)} rows of one task, the last of table "{table}": '
                f"{error}; nothing of the batch is acknowledged",
                hint="correct the table or the pipeline, or raise error_budget: {share: …}",
            )


def _tables(names: Iterable[str]) -> str:
    return ", ".join(f'table "{name}"' for name in sorted(names))

"""The one path to a store: mutations of all the sinks that write to it, buffered, sent, and durable after a flush."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from zlib import crc32

from ingest.api import Capabilities, MappingError, Mutation, Put, StoreError, StoreUnavailableError
from ingest.receipt import Counts, RefusedRows
from sinks.bisection import Refusal
from sinks.buffer import MAX_ROWS, Chunk, WriteBuffer, size_of
from sinks.fold import Fold
from sinks.handover import MIN_FILE_BYTES
from sinks.known_families import KnownFamilies
from sinks.sending import Sender

HELD_BYTES = 64 << 20
"""What a task holds of puts, so that each row leaves once; past it what is held is sent, and a row may leave twice."""
HANDED_BYTES, MAX_HANDED_ROWS = 16 << 20, 100_000
"""What a task holds for a store that the driver writes: the larger its files, the fewer the store has to merge."""
UNKNOWN_FAMILY = "unknown_family"


@dataclass(frozen=True, slots=True)
class WriteContext:
    """
    What a round of writing needs to know.

    Attributes:
        batch_time_ms: time of the micro-batch.
        counts: where the mutator adds what it sent.
        patience_s: how long a chunk may be in flight before the round is given up.
        families: (store, table) -> families that are known to exist.
        closed: (store, table) that may not get further families.
        refused: (table, row key) -> code and reason, of rows that earlier rounds of this micro-batch found refused.
    """

    batch_time_ms: int
    counts: Counts = field(default_factory=Counts)
    patience_s: float = 10.0
    families: Mapping[tuple[str, str], frozenset[bytes]] = field(default_factory=dict)
    closed: frozenset[tuple[str, str]] = frozenset()
    refused: RefusedRows = field(default_factory=dict)


class BufferedMutator:
    """
    Mutations on their way into one store: folded, buffered, sent, counted.

    All sinks of a pipeline that write to a store share one: what they do to a row is done in the order of the events.

    A row that several events write leaves once, as it is in the end. A call that was given up may still be carried out,
    after the batch was written by another process and acknowledged; then it writes what is there already.

    Called by one thread. Order: begin, any number of mutate, then flush; that is a round, one micro-batch of one
    partition. A round that raised a StoreError or that was given up is simply begun again: the same events give the
    same mutations. After flush returns and no families are needed, all that was taken is durable.

    Args:
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages and receipts.
        capabilities: of the store at the end, also when the senders lead to a handover.
        buffer_bytes: bound on what waits for a call, in all buffers together; what is held to be folded comes on top.
        deletes: whether there may be deletes; then nothing is sent before the end of a round, however much it holds.
        max_put_bytes: how large a put of several events of one row may be, as the store's settings say; None for any.
        held_bytes: how much is held to be folded, where there are no deletes.
        handed_bytes: least bound on what waits for a store that the driver writes.
        clock: monotonic seconds.

    Attributes:
        batch_time_ms: of the round.
        families: of the store's tables. When the round needs some that are not there, nothing more of it is sent, and
            it has to be run again once they are.
        refused: (table, row key) -> code and reason of rows that the store can never write; complete after flush, when
            all else is durable. The round has to be run again with them in its context, to learn whose they are.
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
        held_bytes: int = HELD_BYTES,
        handed_bytes: int = HANDED_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._senders = tuple(senders)
        self.store_name = store_name
        self.capabilities = capabilities
        self.families = KnownFamilies(store_name, self._families_in_store, clock)
        self._sends = tuple(self._sending(sender) for sender in self._senders)
        if capabilities.written_by_driver:
            # what goes to the driver goes in files, where each mutation has its own time and flag anyway
            limit, max_rows, mixed = max(buffer_bytes, handed_bytes), MAX_HANDED_ROWS, True
        else:
            limit, max_rows, mixed = max(1, buffer_bytes // len(self._senders)), MAX_ROWS, False
        self._buffers = tuple(WriteBuffer(limit, send, max_rows=max_rows, mixed=mixed) for send in self._sends)
        self._deletes = deletes
        self._fold = Fold(max_put_bytes) if deletes or not capabilities.written_by_driver else None
        self._max_held_bytes = held_bytes
        self._held_bytes = 0
        self._context = WriteContext(0)
        self.batch_time_ms = 0
        self.refused: RefusedRows = {}
        self._changed: set[str] = set()

    def begin(self, context: WriteContext) -> None:
        """
        Start a round.

        Raises:
            StoreUnavailableError: a chunk of an earlier round is still in flight.
        """
        self._context = context
        self.batch_time_ms = context.batch_time_ms
        self.refused = {}
        self._changed = set()
        for buffer in self._buffers:
            buffer.clear()
        if self._fold is not None:
            self._fold.clear()
        self._held_bytes = 0
        self.families.begin(context.families, context.closed)
        for sender in self._senders:
            sender.begin(context.patience_s)

    def mutate(self, table: str, mutation: Mutation) -> None:
        """
        Take a mutation on its way to the store; the families it names exist.

        Raises:
            MappingError: its row was refused in an earlier round, and it is the one that the store refuses.
            StoreError: the store does not take what was sent before; the round is over.
        """
        if self._context.refused and (table, mutation.row) in self._context.refused:
            self._write_alone(table, mutation)
            return
        if self._fold is not None and self._deletes:
            self._fold.add(table, mutation)
        elif not isinstance(mutation, Put):
            raise TypeError("the mapper gave a delete, but the way to the store was made for puts alone")
        elif self._fold is None:
            self._buffers[0].add(table, mutation)
        else:
            self._fold.add(table, mutation)
            self._held_bytes += size_of(mutation)
            if self._held_bytes >= self._max_held_bytes:
                self._drain(self._fold)
                # a chunk knows no order: none of this fold may wait beside those of the next, with older values
                for buffer in self._buffers:
                    buffer.flush()
                self._held_bytes = 0

    def end_of_partition(self) -> None:
        """
        Be told that what follows is of another partition, where the driver writes.

        Rows of one partition are often neighbours, by place or by time. A file of neighbours lies beside the others
        and is not merged with them, so one is cut here if it is large enough.
        """
        for buffer in self._buffers:
            if buffer.waiting_bytes >= MIN_FILE_BYTES:
                buffer.flush()

    def flush(self) -> None:
        """
        Send the rest and return once all is durable; where families are needed only what is in flight is waited for.

        Raises:
            StoreError: the store does not take what was sent; the round is over.
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
            # its events were checked against what was there then: run again, they meet what is there now
            raise StoreUnavailableError(
                f"{_tables(self._changed)} lost a family while written, or got one that not all regions know yet; "
                "the rows are checked again",
                code="families_changed",
            )

    def close(self) -> None:
        """Let go of the store."""
        for sender in self._senders:
            sender.close()

    def _families_in_store(self, table: str) -> frozenset[bytes] | None:
        return self._senders[0].call(lambda store: store.families(table))

    def _drain(self, fold: Fold) -> None:
        buffers = self._buffers
        folded: Iterable[tuple[str, Mutation]] = chain(fold.deletes(), fold.puts())
        for table, mutation in folded:
            buffers[crc32(mutation.row) % len(buffers)].add(table, mutation)
        fold.clear()

    def _write_alone(self, table: str, mutation: Mutation) -> None:
        """
        Send a mutation whose row was refused before by itself: several events may have met in that row, and only the
        bad ones of them are to fail.

        Folded operations can not be told apart again: all events of such a row fail.
        """
        place = table, mutation.row
        refused: tuple[str, str] | None = self._context.refused[place]
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
        counts = self._context.counts
        for sender in self._senders:
            for sent in sender.taken():
                counts.rows_sent += sent.rows_sent
                counts.retries += sent.retries
                counts.flush_s.append(sent.seconds)
                if sent.stored:
                    counts.chunks += 1
                    counts.cells += sent.cells
                    counts.bytes += sent.size_bytes
                for refusal in sent.refused:
                    self._refuse(sent.table, refusal)

    def _refuse(self, table: str, refusal: Refusal) -> None:
        """Keep a refusal for the end of the round."""
        self.families.forget()
        mutation, error = refusal
        if error.code == UNKNOWN_FAMILY:
            self._changed.add(table)
        self.refused[table, mutation.row] = error.code, str(error)


def _tables(names: Iterable[str]) -> str:
    return ", ".join(f'table "{name}"' for name in sorted(names))

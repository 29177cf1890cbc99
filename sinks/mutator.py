"""The one path to a store: mutations of all the sinks that write to it, buffered, sent, and durable after a flush."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from zlib import crc32

from ingest.api import Capabilities, MappingError, Mutation, Put, StoreError, StoreUnavailableError
from ingest.receipt import Counts, RefusedRows
from sinks.bisection import Refusal
from sinks.buffer import Chunk, WriteBuffer, size_of
from sinks.fold import Fold
from sinks.sending import Sender

ASK_AGAIN_S = 60.0
"""How long a store's answer about the families of a table holds, within one round, when a family is missing in it."""
HELD_BYTES = 64 << 20
"""What a task holds of puts, so that each row leaves once; past it what is held is sent, and a row may leave twice."""
MOST_PUT_BYTES = 1 << 20
"""Of the events of one row taken together: half of what a framed Thrift server takes with HBase's defaults."""
UNKNOWN_FAMILY = "unknown_family"
MAX_KNOWN_COLUMNS = 100_000
"""Columns of a table remembered as good; data that makes more columns than this pays for a look at each family."""


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
    Mutations on their way into one store, as HBase's class of that name has them.

    All sinks of a pipeline that write to a store share one: what they do to a row is done in the order of the events.

    A row that several events write leaves once, as it is in the end. A call that was given up may still be carried out,
    after the batch was written by another process and acknowledged; then it writes what is there already.

    Called by one thread. Order: begin, any number of mutate, then flush; that is a round, one micro-batch of one
    partition. A round that raised a StoreError or that was given up is simply begun again: the same events give the
    same mutations. After flush returns without `needs_families`, all that was taken is durable.

    Args:
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages and receipts.
        capabilities: of the store at the end, also when the senders lead to a handover.
        buffer_bytes: bound on what waits for a call, in all buffers together; what is held to be folded comes on top.
        deletes: whether there may be deletes; then nothing is sent before the end of a round, however much it holds.
        held_bytes: how much is held to be folded, where there are no deletes.
        clock: monotonic seconds.

    Attributes:
        batch_time_ms: of the round.
        closed: (store, table) that may not get further families in this round.
        good: table -> columns whose families are known to exist.
        needs_families: (store, table) -> families this round met and that must be made first; the round has to be run
            again then, so nothing more of it is sent. An empty set stands for a table alone.
        refused: (table, row key) -> code and reason of rows that the store can never write; complete after flush, when
            all else is durable. The round has to be run again with them in its context, to learn whose they are.
    """

    def __init__(
        self,
        senders: Sequence[Sender],
        store_name: str,
        *,
        capabilities: Capabilities,
        buffer_bytes: int,
        deletes: bool,
        held_bytes: int = HELD_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._senders = tuple(senders)
        self.store_name = store_name
        self.capabilities = capabilities
        self._clock = clock
        limit = max(1, buffer_bytes // len(self._senders))
        # what goes to the driver goes in a file, where each mutation has its own time and flag anyway
        mixed = capabilities.written_by_driver
        self._sends = tuple(self._sending(sender) for sender in self._senders)
        self._buffers = tuple(WriteBuffer(limit, send, mixed=mixed) for send in self._sends)
        self._deletes = deletes
        most_put_bytes = None if capabilities.atomic_row else MOST_PUT_BYTES
        self._fold = Fold(most_put_bytes) if deletes or not capabilities.written_by_driver else None
        self._most_held_bytes = held_bytes
        self._held_bytes = 0
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._asked_at: dict[str, float] = {}
        self._context = WriteContext(0)
        self.batch_time_ms = 0
        self.closed: frozenset[tuple[str, str]] = frozenset()
        self.good: dict[str, set[bytes]] = {}
        self.needs_families: dict[tuple[str, str], set[bytes]] = {}
        self.refused: RefusedRows = {}
        self._changed: set[str] = set()

    def begin(self, context: WriteContext) -> None:
        """
        Start a round.

        Raises:
            StoreUnavailableError: a chunk of an earlier round is still in flight.
        """
        # what was missing may have been made meanwhile: by the driver, for another worker, or by an operator
        self._asked_at.clear()
        self._context = context
        self.batch_time_ms = context.batch_time_ms
        self.closed = context.closed
        self.needs_families = {}
        self.refused = {}
        self._changed = set()
        for buffer in self._buffers:
            buffer.clear()
        if self._fold is not None:
            self._fold.clear()
        self._held_bytes = 0
        for (store, table), names in context.families.items():
            if store == self.store_name and not names <= (self._known.get(table) or frozenset()):
                self._known[table] = names | (self._known.get(table) or frozenset())
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
            if self._held_bytes >= self._most_held_bytes:
                self._drain(self._fold)
                # a chunk knows no order: none of this fold may wait beside those of the next, with older values
                for buffer in self._buffers:
                    buffer.flush()
                self._held_bytes = 0

    def remember(self, table: str, put: Put) -> None:
        """Columns of a put whose families exist: they need not be looked at again."""
        good = self.good.setdefault(table, set())
        if len(good) > MAX_KNOWN_COLUMNS:
            good.clear()
        good.update(put.columns)

    def flush(self) -> None:
        """
        Send the rest and return once all is durable; with `needs_families` only what is in flight is waited for.

        Raises:
            StoreError: the store does not take what was sent; the round is over.
        """
        try:
            if not self.needs_families:
                if self._fold is not None:
                    self._drain(self._fold)
                for buffer in self._buffers:
                    buffer.flush()
            for sender in self._senders:
                sender.wait()
        except StoreError:
            self._forget()
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

    def families_of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
        """
        The families of a table, asked for when one of those that are wanted is not known; None for no table.

        Raises:
            StoreError: the store does not answer.
        """
        known = self._known.get(table)
        if known is not None and wanted <= known:
            return known
        now = self._clock()
        asked_at = self._asked_at.get(table)
        if asked_at is None or now - asked_at >= ASK_AGAIN_S:
            try:
                found = self._senders[0].call(lambda store: store.families(table))
            except StoreError:
                self._forget()
                raise
            self._asked_at[table] = now
            # what the driver made a moment ago may be newer than what this store's connection knows
            if found is not None:
                known = found | (known or frozenset())
            self._known[table] = known
        return known

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
                self._forget()
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
        self._forget()
        mutation, error = refusal
        if error.code == UNKNOWN_FAMILY:
            self._changed.add(table)
        self.refused[table, mutation.row] = error.code, str(error)

    def _forget(self) -> None:
        """After an error what was known about tables may be what was wrong."""
        self._known.clear()
        self._asked_at.clear()
        self.good.clear()


def _tables(names: Iterable[str]) -> str:
    return ", ".join(f'table "{name}"' for name in sorted(names))


def families_in(mutation: Mutation) -> set[bytes]:
    """The families that a mutation names; none for the delete of a row."""
    if isinstance(mutation, Put):
        return {column.partition(b":")[0] for column in mutation.columns}
    return set() if mutation.family is None else {mutation.family}


def named(families: Iterable[bytes]) -> str:
    """For messages: `family "a"`, `families "a", "b"`."""
    names = [f'"{name.decode("utf-8", "replace")}"' for name in sorted(families)]
    return f"{'family' if len(names) == 1 else 'families'} {', '.join(names)}"

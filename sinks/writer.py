"""The one path to a store: an event is mapped, checked, folded, buffered and sent."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    Capabilities,
    Event,
    MappingError,
    Mutation,
    Put,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
)
from ingest.receipt import Counts, RefusedRows
from sinks.bisection import Refusal
from sinks.buffer import Chunk, WriteBuffer, size_of
from sinks.fold import Fold
from sinks.mapping.guards import check_row_key, check_time
from sinks.mapping.mapper import Mapper, OnUnknown, Skipped
from sinks.sending import Sender

ASK_AGAIN_S = 60.0
"""How long a store's answer about the families of a table holds, within one round, when a family is missing in it."""
UNKNOWN_FAMILY = "unknown_family"
MAX_KNOWN_COLUMNS = 100_000
"""Columns of a table remembered as good; data that makes more columns than this pays for a look at each family."""


@dataclass(frozen=True, slots=True)
class WriteContext:
    """
    What a round of writing needs to know.

    Attributes:
        batch_time_ms: time of the micro-batch.
        counts: where the writer adds what it sent.
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


class Writer:
    """
    Events of one sink on their way into one store.

    Called by one thread. Order: begin, any number of write, then flush; that is a round, one micro-batch of one
    partition. A round that raised a StoreError or that was given up is simply begun again: the same events give the
    same mutations. After flush returns without `needs_families`, all that was taken is durable.

    Args:
        mapper: event to mutation.
        senders: connections; a row key always uses the same one.
        store_name: name of the store in the configuration, for messages and receipts.
        capabilities: of the store at the end, also when the senders lead to a handover.
        deletes: whether the mapper may give deletes; then a whole round is held and folded before it is sent.
        clock: monotonic seconds.

    Attributes:
        needs_families: (store, table) -> families this round met and that must be made first; the round has to be run
            again then. An empty set stands for a table alone.
        refused: (table, row key) -> code and reason of rows that the store can never write; complete after flush, when
            all else is durable. The round has to be run again with them in its context, to learn whose they are.
    """

    def __init__(
        self,
        mapper: Mapper[Any],
        senders: Sequence[Sender],
        store_name: str,
        *,
        capabilities: Capabilities,
        deletes: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        options = mapper.settings
        self._map = mapper.map
        self._senders = tuple(senders)
        self._store_name = store_name
        self._capabilities = capabilities
        wanted = options.families.on_unknown or OnUnknown.CREATE
        # nobody could make what is asked for, and the batch would run again for ever
        can_not = wanted is OnUnknown.CREATE and not capabilities.creates_families
        self._on_unknown = OnUnknown.ERROR if can_not else wanted
        self._clock = clock
        # all buffers together hold what the option says
        limit = max(1, options.write_buffer_size // len(self._senders))
        # what goes to the driver goes in a file, where each mutation has its own time anyway
        many = capabilities.written_by_driver
        self._sends = tuple(self._sending(sender) for sender in self._senders)
        self._buffers = tuple(WriteBuffer(limit, send, many_times=many) for send in self._sends)
        self._only = self._buffers[0] if len(self._buffers) == 1 else None
        self._fold = Fold() if deletes else None
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._asked_at: dict[str, float] = {}
        self._good: dict[str, set[bytes]] = {}
        self._context = WriteContext(0)
        self._batch_time_ms = 0
        self.needs_families: dict[tuple[str, str], set[bytes]] = {}
        self.refused: RefusedRows = {}
        self._suspects: list[tuple[str, Mutation]] = []

    def begin(self, context: WriteContext) -> None:
        """
        Start a round.

        Raises:
            StoreUnavailableError: a chunk of an earlier round is still in flight.
        """
        # what was missing may have been made meanwhile: by the driver, for another worker, or by an operator
        self._asked_at.clear()
        self._context = context
        self._batch_time_ms = context.batch_time_ms
        self.needs_families = {}
        self.refused = {}
        self._suspects = []
        for buffer in self._buffers:
            buffer.clear()
        if self._fold is not None:
            self._fold.clear()
        for (store, table), names in context.families.items():
            if store == self._store_name and not names <= (self._known.get(table) or frozenset()):
                self._known[table] = names | (self._known.get(table) or frozenset())
        for sender in self._senders:
            sender.begin(context.patience_s)

    def write(self, event: Event) -> str | None:
        """
        Take an event on its way to the store.

        Returns:
            None when it was taken, else the reason it becomes nothing, on purpose.

        Raises:
            MappingError: the event can not be written by this sink.
            StoreError: the store does not take what was sent before; the round is over.
        """
        mapped = self._map(event, self._batch_time_ms)
        if isinstance(mapped, Skipped):
            return mapped.reason
        table, mutation = mapped
        row = mutation.row
        if not 0 < len(row) <= MAX_ROW_KEY_BYTES or mutation.timestamp_ms < 0:
            check_row_key(row)
            check_time(mutation.timestamp_ms)
        good = self._good.get(table)
        if type(mutation) is not Put or good is None or not mutation.columns.keys() <= good:
            reason = self._admit(table, mutation)
            if reason is not None:
                return reason
        if self.needs_families:
            return None
        if self._context.refused and (table, row) in self._context.refused:
            self._write_alone(table, mutation)
        elif self._fold is not None:
            self._fold.add(table, mutation)
        elif isinstance(mutation, Put):
            (self._only or self._buffers[crc32(row) % len(self._buffers)]).put(table, mutation)
        else:
            raise TypeError("the mapper gave a delete, but the writer was made for puts alone")
        return None

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
        for table, mutation in self._suspects:
            self._check_still_there(table, mutation)

    def close(self) -> None:
        """Let go of the store."""
        for sender in self._senders:
            sender.close()

    def _drain(self, fold: Fold) -> None:
        buffers = self._buffers
        for table, delete in fold.deletes():
            buffers[crc32(delete.row) % len(buffers)].delete(table, delete)
        for buffer in buffers:
            buffer.flush()
        for table, put in fold.puts():
            buffers[crc32(put.row) % len(buffers)].put(table, put)
        fold.clear()

    def _write_alone(self, table: str, mutation: Mutation) -> None:
        """
        Send a mutation whose row was refused before by itself: several events may have met in that row, and only the
        bad ones of them are to fail.

        Folded operations can not be told apart again: all events of such a row fail.
        """
        place = table, mutation.row
        refused: tuple[str, str] | None = self._context.refused[place]
        if isinstance(mutation, Put) and self._fold is None:
            number = crc32(mutation.row) % len(self._senders)
            cells, size = len(mutation.columns), size_of(mutation)
            self._sends[number](Chunk(table, mutation.timestamp_ms, mutation.wal, [mutation], cells, size))
            self._senders[number].wait()
            self._count()
            refused = self.refused.pop(place, None)
        if refused is not None:
            code, reason = refused
            raise MappingError(f'store "{self._store_name}" refused a row of table "{table}": {reason}', code=code)

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
            self._suspects.append((table, mutation))
        self.refused[table, mutation.row] = error.code, str(error)

    def _check_still_there(self, table: str, mutation: Mutation) -> None:
        """
        Give up a round during which a table lost a family.

        Its events were checked against what was there then. Run again, they are checked against what is there now, and
        `on_unknown` says what becomes of them.
        """
        families = _families(mutation)
        gone = families - (self._families_of(table, families) or frozenset())
        if gone:
            raise StoreUnavailableError(
                f'table "{table}" lost {_named(gone)} while it was written; its rows are checked again',
                code="families_changed",
            )

    def _forget(self) -> None:
        """After an error what was known about tables may be what was wrong."""
        self._known.clear()
        self._asked_at.clear()
        self._good.clear()

    def _admit(self, table: str, mutation: Mutation) -> str | None:
        """Check the families of a mutation that was not seen before; the reason when the event becomes nothing."""
        families = _families(mutation)
        known = self._families_of(table, families)
        if known is None and not self._capabilities.creates_tables:
            raise StoreRefusedError(
                f'there is no table "{table}" in store "{self._store_name}"',
                code="no_table",
                hint="create it with 'ingest table apply'",
            )
        missing = families - (known or frozenset())
        if missing or known is None:
            return self._unknown(table, missing)
        if isinstance(mutation, Put):
            good = self._good.setdefault(table, set())
            if len(good) > MAX_KNOWN_COLUMNS:
                good.clear()
            good.update(mutation.columns)
        return None

    def _unknown(self, table: str, missing: set[bytes]) -> str | None:
        place = (self._store_name, table)
        if not missing or (self._on_unknown is OnUnknown.CREATE and place not in self._context.closed):
            self.needs_families.setdefault(place, set()).update(missing)
            return None
        if self._on_unknown is OnUnknown.DROP:
            return UNKNOWN_FAMILY
        if self._on_unknown is OnUnknown.CREATE:
            hint = (
                "the limit of families made by events is reached: raise `families: max_created`, or add it to `tables`"
            )
        else:
            hint = "add it under `tables` and run 'ingest table apply', or say `families: {on_unknown: drop}`"
            if self._capabilities.creates_families:
                hint = "add it under `tables`, or say `families: {on_unknown: create}`"
        raise MappingError(f'no {_named(missing)} in table "{table}"', code=UNKNOWN_FAMILY, hint=hint)

    def _families_of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
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


def _families(mutation: Mutation) -> set[bytes]:
    if isinstance(mutation, Put):
        return {column.partition(b":")[0] for column in mutation.columns}
    return set() if mutation.family is None else {mutation.family}


def _named(families: Iterable[bytes]) -> str:
    names = [f'"{name.decode("utf-8", "replace")}"' for name in sorted(families)]
    return f"{'family' if len(names) == 1 else 'families'} {', '.join(names)}"

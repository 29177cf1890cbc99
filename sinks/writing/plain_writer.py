"""Writes the tables of a store whose rows are written as they are mapped: folded by row key, if that is needed."""

from collections.abc import Callable, Sequence

from ingest.api import Mutation, Put
from ingest.api.table_writer import FirstWriter, FlushCycle, Reason, RejectedRows, refused_error
from sinks.folding.fold import Fold
from sinks.folding.sizes import size_of
from sinks.writing.mutator import BufferedMutator

BUFFERED_BYTES = 64 << 20
"""Bytes of puts that a task buffers to send each row once; rows of a full buffer may be sent again later."""


class PlainWriter(FirstWriter):
    """
    Writes the tables of one store that have no writer of their own.

    A row that several events write is sent once, in its final state. A timed-out call may still execute, even after
    another process wrote the batch and it was acknowledged; it then writes the same values again.

    Args:
        mutator: of the store.
        store_name: name of the store in the configuration.
        deletes: whether there may be deletes; then nothing is sent before the end of a flush cycle, and the buffer has
            no bound.
        folds: whether rows are sent once; needed for deletes.
        max_put_bytes: as in `Fold`.
        max_folded_bytes: bound on the buffer, if there are no deletes.

    Attributes:
        deletes: whether there may be deletes.
    """

    def __init__(
        self,
        mutator: BufferedMutator,
        store_name: str,
        *,
        deletes: bool,
        folds: bool,
        max_put_bytes: int | None = None,
        max_folded_bytes: int = BUFFERED_BYTES,
    ) -> None:
        super().__init__(mutator)
        self._mutator = mutator
        self._store_name = store_name
        self.deletes = deletes
        self._fold = Fold(max_put_bytes) if deletes or folds else None
        self._max_folded_bytes = max_folded_bytes
        self._folded_bytes = 0
        self._cycle: FlushCycle
        self._known_refused: RejectedRows = {}

    def begin(self, cycle: FlushCycle) -> None:
        """Start a flush cycle."""
        self._mutator.begin(cycle)
        self._cycle = cycle
        self._known_refused = cycle.refused
        self._folded_bytes = 0
        if self._fold is not None:
            self._fold.clear()

    def is_refused(self, table: str, row: bytes) -> bool:
        """Whether an earlier attempt found a row refused."""
        return (table, row) in self._known_refused

    def check(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Every mutation can be added, unless its row was refused."""

    def adder(self) -> Callable[[str, Mutation], None]:
        """What adds a mutation in this flush cycle: the mutator itself, if nothing is folded and no row was refused."""
        return self._mutator.add if self._fold is None and not self._known_refused else self.add

    def add(self, table: str, mutation: Mutation) -> None:
        """Fold a mutation; or write it, if earlier attempts found its row refused."""
        if self._known_refused and (table, mutation.row) in self._known_refused:
            self._add_refused(table, mutation)
        elif self._fold is None:
            self._mutator.add(table, mutation)
        else:
            self._fold.add(table, mutation)
            if self.deletes:
                return
            self._folded_bytes += size_of(mutation)
            if self._folded_bytes >= self._max_folded_bytes:
                self._mutator.add_all(self._fold.drain())
                # chunks have no order: values of this fold may not be sent after those of the next one
                self._mutator.send()
                self._folded_bytes = 0

    def flush(self) -> None:
        """Send what is folded, and return when it is durable or refused."""
        if self._fold is not None:
            self._mutator.add_all(self._fold.drain())
            self._cycle.counts.joined_puts += self._fold.take_joined()
        self._mutator.flush()

    def refused(self) -> RejectedRows:
        """The rows that the store has refused; called last, since all other writers have taken theirs."""
        return self._mutator.take_all_refused()

    def _add_refused(self, table: str, mutation: Mutation) -> None:
        """
        Write a mutation of a refused row in a call of its own: several events may have written that row, and only the
        bad ones must fail.

        With deletes the operations on a row are folded and cannot be sent separately: all its events fail.
        """
        reason: Reason | None = self._known_refused[table, mutation.row]
        if isinstance(mutation, Put) and not self.deletes:
            reason = self._mutator.write_alone(table, mutation)
        if reason is not None:
            raise refused_error(self._store_name, table, reason)

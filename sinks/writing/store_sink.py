"""The task sink of all sinks of a pipeline that write to one store."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ingest.api import Capabilities, Mutation, SinkResult, TaskSink, TaskSpec, WriteCounts
from ingest.api.table_writer import FirstWriter, FlushCycle, RowReader
from sinks.writing.known_families import KnownFamilies
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.mutator import BufferedMutator
from sinks.writing.plain_writer import PlainWriter
from sinks.writing.record_bytes import MAX_RECORD_BYTES, RecordBytes
from sinks.writing.staging import StagingWriter


class StoreSink(TaskSink):
    """
    Writes to the tables of one store: each has the first of its writers, and the last one of all is the mutator.

    All sinks of a pipeline that write to a store share it: operations on a row are applied in the order of the events.

    Args:
        mutator: of the store.
        store_name: name of the store in the configuration, for messages.
        capabilities: of the store itself, also if the mutator writes to a staging writer.
        plain: writes all tables but those of `tables`.
        tables: name of a table -> its first writer.
        staging: the target of the mutator's senders, for a store that only the driver may write; else None.
        reader: of writers; None if none reads rows.
        families: of the store's tables; None to read them from the store when a mutation needs them.
        max_record_bytes: see `RecordBytes`.
        clock: monotonic seconds.

    Attributes:
        batch_time_ms: of the flush cycle.
        record_bytes: counts what the events of each record write.
        families: of the store's tables. If the flush cycle needs missing ones, nothing more of it is sent, and the
            batch must run again once they exist.
        deletes: whether there may be deletes.
        add: adds a mutation, see `adder`; set by `begin`.
    """

    def __init__(  # noqa: PLR0913 - the parts of a store's way, each used once
        self,
        mutator: BufferedMutator,
        store_name: str,
        *,
        capabilities: Capabilities,
        plain: PlainWriter,
        tables: Mapping[str, FirstWriter] = MappingProxyType({}),
        staging: StagingWriter | None = None,
        reader: RowReader | None = None,
        families: KnownFamilies | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mutator = mutator
        self.store_name = store_name
        self.capabilities = capabilities
        self._plain = plain
        self._tables = tables
        self._writers: Sequence[FirstWriter] = (*tables.values(), plain)
        self._staging = staging
        self._reader = reader
        self.families = families or KnownFamilies(mutator, clock)
        self.record_bytes = RecordBytes(max_record_bytes)
        self.deletes = plain.deletes
        self.add = self.adder()
        self.batch_time_ms = 0
        self._has_refused = False
        self._is_complete = True

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start a flush cycle of all writers, and a staged file."""
        known = Prepared.unpacked(prepared)
        if self._staging is not None:
            path = Path(known.folder) / f"{spec.task_id}.puts"
            self._staging.begin(str(path), known.families, known.formats)
        if not self._is_complete:
            # the error may mean that what is known of the families is out of date
            self.families.invalidate()
        self._is_complete = False
        self.batch_time_ms = spec.batch.time_ms
        self.record_bytes.begin()
        self._has_refused = bool(known.refused)
        self._mutator.start(spec, known, counts)
        cycle = FlushCycle(spec.batch.time_ms, counts, known.refused, known.features)
        for writer in self._writers:
            writer.begin(cycle)
        self.families.begin(known.families, known.at_limit)
        # decided once, not for each mutation
        self.add = self.adder()

    def adder(self) -> Callable[[str, Mutation], None]:
        """What adds a mutation to the first writer of its table in this flush cycle; as `TableWriter.add`."""
        return self._add if self._tables else self._plain.adder()

    def in_order(self, mutations: Sequence[tuple[str, Mutation]]) -> Sequence[tuple[str, Mutation]]:
        """
        The mutations of one event, first those of refused rows, so that none is written if one of these raises.

        The rows were refused in earlier flush cycles. Mutations of one row keep their order.

        Raises:
            MappingError: one among them can never be written.
        """
        for table, writer in self._tables.items():
            own = [mutation for name, mutation in mutations if name == table]
            if own:
                writer.check(table, own)
        return sorted(mutations, key=self._is_writable) if self._has_refused else mutations

    def withdraw(self, mutations: Sequence[tuple[str, Mutation]]) -> None:
        """Take back what an earlier attempt may have written of an event that fails, in tables that can do so."""
        if self._has_refused:
            for table, mutation in mutations:
                if table in self._tables:
                    self._tables[table].withdraw(mutation.row)

    def split_start(self, rank: int) -> None:
        """Start a split, whose updates and changes are written under its rank."""
        for writer in self._writers:
            writer.split_start(rank)

    def split_end(self) -> None:
        """End a split: write what was folded of it, and close a staged file that is large enough."""
        if not self.families.needed:
            for writer in self._writers:
                writer.split_end()

    def flush(self) -> SinkResult:
        """Flush all writers; the batch runs again if families are needed or rows were refused."""
        needed = self.families.needed
        if needed:
            self._mutator.wait()
        else:
            for writer in self._writers:
                writer.flush()
        self._mutator.check_families()
        staged = None if self._staging is None else self._staging.finish()
        refused = {place: why for writer in self._writers for place, why in writer.refused().items()}
        self._is_complete = not refused
        result = StoreResult(staged, needed, refused)
        return SinkResult(result.packed(), run_again=bool(needed or refused))

    def probe(self) -> bytes:
        """The chunk that the store failed to write."""
        return self._mutator.probe()

    def close(self) -> None:
        """Close the connections."""
        if self._reader is not None:
            self._reader.close()
        self._mutator.close()

    def _add(self, table: str, mutation: Mutation) -> None:
        self._tables.get(table, self._plain).add(table, mutation)

    def _is_writable(self, place: tuple[str, Mutation]) -> bool:
        table, mutation = place
        return not self._tables.get(table, self._plain).is_refused(table, mutation.row)

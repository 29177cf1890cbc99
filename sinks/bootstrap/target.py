"""The table that a bootstrap writes, in any store."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ingest.api import ConflictError, FamilySpec, Mutation, Store, TableSpec
from ingest.api.cells import families_in
from ingest.retry import Retry
from sinks.bootstrap.dumped import require_values
from sinks.bootstrap.reopening_store import LONG_RETRY, ReopeningStore
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.stored_rows import has_rows
from sinks.table_records import ensure_declared
from sinks.writing.buffer import MAX_ROWS, Chunk, WriteBuffer
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.mutator import LARGE_BYTES, MAX_LARGE_ROWS
from sinks.writing.target import TargetLayer

BUFFER_BYTES = 16 << 20
"""Bytes of mutations that are buffered; with event times they are in many calls, one for each time."""
LOADED_BYTES = LARGE_BYTES // 2
"""Bytes of rows of the dump that are enough for files: half of what is buffered, since the last rows may be large."""
_ANY_TIME_MS = range(1 << 63)
"""Whatever the times of its cells are, the dump has one value for each."""


class TargetInUseError(ConflictError):
    """Another bootstrap writes the table, or it is loaded from another dump, or with other options."""

    code = "target_in_use"
    hint = "repeat the command with the same dump and the same options, or load into another table"


class TargetTable:
    """
    The table that a bootstrap writes; its row keys are the logical ones.

    Mutations are sent in large calls and in any order: the time of a cell decides which value a read returns, not the
    order of the calls, and two puts of one cell with the same time are sent in their order. A call is repeated until
    the store is available again.

    The rows of the dump may be loaded as files, although a file may lose against a cell with the same time: nothing
    else has written such a cell before, unless with the same value. A change of the feed may have another one, if the
    times are those of events, so it goes as a call.

    Called by one thread. Order: `create`, then the other methods, then `close`.

    Args:
        store: not open.
        table: its name.
        loads: around the store, for the rows of the dump; None to write them as all other mutations.
        retry: how often a call is repeated.
        buffer_bytes: of mutations.
        around_write: surrounds the write of mutations; it gets them, and what calls a function with the open store.

    Attributes:
        table: its name.
        store: calls the store.
        counted: what `loads` has counted, as `WriteCounts.counted`.
    """

    def __init__(
        self,
        store: Store[Any],
        table: str,
        *,
        loads: TargetLayer | None = None,
        retry: Retry = LONG_RETRY,
        buffer_bytes: int = BUFFER_BYTES,
        around_write: Callable[
            [Sequence[Mutation], Callable[[Callable[[Store[Any]], None]], None]], AbstractContextManager[None]
        ] = lambda _mutations, _call: nullcontext(),
    ) -> None:
        self._around_write = around_write
        self.table = table
        self.store = ReopeningStore(store if loads is None else loads, retry)
        self.counted: Counter[tuple[str, str]] = Counter()
        self._options: Mapping[bytes, FamilySpec] = {}
        self._spec = TableSpec(table)
        self._known: frozenset[bytes] = frozenset()
        is_mixed = store.capabilities.written_by_driver  # else a call has one timestamp
        self._changes = WriteBuffer(buffer_bytes, max_rows=MAX_ROWS, mixed=is_mixed)
        self._rows = None if loads is None else WriteBuffer(LARGE_BYTES, max_rows=MAX_LARGE_ROWS, mixed=True)
        self._is_loading = False

    @property
    def loads_files(self) -> bool:
        """Whether rows of the dump may be loaded as files."""
        return self._rows is not None

    @property
    def has_enough_rows(self) -> bool:
        """Whether the rows that are buffered for files are as many as a file should have."""
        return self._rows is not None and self._rows.buffered_bytes >= LOADED_BYTES

    def create(self, declared: TableSpec | None, families: Mapping[bytes, FamilySpec] = MappingProxyType({})) -> None:
        """
        Create the table if it is missing, with its families.

        Args:
            declared: the declaration of the table; None if there is none, so that a new one has no buckets.
            families: name of a family -> its options, for families that the table does not have yet.

        Raises:
            ConfigError: its rows are merged of deferred updates.
            SchemaError: the store cannot create it.
        """
        self._options = families
        spec = declared or TableSpec(self.table)
        recorded = self.store.call(lambda store: RowFormat.recorded(store, self.table))
        for rows in (RowFormat(spec.buckets, spec.updates), recorded):
            require_values(self.table, rows, hint="load the dump into a table without `updates`")
        named = {family.name for family in spec.families}
        others = tuple(family for name, family in sorted(self._options.items()) if name not in named)
        found = self.store.call(lambda store: store.families(self.table))
        if found is None and (spec.families or others):
            self.store.call(lambda store: ensure_declared(store, replace(spec, families=spec.families + others)))
            found = self.store.call(lambda store: store.families(self.table))
        self._known = found or frozenset()
        self._spec = spec
        self.store.retrying.begin(CycleTables())

    def add(self, mutations: Iterable[Mutation]) -> None:
        """
        Buffer mutations, with logical row keys; families that they name are created.

        Raises:
            StoreError: the store is unavailable, or refuses a row.
        """
        if self._is_loading:
            self.flush()
        self._buffered(self._changes, mutations)

    def load(self, mutations: Iterable[Mutation]) -> None:
        """
        As `add`, for rows of the dump, whose cells nothing has written yet, unless with the same values.

        Raises:
            StoreError: as `add`.
        """
        if self._rows is None:
            self.add(mutations)
            return
        if not self._is_loading:
            self.flush()
            self.store.retrying.begin(CycleTables(new_times_ms=_ANY_TIME_MS))
            self._is_loading = True
        self._buffered(self._rows, mutations)

    def _buffered(self, buffer: WriteBuffer, mutations: Iterable[Mutation]) -> None:
        for mutation in mutations:
            self._ensure_families(mutation)
            if self._known:  # else it deletes a row of a table without families
                for chunk in buffer.add(self.table, mutation):
                    self._send(chunk)

    def flush(self) -> None:
        """
        Send what is buffered; all mutations are durable when this returns.

        Raises:
            StoreError: as `add`.
        """
        for buffer in (self._rows, self._changes):
            for chunk in () if buffer is None else buffer.take():
                self._send(chunk)
        if self._is_loading:
            self.store.retrying.begin(CycleTables())
            self._is_loading = False

    def has_rows(self) -> bool:
        """Whether the table has a row."""
        return self.store.call(lambda store: store.families(self.table) is not None and has_rows(store, self.table))

    def property(self, name: str) -> str | None:
        """A property of the table."""
        return self.store.call(lambda store: store.properties(self.table).get(name))

    def set_property(self, name: str, before: str | None, value: str | None) -> None:
        """
        Replace a property of the table; durable when this returns.

        Raises:
            ConflictError: another process has changed it.
        """
        if not self.store.call(lambda store: store.set_property(self.table, name, before, value)):
            raise TargetInUseError(
                f'another bootstrap writes table "{self.table}"',
                hint="let one of the two end; what both have written is right",
            )

    def close(self) -> None:
        """Close the store; mutations that are still buffered are not sent."""
        self._changes.clear()
        if self._rows is not None:
            self._rows.clear()
        self.store.close()

    def _ensure_families(self, mutation: Mutation) -> None:
        missing = families_in(mutation) - self._known
        if missing:
            families = tuple(self._options.get(name, FamilySpec(name)) for name in sorted(missing))
            self.store.call(lambda store: self._add_families(store, families))
            self._known |= missing

    def _add_families(self, store: Store[Any], families: tuple[FamilySpec, ...]) -> None:
        if store.families(self.table) is None:
            ensure_declared(store, replace(self._spec, families=self._spec.families + families))
        else:
            store.ensure_table(TableSpec(self.table, families, buckets=store.buckets(self.table)))

    def _send(self, chunk: Chunk) -> None:
        with self._around_write(chunk.mutations, self.store.call):
            self.store.retrying.apply(chunk)
            for result in self.store.retrying.take_results():
                self.counted.update(result.counted)
                for refusal in result.refused:
                    raise refusal.error

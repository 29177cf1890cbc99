"""Stores of a dry run: in memory, with the tables that the file declares."""

from collections.abc import Callable, Iterable
from typing import Any

from ingest.api import Capabilities, FamilySpec, Mutation, StoreSettings, TableSpec
from ingest.clock import now_ms
from ingest.config.model import Table, declared_in
from ingest.plan.assemble import family_registry, may_delete
from ingest.plan.features import table_writers
from ingest.plan.plan import Plan
from sinks.memory import MemoryStore
from sinks.rowkeys.distribution import physical_key
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import ensure_declared
from sinks.writing.driver_store import DriverStore
from sinks.writing.known_families import KnownFamilies
from sinks.writing.mutator import BufferedMutator
from sinks.writing.plain_writer import PlainWriter
from sinks.writing.row_reader import SenderReader
from sinks.writing.sending import DirectSender
from sinks.writing.store_committer import StoreCommitter
from sinks.writing.store_sink import StoreSink

OnMutation = Callable[[str, str, Mutation, bytes], Callable[[], None]]
"""Store, table, mutation and physical row key -> callback for when the store has accepted the mutation."""


class _OpenTables(KnownFamilies):
    """
    Families of a store that creates no tables: a table that the file does not declare has every requested family.

    Such a table was created elsewhere, so its families are unknown to the dry run.
    """

    def __init__(self, store: MemoryStore, declared: frozenset[str]) -> None:
        super().__init__(store, lambda: 0.0)
        self._memory = store
        self._declared = declared

    def of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
        """The families of a table."""
        if table not in self._declared:
            self._memory.ensure_table(TableSpec(table, tuple(map(FamilySpec, sorted(wanted)))))
            return self._memory.families(table)
        return super().of(table, wanted)


class _RecordingSink(StoreSink):
    """Reports each mutation that it accepts, before mutations are combined."""

    def __init__(self, on_mutation: OnMutation, store: MemoryStore, *parts: Any, **options: Any) -> None:
        self._store = store
        self._on_mutation = on_mutation
        super().__init__(*parts, **options)

    def adder(self) -> Callable[[str, Mutation], None]:
        """What also reports the mutation."""
        add = super().adder()

        def added(table: str, mutation: Mutation) -> None:
            rows = RowFormat.recorded(self._store, table)
            # the physical key of an update row has the batch time and the rank of the split
            physical = mutation.row if rows.updates else physical_key(mutation.row, rows.buckets)
            on_accepted = self._on_mutation(self.store_name, table, mutation, physical)
            add(table, mutation)
            on_accepted()

        return added


class DryStore:
    """
    A store of the dry run: the task's half and the driver's half.

    Args:
        plan: of the pipeline.
        name: of the store.
        tables: that the file declares.
        on_mutation: called for each mutation; the callback it returns is called when the store accepts it.

    Attributes:
        sink: the task's half.
        committer: the driver's half.
    """

    def __init__(
        self,
        plan: Plan,
        name: str,
        tables: Iterable[Table],
        on_mutation: OnMutation,
    ) -> None:
        settings: StoreSettings = plan.stores[name].settings
        declared = declared_in(name, tables)
        store = MemoryStore(clock_ms=now_ms)
        store.open()
        for spec in declared.values():
            ensure_declared(store, spec)
        capabilities = Capabilities(
            written_by_driver=False,
            creates_families=settings.unsupported_reason is None,
            creates_tables=settings.creates_tables,
        )
        sender, max_put_bytes = DirectSender(store), settings.max_put_bytes
        mutator = BufferedMutator([sender], name, capabilities=capabilities, buffer_bytes=1 << 20)
        deletes = may_delete(plan, name)
        self.sink = _RecordingSink(
            on_mutation,
            store,
            mutator,
            name,
            capabilities=capabilities,
            plain=PlainWriter(mutator, name, deletes=deletes, folds=True, max_put_bytes=max_put_bytes),
            tables=table_writers(
                mutator,
                name,
                plan.features.get(name, {}),
                reader=SenderReader(sender),
                withdraws=True,
                max_put_bytes=max_put_bytes,
                is_used=lambda feature: feature.is_in_dry_runs,
            ),
            families=None if settings.creates_tables else _OpenTables(store, frozenset(declared)),
        )
        driver = DriverStore(store)
        self.committer = StoreCommitter(driver, family_registry(plan, name, driver, declared), declared=declared)

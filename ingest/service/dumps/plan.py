"""What a dump reads: the tables, their stores or frozen views of these, and the ranges of the tasks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.api import ConfigError, FamilySpec, FrozenView, Scan, Store, StoreSettings
from ingest.api.feeds import FEED
from ingest.catalog import Catalog
from ingest.config.model import Component, Configuration
from ingest.durable.record import Plain
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from ingest.plan.assemble import store_component
from ingest.plan.features import planned_in, recorded_of, row_keys
from ingest.plan.plan import Plan
from ingest.plan.reading import reading_plan
from ingest.plan.stores import missing_table, reading_store
from sinks.blobs.declared import BlobsOfTable, blobs_of
from sinks.dumps.manifest import DumpedTable
from sinks.dumps.parquet import columns_of
from sinks.dumps.ranges import DumpRange, DumpTarget
from sinks.feed.client import FeedClient
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import EVERYTHING, divided_table
from sinks.updates.feature import Updates
from sinks.updates.keys import last_update_id_of
from sinks.updates.table_updates import merging_of
from sinks.updates.withdrawn import NOTHING, Withdrawn

FEW_ROWS = 1_000
"""Tables with at most so many rows are one range, and in most cases one file."""

Freeze = Callable[[str], FrozenView[Any] | None]
"""Returns a frozen view of a store, by its name; None if the store has none, so that it is read as it is."""


@dataclass(frozen=True, slots=True)
class ResumedTable(Plain):
    """
    What the plan of a run has of a table.

    Attributes:
        last: as `DumpTarget.last`.
        ranges: all of them.
        feed: as `PlannedTable.feed`.
        columns: as `PlannedTable.columns`.
        with_blobs: whether the values of its blob store replace the pointers.
    """

    last: int
    ranges: tuple[DumpRange, ...]
    feed: Mapping[str, str]
    columns: Mapping[str, str] | None
    with_blobs: bool


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """
    A table of a dump.

    Attributes:
        store: name of its store.
        target: what is dumped of it.
        ranges: all of them.
        families: as they are.
        is_exact: its rows are from one moment.
        stored_bytes: size of its files in the store; None if the store does not report it.
        feed: number of a shard of its feed -> iterator: where the changes start that the dump may lack; empty if the
            table has no change feed.
        columns: of a Parquet file with declared columns, as `write_table_file` takes them; None for all cells.
        blobs: its blob store, whose values replace the pointers; None to dump the pointers.
        types: of its columns, with which commands show the values of the dump.
    """

    store: str
    target: DumpTarget
    ranges: Sequence[DumpRange]
    families: tuple[FamilySpec, ...]
    is_exact: bool
    stored_bytes: int | None = None
    feed: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] | None = None
    blobs: BlobsOfTable | None = None
    types: ColumnTypes = AS_BYTES

    @property
    def name(self) -> str:
        """Of the table."""
        return self.target.table

    @property
    def dumped(self) -> DumpedTable:
        """What the manifest says about it, besides its files."""
        return DumpedTable(
            (), self.is_exact, self.families, self.columns, has_values=self.blobs is not None, types=self.types
        )

    @property
    def to_resume(self) -> ResumedTable:
        """What a later process needs to resume."""
        has_blobs = self.blobs is not None
        return ResumedTable(self.target.last, tuple(self.ranges), self.feed, self.columns, with_blobs=has_blobs)

    def resumed(self, earlier: ResumedTable) -> "PlannedTable":
        """The table with the ranges of the process that was killed; its files are of an earlier moment."""
        return replace(
            self,
            target=replace(self.target, last=earlier.last),
            ranges=earlier.ranges,
            is_exact=False,
            feed=earlier.feed,
            columns=earlier.columns,
            blobs=self.blobs if earlier.with_blobs else None,
        )


class DumpSources:
    """
    The stores that a dump reads.

    Args:
        configuration: declares the stores.
        catalog: of the configuration.
        tables: name of a table -> name of its store.
        freeze: makes the views of stores that have them.

    Attributes:
        views: of the stores that have frozen views, by name.
    """

    def __init__(
        self, configuration: Configuration, catalog: Catalog, tables: Mapping[str, str], freeze: Freeze
    ) -> None:
        self._configuration = configuration
        self._catalog = catalog
        self._tables = tables
        self.views: dict[str, FrozenView[Any]] = {}
        self._components: dict[str, Component[StoreSettings]] = {}
        for name in sorted(set(tables.values())):
            catalog.load("stores", configuration.stores[name].kind)
            component = store_component(configuration, name, catalog)
            view = freeze(name)
            if view is not None:
                self.views[name] = view
                component = replace(component, settings=view.settings)
            self._components[name] = component

    def plan(self) -> Plan:
        """The stores and the deferred updates of the tables, for the tasks."""
        features = {
            name: {
                table: {Updates.name: updates}
                for table in self._of(name)
                if (updates := planned_in(self._configuration, name, table, Updates(), self._catalog)) is not None
            }
            for name in self._components
        }
        return reading_plan(self._components.values(), features, self._catalog.files, self._configuration.masks)

    def planned(
        self, min_ranges: int, columns: Mapping[str, Mapping[str, str]] | None = None, *, with_blobs: bool = False
    ) -> list[PlannedTable]:
        """
        The tables with their ranges.

        Args:
            min_ranges: minimum number of ranges of a table with more than a few rows.
            columns: of Parquet files, by table; tables that are left out have all cells.
            with_blobs: large values replace the pointers of tables that have a blob store.

        Raises:
            ConfigError: a declared column is none.
            NotFoundError: there is no such table.
            UpdatesDifferError: a table has other deferred updates than the declared ones.
            StoreError: a store is unavailable.
        """
        found = []
        for name, component in self._components.items():
            with reading_store(component) as store:
                known = store.tables()
                for table in self._of(name):
                    if table not in known:
                        raise missing_table(table, known)
                    blobs = blobs_of(self._configuration.tables, table) if with_blobs else None
                    found.append(self._planned(store, name, table, min_ranges, blobs))
        declared = columns or {}
        for each in declared.values():
            columns_of(each)  # raises if one is none
        return [replace(each, columns=declared.get(each.name)) for each in found]

    def _of(self, store: str) -> list[str]:
        return sorted(table for table, name in self._tables.items() if name == store)

    def _planned(
        self, store: Store[Any], name: str, table: str, min_ranges: int, blobs: BlobsOfTable | None
    ) -> PlannedTable:
        feed = _positions(store, table)  # before any row is read
        recorded = recorded_of(store, table)
        rows = RowFormat.of(recorded)
        last, withdrawn = 0, NOTHING
        if rows.updates:
            declared = planned_in(self._configuration, name, table, Updates(), self._catalog)
            merging_of(table, rows.updates, declared)  # raises if they differ
            found = store.properties(table)  # of one moment
            withdrawn = Withdrawn.in_properties(found, table)
            text = found.get(COMMITTED)
            last = 0 if text is None else last_update_id_of(CommittedPosition.of(text, table).time_ms)
        parts = 1 if _has_few_rows(store, table) else min_ranges
        keys = row_keys(recorded)
        divided = divided_table(store, table, [EVERYTHING], recorded.buckets, keys, min_partitions=parts)
        spec = store.describe_table(table)
        read = [table]
        if blobs is not None and store.describe_table(blobs.value_table) is not None:  # the first blob creates it
            read.append(blobs.value_table)
        return PlannedTable(
            name,
            DumpTarget(table, rows, last, withdrawn),
            DumpRange.numbered(table, [keys for partition in divided for keys in partition]),
            () if spec is None else spec.families,
            is_exact=name in self.views,
            stored_bytes=_stored_bytes(store, read),
            feed=feed,
            blobs=blobs,
            types=self._configuration.column_types(table, name),
        )


def tables_of(configuration: Configuration, names: Iterable[str]) -> dict[str, str]:
    """
    The tables of a dump: name -> name of its store.

    Args:
        configuration: declares the tables.
        names: of the tables; those of the option `dump` if empty, or else all that the file declares.

    Raises:
        ConfigError: a table could be in several stores, or there is none.
    """
    dump = configuration.dump
    chosen = [*names] or ([] if dump is None else dump.tables) or [*configuration.tables]
    if not chosen:
        raise ConfigError("the file declares no table", hint="name the tables with --tables")
    return {name: configuration.store_of_table(name) for name in dict.fromkeys(chosen)}


def _stored_bytes(store: Store[Any], tables: Iterable[str]) -> int | None:
    """The size of tables in their store; None if it does not report one."""
    total = 0
    for table in tables:
        regions = store.regions(table)
        if regions is None:
            return None
        total += sum(each.file_bytes + each.memory_bytes for each in regions)
    return total


def _positions(store: Store[Any], table: str) -> dict[str, str]:
    if FEED not in store.properties(table):
        return {}
    return {str(shard): iterator for shard, iterator in FeedClient(store, table).latest().items()}


def _has_few_rows(store: Store[Any], table: str) -> bool:
    # few rows a call: each may have many large cells
    with closing(store.scan(table, Scan(limit=FEW_ROWS + 1, page_rows=10))) as rows:
        return sum(1 for _ in rows) <= FEW_ROWS

"""Deferred updates as a feature of a table; planning imports no writer, so that `explain` and `test` start faster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ingest.api import TableSpec
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator, NamedColumn
from ingest.api.driver_feature import DriverTables
from ingest.api.notation import name_to_bytes
from ingest.api.table_feature import TableFeature, WriterPlace
from ingest.api.table_reader import ReadColumn, ReaderPlace, Recorded, TableReader
from ingest.api.table_writer import FirstWriter, TableWriter
from sinks.updates.checks import check_updates
from sinks.updates.options import UpdatesOptions
from sinks.updates.row_keys import UpdateRowKeys
from sinks.updates.table_updates import TableUpdates, merging_of
from sinks.updates.withdrawn import WITHDRAWN

if TYPE_CHECKING:
    from sinks.rewriting.owned_updates import OwnedUpdates
    from sinks.rewriting.update_readers import MergedReader, RawReader

_PROCESSOR = ("updates", "processor")
UPDATE_ROW = ReadColumn(
    "update_row",
    "the interval of an update row",
    {
        "start_time": "bigint",
        "start_split": "int",
        "end_time": "bigint",
        "end_split": "int",
        "is_merged": "boolean",
        "is_orphaned": "boolean",
    },
)
"""What an update row covers, and whether it counts; batch times in milliseconds since 1970."""


class Updates(TableFeature[UpdatesOptions]):
    """The events of a split become one update row of each row; a processor merges the update rows of a row."""

    name = "updates"
    text = (
        "Deferred updates: what a sink maps to this table is added to the row instead of replacing it. It cannot be "
        "changed once the table has rows."
    )
    example = MappingProxyType({"processor": "sum", "columns": ["c:hits"]})
    options_model = UpdatesOptions
    component_types = MappingProxyType({"processor": "processors"})
    adds_to_rows = True
    has_owner = True
    words = "deferred updates"
    needs_ranks = True
    only_named = True
    read_properties = (WITHDRAWN,)
    read_options = MappingProxyType({"raw": UPDATE_ROW})

    @classmethod
    def updates_of(cls, table: DeclaredTable) -> TableUpdates | None:
        """The deferred updates of a table without problems; None if it has none."""
        options = cls.options_of(table)
        if options is None:
            return None
        return TableUpdates(table.components[_PROCESSOR], tuple(map(name_to_bytes, options.columns)))

    def check(self, options: UpdatesOptions, table: CheckedTable, file: CheckedFile) -> None:
        """Report what cannot be merged or compacted, and sinks that cannot write updates."""
        check_updates(options, table, file, _value_type(table, file.locator))

    def columns(self, options: UpdatesOptions) -> Sequence[NamedColumn]:
        """The columns that the processor merges."""
        why = "the processor merges nothing there"
        return [NamedColumn(("updates", "columns", index), name, why) for index, name in enumerate(options.columns)]

    def column_types(self, table: DeclaredTable, locator: Locator) -> Mapping[bytes, str]:
        """That of the processor, for the columns that it merges."""
        options, value_type = self.options_of(table), _value_type(table, locator)
        if options is None or value_type is None:
            return {}
        return dict.fromkeys([name_to_bytes(column) for column in options.columns] or [b""], value_type)

    def declared(self, spec: TableSpec, table: DeclaredTable) -> TableSpec:
        """With the identity of the updates."""
        updates = self.updates_of(table)
        return spec if updates is None else replace(spec, updates=updates.identity())

    def is_in(self, spec: TableSpec) -> bool:
        """Whether it has the identity of updates."""
        return bool(spec.updates)

    def row_keys(self, recorded: Recorded) -> UpdateRowKeys | None:
        """Those of update rows, if the table has some."""
        return UpdateRowKeys() if recorded.properties.get(self.name) else None

    def on_driver(self, tables: DriverTables) -> "OwnedUpdates":
        """Withdraws incomplete updates, and keeps what the tables know of dead letters."""
        from sinks.rewriting.owned_updates import OwnedUpdates

        return OwnedUpdates(tables)

    def planned(self, table: DeclaredTable, locator: Locator) -> TableUpdates | None:
        """The updates, with the location of the processor."""
        updates = self.updates_of(table)
        return None if updates is None else updates.located(locator)

    def planned_to_read(
        self,
        table: DeclaredTable,
        tables: Mapping[str, DeclaredTable],  # noqa: ARG002 - as all features
        locator: Locator,
    ) -> TableUpdates | None:
        """As for the tasks."""
        return self.planned(table, locator)

    def reader(
        self,
        below: TableReader,  # noqa: ARG002 - update rows are read by views of the store
        planned: TableUpdates | None,
        place: ReaderPlace,
    ) -> "MergedReader | RawReader | None":
        """Merges the update rows of each row, or returns them as they are if `raw` is asked."""
        recorded = place.recorded.properties.get(self.name)
        if not recorded:
            return None
        from sinks.rewriting.update_readers import MergedReader, RawReader

        if "raw" in place.asked:
            return RawReader(place)
        return MergedReader(place, merging_of(place.table, recorded, planned))

    def components(self, planned: TableUpdates) -> Sequence[Any]:
        """The processor."""
        return (planned.processor,)

    def writer(self, next_writer: TableWriter, planned: TableUpdates, place: WriterPlace) -> FirstWriter:
        """Folds the updates of a split."""
        from sinks.updates.update_writer import UpdateWriter

        merging = planned.merging()
        return UpdateWriter(next_writer, place.table, merging, store_name=place.store, withdraws=place.withdraws)


def _value_type(table: DeclaredTable, locator: Locator) -> str | None:
    """The type of the values that the processor of a table writes; None if it has none, or is invalid."""
    processor = table.components.get(_PROCESSOR)
    if processor is None:
        return None
    found: str | None = locator.load("processors", processor.kind).value_type(processor.settings)
    return found

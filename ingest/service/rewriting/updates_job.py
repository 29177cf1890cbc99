"""The base of jobs that work on one table with deferred updates."""

from typing import Any

from ingest.api import ConfigError, NotFoundError, Store, TableSpec, UpdatesDifferError
from ingest.config.model import Configuration, Pipeline, Table
from ingest.plan.plan import Plan
from ingest.plan.tables import declared_table
from ingest.service.jobs.job import Job, O
from ingest.service.jobs.place import Place
from ingest.service.rewriting.table_group import TableGroup, table_group
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_ranges import whole_row_ranges
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.feature import Updates


class UpdatesJob(Job[O]):
    """Works on a table with deferred updates."""

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table without deferred updates."""
        self.declared(configuration)

    def declared(self, configuration: Configuration) -> tuple[Table, Pipeline]:
        """
        The table as the configuration declares it, and the pipeline that writes it.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it has no deferred updates, or no pipeline of the file writes it.
        """
        name = self.subject
        elsewhere = (
            f"use the file of the pipeline that writes it; there it is declared as 'tables: {{{name}: {{updates: …}}}}'"
        )
        table = declared_table(configuration, name, if_none=elsewhere)
        if Updates.options_of(table) is None:
            raise ConfigError(
                f'the file declares no deferred updates for table "{name}", so there is nothing to compact or to roll '
                "back",
                hint="'attr2hbase table plan' shows whether the table has some",
            )
        for pipeline in configuration.pipelines.values():
            if table in configuration.written_by(pipeline, Updates):
                self._pipelines = frozenset([pipeline.name])
                return table, pipeline
        raise ConfigError(f'no pipeline of the file writes table "{name}"', hint="use the file of its pipeline")

    def opened(self, place: Place) -> tuple[Table, Plan, StoreCalls, TableGroup]:
        """
        The table, the plan of its pipeline, its store open for writing, and the tables of the pipeline.

        Raises:
            IngestError: as `declared` and `Place.stores`.
        """
        table, pipeline = self.declared(place.configuration)
        plan = place.plan_of(pipeline)
        stores = place.stores(
            plan, table.store, {each.store for each in place.configuration.written_by(pipeline, Updates)}
        )
        return table, plan, stores[table.store], table_group(place.configuration, pipeline, stores)


def rows_and_ranges(declared: TableSpec, store: Store[Any]) -> tuple[RowFormat, list[Range]]:
    """
    The recorded format of a table's rows, and the ranges of its keys, none of which divides a row.

    Raises:
        NotFoundError: the store has no such table.
        UpdatesDifferError: its rows were written with other deferred updates than the declared ones: another processor
            would merge them into other values, for good.
    """
    spec = store.describe_table(declared.name)
    if spec is None:
        raise NotFoundError(f'there is no table "{declared.name}"')
    row_format = RowFormat.recorded(store, declared.name)
    if row_format.updates != declared.updates:
        raise UpdatesDifferError(declared.name, declared.updates, row_format.updates)
    return row_format, whole_row_ranges(spec.splits, Distribution.of(row_format.buckets))

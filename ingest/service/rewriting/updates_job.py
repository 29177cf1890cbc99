"""The base of jobs that work on one table with deferred updates."""

from ingest.api import ConfigError
from ingest.config.model import Configuration, Pipeline, Table
from ingest.plan.plan import Plan
from ingest.plan.tables import declared_table
from ingest.service.jobs.place import Place
from ingest.service.jobs.step_job import O, StepJob
from ingest.service.rewriting.table_group import TableGroup, table_group
from sinks.rewriting.store_calls import StoreCalls


class UpdatesJob(StepJob[O]):
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
        if table.updates is None:
            raise ConfigError(
                f'the file declares no deferred updates for table "{name}", so there is nothing to compact or to roll '
                "back",
                hint="'ingest table plan' shows whether the table has some",
            )
        for pipeline in configuration.pipelines.values():
            if table in configuration.updated_by(pipeline):
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
        stores = place.stores(plan, table.store, {each.store for each in place.configuration.updated_by(pipeline)})
        return table, plan, stores[table.store], table_group(place.configuration, pipeline, stores)

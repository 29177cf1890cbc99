"""The base of jobs that work on the body store of a table."""

from ingest.config.model import Configuration, Table
from ingest.plan.bodies import bodies_in, require_bodies, table_with_bodies
from ingest.service.jobs.place import Place
from ingest.service.jobs.step_job import O, StepJob
from sinks.bodies.body_store import BodyStore
from sinks.rewriting.store_calls import each_call


class BodiesJob(StepJob[O]):
    """Works on the body store of a table."""

    needs_slots = False

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table without a body store."""
        self.declared(configuration)

    def declared(self, configuration: Configuration) -> Table:
        """
        The table; `uses` answers for the pipelines that write to its store.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it has no body store.
        """
        table = table_with_bodies(configuration, self.subject)
        self._pipelines = frozenset(
            pipeline.name
            for pipeline in configuration.pipelines.values()
            if any(sink.settings.store_name == table.store for sink in pipeline.sinks)
        )
        return table

    def bodies(self, place: Place, *, is_written: bool = True, creates: bool = False) -> BodyStore:
        """
        The body store, between whose calls the pipelines write.

        Args:
            place: where the job runs.
            is_written: whether the job writes it.
            creates: create the store and the tables of the body store, if the first write creates them.

        Raises:
            NotFoundError: no body was stored yet.
            ConflictError: another process writes a store that only one process may write.
            BodiesDifferError: it is written, and bodies were stored with other options.
            BodiesOfOtherTableError: it belongs to another table.
            BodiesElsewhereError: the table has another body store.
            StoreError: the store is unavailable.
        """
        table = self.declared(place.configuration)
        store = each_call(place.store(table.store, is_written=is_written, creates=creates))
        found = bodies_in(store, table)
        if is_written:
            if not creates:
                require_bodies(store, table)
            found.prepare()
        return found

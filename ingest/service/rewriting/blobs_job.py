"""The base of jobs that work on the blob store of a table."""

from ingest.config.model import Configuration, Table
from ingest.service.jobs.job import Job, O
from ingest.service.jobs.place import Place
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.declared import blobs_in, require_blobs, table_with_blobs
from sinks.rewriting.store_calls import each_call


class BlobsJob(Job[O]):
    """Works on the blob store of a table."""

    needs_slots = False

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table without a blob store."""
        self.declared(configuration)

    def declared(self, configuration: Configuration) -> Table:
        """
        The table; `uses` answers for the pipelines that write to its store.

        Raises:
            NotFoundError: the file declares no such table.
            ConfigError: it has no blob store.
        """
        table = table_with_blobs(configuration.tables, self.subject)
        self._pipelines = frozenset(
            pipeline.name
            for pipeline in configuration.pipelines.values()
            if any(sink.settings.store_name == table.store for sink in pipeline.sinks)
        )
        return table

    def blobs(self, place: Place, *, is_written: bool = True, creates: bool = False) -> BlobStore:
        """
        The blob store, between whose calls the pipelines write.

        Args:
            place: where the job runs.
            is_written: whether the job writes it.
            creates: create the store and the tables of the blob store, if the first write creates them.

        Raises:
            NotFoundError: no blob was stored yet.
            ConflictError: another process writes a store that only one process may write.
            BlobsDifferError: it is written, and blobs were stored with other options.
            BlobsOfOtherTableError: it belongs to another table.
            BlobsElsewhereError: the table has another blob store.
            StoreError: the store is unavailable.
        """
        table = self.declared(place.configuration)
        store = each_call(place.store(table.store, is_written=is_written, creates=creates))
        found = blobs_in(store, table)
        if is_written:
            if not creates:
                require_blobs(store, table)
            found.prepare()
        return found

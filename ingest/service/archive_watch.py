"""Watches how many files the archives of a service have, and what a cleanup could remove."""

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.observe.results import ArchiveSize
from ingest.service.archived_tables import ArchivedTable, archived_tables
from ingest.service.duties import Duties
from ingest.service.periodic import Periodic
from sinks.archive.cleanup import BatchState, PartitionEntry, entries_of
from sinks.files.root import root_errors

CHECK_S = 600.0
"""Between two checks: each lists the folders of all partitions."""
JOIN_S = 1.0  # a file system that does not answer must not delay the end of the service
_log = logger(__name__)


class ArchiveWatch(Periodic):
    """
    Sets the metrics of archived tables, in a thread of its own.

    It follows the configuration of the service through reloads. Runs in a block.

    Args:
        duties: of the service; has its present configuration.
        metrics: of the service.
    """

    def __init__(self, duties: Duties, metrics: Metrics) -> None:
        super().__init__("archives", CHECK_S, self.check, join_s=JOIN_S)
        self._duties = duties
        self._metrics = metrics
        self._failed: set[str] = set()

    def check(self) -> None:
        """Set the metrics once; an archive that cannot be read is left out."""
        shared = self._duties.shared
        found: dict[str, ArchiveSize] = {}
        for table in () if shared is None else archived_tables(shared.configuration):
            try:
                found[table.name] = _size(table)
            except IngestError as error:
                if table.name not in self._failed:
                    _log.warning("the files of an archive cannot be listed", table=table.name, reason=str(error))
                self._failed.add(table.name)
            else:
                self._failed.discard(table.name)
        self._metrics.archives(found)


def _size(table: ArchivedTable) -> ArchiveSize:
    with root_errors(table.root):
        entries = [entry for partition in table.partitions(None) for entry in entries_of(partition, now_ms())]

    def of(state: BatchState) -> list[PartitionEntry]:
        return [entry for entry in entries if entry.state is state]

    return ArchiveSize(
        sum(entry.files for entry in of(BatchState.CURRENT)),
        sum(entry.size_bytes for entry in of(BatchState.COMPLETE)),
        len(of(BatchState.INCOMPLETE)),
    )

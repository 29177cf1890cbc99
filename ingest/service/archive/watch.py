"""Watches how many files the archives of a service have, and what a cleanup could remove."""

from collections.abc import Callable
from functools import partial

from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.observe.metrics import Metrics
from ingest.observe.results import ArchiveSize
from ingest.service.archived_tables import ArchivedTable, archived_tables
from ingest.service.jobs.table_watch import Measures, TableWatch
from ingest.service.shared import Shared
from sinks.archive.cleanup import FoundVersion, VersionState, versions_of
from sinks.archive.rewrites import announcements

CHECK_S = 600.0
"""Between two checks: each lists the folders of all partitions."""


class ArchiveWatch(TableWatch[str, ArchiveSize]):
    """
    Sets the metrics of archived tables.

    Args:
        present: as in `TableWatch`.
        metrics: of the service.
    """

    def __init__(self, present: Callable[[], Shared | None], metrics: Metrics) -> None:
        failure = "the files of an archive cannot be listed"
        super().__init__("archives", CHECK_S, present, _measures, metrics.archives, failure=failure)


def _measures(shared: Shared) -> Measures[str, ArchiveSize]:
    return {table.name: partial(_size, table) for table in archived_tables(shared.configuration)}


def _size(table: ArchivedTable) -> dict[str, ArchiveSize]:
    with file_errors(table.root):
        rewrites = list(announcements(table.root, now_ms()))
        versions = [
            version for partition in table.partitions(None).values() for version in versions_of(partition, rewrites)
        ]

    def of(state: VersionState) -> list[FoundVersion]:
        return [version for version in versions if version.state is state]

    size = ArchiveSize(
        sum(version.files for version in of(VersionState.CURRENT)),
        sum(version.size_bytes for version in of(VersionState.COMPLETE)),
        len(of(VersionState.INCOMPLETE)),
    )
    return {table.name: size}

"""Watches how many files the archives of a service have, and what a cleanup could remove."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.observe.metric_table import BY_NAME
from ingest.observe.metrics import Metrics
from ingest.service.archived_tables import ArchivedTable, archived_tables
from ingest.service.jobs.table_watch import Measures, TableWatch
from ingest.service.shared import Shared
from sinks.archive.cleanup import FoundVersion, VersionState, versions_of
from sinks.archive.rewrites import announcements

CHECK_S = 600.0
"""Between two checks: each lists the folders of all partitions."""


_METRICS = [BY_NAME[f"attr2hbase_archive_{each}"] for each in ("files", "superseded_bytes", "incomplete_versions")]


class ArchiveSize(NamedTuple):
    """
    The files of an archived table.

    Attributes:
        files: number of files of rows in the current versions.
        superseded_bytes: of the files of rows in complete versions that are not current.
        incomplete: number of versions whose re-run has ended before they were complete.
    """

    files: int = 0
    superseded_bytes: int = 0
    incomplete: int = 0


class ArchiveWatch(TableWatch[tuple[str, ...], ArchiveSize]):
    """
    Sets the metrics of archived tables.

    Args:
        present: as in `TableWatch`.
        metrics: of the service.
    """

    def __init__(self, present: Callable[[], Shared | None], metrics: Metrics) -> None:
        failure = "the files of an archive cannot be listed"
        super().__init__("archives", CHECK_S, present, _measures, partial(metrics.replace, _METRICS), failure=failure)


def _measures(shared: Shared) -> Measures[tuple[str, ...], ArchiveSize]:
    return {table.name: partial(_size, table) for table in archived_tables(shared.configuration)}


def _size(table: ArchivedTable) -> dict[tuple[str, ...], ArchiveSize]:
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
    return {(table.name,): size}

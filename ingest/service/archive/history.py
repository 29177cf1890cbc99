"""The versions of an archived table, and where SQL reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.durable import file_errors
from ingest.service.archive.sql import sql_paths
from ingest.service.archived_tables import ArchivedTable
from ingest.service.jobs.place import Place
from sinks.archive.cleanup import FoundVersion, VersionState, versions_of
from sinks.archive.layout import version_folder, version_path
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announcements


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """
    The versions of a partition.

    Attributes:
        value: of the partition.
        folder: of the partition, below the folder of the table.
        versions: oldest first.
        owners: id of a version -> what has created it.
        foreign: names in the folder that this product has not written.
        sql_path: what SQL reads, below the folder of the table; None without a location.
    """

    value: str
    folder: str
    versions: tuple[FoundVersion, ...]
    owners: Mapping[int, str]
    foreign: tuple[str, ...]
    sql_path: str | None

    def path(self, version: FoundVersion) -> str:
        """The path of a version, below the folder of the table."""
        return version_path(self.folder, version.id)

    @property
    def current(self) -> FoundVersion | None:
        """The version that readers read."""
        return next((version for version in self.versions if version.state is VersionState.CURRENT), None)

    @property
    def sql_difference(self) -> str | None:
        """How the SQL location differs from the current version; None if it does not."""
        if self.current is None or self.sql_path in {None, self.path(self.current)}:
            return None
        return f"current is {version_folder(self.current.id)}, SQL reads {self.sql_path}"

    @property
    def unread(self) -> FoundVersion | None:
        """The newest complete version, if no version is current."""
        complete = [version for version in self.versions if version.state is VersionState.COMPLETE]
        return complete[-1] if complete and self.current is None else None


def history_of(place: Place, table: ArchivedTable, value: str | None, *, now_ms: int) -> list[PartitionHistory]:
    """
    The versions of one partition or of all.

    Args:
        place: whose configuration may name a metastore.
        table: that has the partitions.
        value: of the partition; None for all.
        now_ms: ms since the epoch.

    Raises:
        NoArchiveVersionError: there is no such partition.
        ConflictError: `metastore_in_use` or `sql_table_differs`.
        IngestError: `archive_sql`: Spark refuses a statement.
    """
    located = sql_paths(place, table)
    with file_errors(table.root):
        rewrites = list(announcements(table.root, now_ms))
        return [
            _history(each, partition, rewrites, located.get(each))
            for each, partition in table.partitions(value).items()
        ]


def _history(
    value: str, partition: Partition, rewrites: Iterable[Announcement], sql_path: str | None
) -> PartitionHistory:
    versions = tuple(versions_of(partition, rewrites))
    owners = {version.id: partition.owner(version.id) for version in versions}
    return PartitionHistory(value, partition.folder, versions, owners, tuple(partition.foreign()), sql_path)

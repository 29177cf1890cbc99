"""The batches of an archived table, and where SQL reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.durable import file_errors
from ingest.service.archive.sql import sql_paths
from ingest.service.archived_tables import ArchivedTable
from ingest.service.jobs.place import Place
from sinks.archive.cleanup import BatchState, FoundBatch, batches_of
from sinks.archive.layout import batch_folder, batch_path
from sinks.archive.partition import Partition
from sinks.archive.rewrites import Announcement, announcements


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """
    The batches of a partition.

    Attributes:
        value: of the partition.
        folder: of the partition, below the folder of the table.
        batches: oldest first.
        owners: id of a batch -> what has created it.
        foreign: names in the folder that this product has not written.
        sql_path: what SQL reads, below the folder of the table; None without a location.
    """

    value: str
    folder: str
    batches: tuple[FoundBatch, ...]
    owners: Mapping[int, str]
    foreign: tuple[str, ...]
    sql_path: str | None

    def path(self, batch: FoundBatch) -> str:
        """The path of a batch, below the folder of the table."""
        return batch_path(self.folder, batch.id)

    @property
    def current(self) -> FoundBatch | None:
        """The batch that readers read."""
        return next((batch for batch in self.batches if batch.state is BatchState.CURRENT), None)

    @property
    def sql_difference(self) -> str | None:
        """How the SQL location differs from the current batch; None if it does not."""
        if self.current is None or self.sql_path in {None, self.path(self.current)}:
            return None
        return f"current is {batch_folder(self.current.id)}, SQL reads {self.sql_path}"

    @property
    def unread(self) -> FoundBatch | None:
        """The newest complete batch, if no batch is current."""
        complete = [batch for batch in self.batches if batch.state is BatchState.COMPLETE]
        return complete[-1] if complete and self.current is None else None


def history_of(place: Place, table: ArchivedTable, value: str | None, *, now_ms: int) -> list[PartitionHistory]:
    """
    The batches of one partition or of all.

    Args:
        place: whose configuration may name a metastore.
        table: that has the partitions.
        value: of the partition; None for all.
        now_ms: ms since the epoch.

    Raises:
        NoArchiveBatchError: there is no such partition.
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
    batches = tuple(batches_of(partition, rewrites))
    owners = {batch.id: partition.owner(batch.id) for batch in batches}
    return PartitionHistory(value, partition.folder, batches, owners, tuple(partition.foreign()), sql_path)

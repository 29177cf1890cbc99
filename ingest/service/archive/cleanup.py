"""Removes superseded batches of an archived table that neither readers nor SQL use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ingest.config.model import Configuration
from ingest.service.archive.sql import sql_paths
from ingest.service.archived_tables import ArchivedTable
from sinks.archive.cleanup import clean_up, files_to_remove, plan_cleanup
from sinks.files.root import root_errors


@dataclass(frozen=True, slots=True)
class CleanupRequest:
    """
    What is removed.

    Attributes:
        value: of the partition; None for all.
        age_ms: how long a batch must have been superseded.
        incomplete: also remove batches whose re-run has failed, if nothing in them has changed for that time.
        is_dry_run: only tell what would be removed.
    """

    value: str | None
    age_ms: int
    incomplete: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """
    What a cleanup has removed, or would remove.

    Attributes:
        batches: their number.
        size_bytes: of their files of rows.
        kept: path -> why it stays although it is old enough.
        foreign: paths that this product has not written.
    """

    batches: int
    size_bytes: int
    kept: Mapping[str, str]
    foreign: tuple[str, ...]


def clean_up_table(
    configuration: Configuration,
    table: ArchivedTable,
    request: CleanupRequest,
    *,
    now_ms: int,
    on_file: Callable[[str], object],
) -> CleanupResult:
    """
    Remove the superseded batches of a table.

    Args:
        configuration: that may name a metastore, whose locations stay.
        table: that has the batches.
        request: which ones.
        now_ms: ms since the epoch.
        on_file: called with the path of each file that was removed, or would be.

    Raises:
        NoArchiveBatchError: there is no such partition.
        ConflictError: `metastore_in_use` or `sql_table_differs`.
        IngestError: `archive_sql`: Spark refuses a statement.
    """
    located = set(sql_paths(configuration, table).values())
    with root_errors(table.root):
        plan = plan_cleanup(
            table.partitions(request.value).values(),
            now_ms,
            request.age_ms,
            located=located,
            incomplete=request.incomplete,
        )
        if request.is_dry_run:
            for path in files_to_remove(plan):
                on_file(path)
            removed = [batch for _, batch in plan.batches]
        else:
            removed = clean_up(plan, now_ms, on_file)
    return CleanupResult(len(removed), sum(batch.size_bytes for batch in removed), plan.kept, plan.foreign)

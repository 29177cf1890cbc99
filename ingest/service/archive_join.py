"""Joins the small files of an archive's partition: all rows into few files of a new batch."""

from collections.abc import Callable
from dataclasses import dataclass

from ingest.config.model import Configuration
from ingest.service.archive_streams import copy_current, streams_of
from ingest.service.archived_tables import ArchivedTable
from sinks.archive.copying import Copied
from sinks.archive.errors import NoArchiveBatchError
from sinks.archive.rewrite import Rewrite
from sinks.files.root import root_errors


@dataclass(frozen=True, slots=True)
class JoinResult:
    """
    What a join has done.

    Attributes:
        batch_id: of the new batch.
        before: the batch that was current.
        copied: the files and rows.
    """

    batch_id: int
    before: int | None
    copied: Copied


def join(
    configuration: Configuration,
    table: ArchivedTable,
    value: str,
    *,
    exclusive: bool = False,
    is_kept: bool = False,
    on_rows: Callable[[int], None] = lambda _rows: None,
    on_wait: Callable[[str], None] = lambda _reason: None,
) -> JoinResult:
    """
    Write the rows of a partition into few files, and make them current; micro-batches that are not acknowledged are
    left to the streams, which write them to both batches.

    Args:
        configuration: that has the pipelines of the table.
        table: that has the partition.
        value: of the partition.
        exclusive: refuse to run beside another process that writes a batch of the partition.
        is_kept: no cleanup removes the new batch.
        on_rows: called with the number of rows so far.
        on_wait: called with what the join waits for.

    Raises:
        NoArchiveBatchError: there is no such partition, or it has no current batch.
        ConflictError: another process writes a batch, with `exclusive`; there is a newer re-run or join; a replay of a
            pipeline runs; or a stream does not answer.
        ArchiveCorruptError: the pointer or a file is damaged.
    """
    with root_errors(table.root):
        partition = table.partition(value)
        if partition.current() is None:
            raise NoArchiveBatchError(f'"{partition.folder}" of "{table.root}" has no current batch')
    with (
        streams_of(configuration, table) as streams,
        Rewrite(partition, "archive join", exclusive=exclusive) as rewrite,
    ):
        for stream in streams:
            stream.start_ms(rewrite, on_wait)
        with root_errors(table.root):
            copied = copy_current(rewrite, streams, on_rows=on_rows)
        rewrite.finish(is_kept=is_kept)
    return JoinResult(rewrite.batch_id, rewrite.before, copied)

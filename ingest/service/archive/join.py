"""Joins the small files of an archive's partition: all rows into few files of a new batch."""

from collections.abc import Callable
from dataclasses import dataclass

from ingest.config.model import Configuration
from ingest.service.archive.streams import copy_current, make_current, streams_of
from ingest.service.archived_tables import ArchivedTable
from sinks.archive.copying import Copied
from sinks.archive.errors import NoArchiveBatchError
from sinks.archive.rewrite import Rewrite
from sinks.files.root import root_errors

_FEWEST_FILES = 2
"""Of a batch that a join can write into fewer files."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """
    What a join has done.

    Attributes:
        batch_id: of the new batch; of the current one if there was nothing to join.
        before: the batch that was current.
        copied: the files and rows; of a partition that was left as it is, the number of its files.
    """

    batch_id: int
    before: int | None
    copied: Copied

    @property
    def has_joined(self) -> bool:
        """Whether there was something to join."""
        return self.batch_id != self.before


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
    left to the streams, which write them to both batches. A partition of at most one file is left as it is.

    Args:
        configuration: that has the pipelines of the table.
        table: that has the partition.
        value: of the partition.
        exclusive: refuse to run beside another process that writes a batch of the partition.
        is_kept: no cleanup removes the new batch, or the current one if there is nothing to join.
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
        current = partition.current()
        if current is None:
            raise NoArchiveBatchError(f'"{partition.folder}" of "{table.root}" has no current batch')
        files = len(partition.parts(current))
        if files < _FEWEST_FILES:
            if is_kept:
                partition.keep(current)
            return JoinResult(current, current, Copied(files=files))
    with (
        streams_of(configuration, table) as streams,
        Rewrite(partition, "archive join", exclusive=exclusive) as rewrite,
    ):
        for stream in streams:
            stream.start_ms(rewrite, on_wait)
        with root_errors(table.root):
            copied = copy_current(rewrite, streams, on_rows=on_rows)
        make_current(rewrite, streams, is_kept=is_kept)
    return JoinResult(rewrite.batch_id, rewrite.before, copied)

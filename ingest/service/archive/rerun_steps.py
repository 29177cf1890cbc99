"""
The steps of a re-run: records of the topics through the pipeline as it is now, into a new version.

Rows of the current version whose records are not read again are copied: the topics no longer have them, or they are
outside of the requested times. A row whose event fails now ends the re-run. So the new version lacks only the rows
whose events the pipeline drops now, or whose times are of another partition now.
"""

from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any

from ingest.api import IngestError, NotFoundError, Origin, RecordPlace
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.durable import file_errors
from ingest.service.archive.records import RecordsRead, RerunRecords
from ingest.service.archive.rerun import ArchiveRerun, RerunOptions
from ingest.service.archive.rerun_runner import RerunRunner
from ingest.service.archive.sql import follow_current
from ingest.service.archive.writers import copy_current, make_current, writers_of
from ingest.service.archived_tables import ArchivedTable
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.plan import unlogged_batches
from sinks.archive.column_types import current_versions, refuse_other_types
from sinks.archive.empty_partitions import is_empty, remove_if_empty
from sinks.archive.errors import ArchiveCorruptError, NoArchiveVersionError
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in
from sinks.archive.rewrite import Rewrite

_OTHER_TYPES = (
    "set the former type, or archive into another table; --force writes the partition nevertheless: no reader reads "
    "the table then until every partition is written again"
)


class ArchiveRowsFailedError(IngestError):
    """A re-run of a partition: the pipeline fails now for records with rows in the current version, which stays."""

    code = "archive_rows_failed"
    hint = "correct the pipeline, or drop such events with a filter; the current version is unchanged"


def rerun_steps(place: Place, table: ArchivedTable, options: RerunOptions) -> Steps:
    """
    Write a partition again, and make the new version current; yields the result so far after each micro-batch.

    Args:
        place: where it runs.
        table: that has the partition; one sink writes it.
        options: which partition, and of which records.

    Raises:
        ConflictError: another process writes a version of the partition, and `exclusive` is set; or there is a newer
            re-run or join, a replay of the pipeline runs, the writer does not answer, a topic was recreated, a column
            has another type than in the newest other partition, or the re-run was cancelled.
        NotFoundError: the pipeline has acknowledged no record of the range.
        NoArchiveVersionError: the partition has no rows, and gets none. Unless the service runs, it does not exist
            then.
        IngestError: a micro-batch cannot be written, or events of rows fail now; the pointer is unchanged.
    """
    (sink,) = table.sinks
    pipeline, partition = sink.pipeline, Partition(table.root, table.rule.folder_of(options.dt))
    if not options.force:
        _refuse_other_types(table, options.dt)
    with ExitStack() as opened:
        writers = opened.enter_context(writers_of(place.configuration, table))
        (writer,) = writers
        if not writer.checkpoint.exists:
            raise NotFoundError(
                f'pipeline "{pipeline.name}" has no checkpoint: it has acknowledged no record',
                hint="start the service with this file; in the working directory of the service, if it runs",
            )
        with file_errors(partition.root):
            was_empty = is_empty(partition)
        rewrite = opened.enter_context(Rewrite(partition, "archive rerun", exclusive=options.exclusive))
        if was_empty:
            opened.callback(writer.while_stopped, partial(_remove_empty, partition, rewrite.version_id))
        records = RerunRecords(place.configuration, pipeline, writer.checkpoint, options.from_, options.to)
        runner: RerunRunner | None = None
        done, result = RecordsRead(), _result(options.dt, None)
        # a writer that has started or ended meanwhile leaves other records to this process
        while rest := done.rest_of(records.ranges((yield from writer.start_ms(rewrite, place, result)))):
            runner = runner or RerunRunner(place, sink, options.dt, rewrite, opened, check_owner=writer.replays.check)
            batches = unlogged_batches([], rest, now_ms(), kafka_source_of(pipeline).max_events_per_batch)
            for _ in place.paced(map(runner.run, batches), activity=ArchiveRerun.kind):
                result = _result(options.dt, runner)
                yield Progress(result=result)
            done.add(rest)
        if runner is None:
            raise _no_record(pipeline.name, options)
        rows = _RowsBefore(done, runner.failed)
        with file_errors(partition.root):
            for copied in place.paced(copy_current(rewrite, writers, rows.keeps), activity=ArchiveRerun.kind):
                result = result | {"copied": copied.rows}
                yield Progress(result=result)
            rows.check_failed(partition, rewrite.version_id)
            if was_empty and not partition.parts(rewrite.version_id):
                raise NoArchiveVersionError(
                    f'no event of pipeline "{pipeline.name}" is of the partition {partition.folder}',
                    hint="choose another value of --dt, or correct the event times; 'attr2hbase archive history' lists "
                    "the partitions",
                )
        # before the pointer moves: the queue may be unavailable
        lost = _without_dead_letter(place.configuration, pipeline, runner.failed)
        make_current(rewrite, writers, is_kept=options.keep)
    follow_current(place, table, options.dt)
    first = [f"{topic}/{number}/{offset}: {reason}" for (topic, number, offset), reason in list(lost.items())[:1]]
    about: dict[str, Any] = {"version": rewrite.version_id, "before": rewrite.before, "replaced": rows.replaced}
    about |= {"failed_without_dead_letter": len(lost), "first_without_dead_letter": "".join(first)}
    yield Progress(1, 1, result | about)


def _result(value: str, runner: RerunRunner | None) -> dict[str, Any]:
    """The result so far; events of other partitions are dropped."""
    if runner is None:
        return {"partition": value, "records": 0}
    counts = runner.counts
    return {
        "partition": value,
        "records": counts.records,
        "rows": counts.stored,
        "dropped": dict(counts.dropped),
        "failed": dict(counts.dead_lettered),
    }


def _refuse_other_types(table: ArchivedTable, value: str) -> None:
    """Spark reads no table in which a column has two types."""
    with file_errors(table.root):
        others = table.partitions(None)
        others.pop(value, None)
        # a damaged partition is written again too, in any order
        with suppress(ArchiveCorruptError):
            refuse_other_types(current_versions(others), table.settings.typed_columns, hint=_OTHER_TYPES)


def _remove_empty(partition: Partition, own_id: int) -> None:
    with file_errors(partition.root):
        remove_if_empty(partition, own_id, now_ms())


def _without_dead_letter(
    configuration: Configuration, pipeline: Pipeline, failed: Mapping[RecordPlace, str]
) -> Mapping[RecordPlace, str]:
    """Records that fail only now, such as those that a filter has dropped before."""
    if not failed:
        return {}
    with closing(dead_letter_queue(configuration, pipeline)) as queue:
        known = {entry.dead_letter.record.place for entry in queue.entries()}
    return {place: reason for place, reason in failed.items() if place not in known}


def _no_record(pipeline: str, options: RerunOptions) -> NotFoundError:
    """The error of a re-run that has no record to read."""
    is_limited = options.from_ is not None or options.to is not None
    of_range = " of this range" if is_limited else ""
    advice = "choose other times" if is_limited else "run the pipeline first: its offsets may have been reset"
    return NotFoundError(
        f'pipeline "{pipeline}" has acknowledged no record{of_range} that its topics still have',
        hint=f"{advice}; 'attr2hbase archive join' writes the rows of a partition into fewer files",
    )


class _RowsBefore:
    """
    The rows of the version before.

    Args:
        done: the records that were read again.
        failed: the records that failed now -> why.

    Attributes:
        replaced: number of rows whose records were read again.
    """

    def __init__(self, done: RecordsRead, failed: Mapping[RecordPlace, str]) -> None:
        self._done = done
        self._failed = failed
        self._rows_of_failed: set[Origin] = set()
        self.replaced = 0

    def keeps(self, origin: Origin) -> bool:
        """Whether a row is copied: its record was not read again."""
        record = origin[:3]
        if record not in self._done:
            return True
        self.replaced += 1
        if record in self._failed:
            self._rows_of_failed.add(origin)
        return False

    def check_failed(self, partition: Partition, version_id: int) -> None:
        """
        Check that no row is missing because its event fails now.

        Raises:
            IngestError: `archive_rows_failed`: one is.
        """
        missing = set(self._rows_of_failed)
        if not missing:
            return
        records = {origin[:3] for origin in missing}
        for name in partition.parts(version_id):
            missing.difference_update(origins_in(partition.root, partition.path(version_id, str(name)), records))
        lost = sorted({origin[:3] for origin in missing})
        if lost:
            topic, number, offset = lost[0]
            raise ArchiveRowsFailedError(
                f"the pipeline fails now for {len(lost):,} records that have rows in the current version, first "
                f"{topic}/{number}/{offset}: {self._failed[lost[0]]}",
            )

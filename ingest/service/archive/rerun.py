"""
Writes a partition of an archive again: records of the topics through the pipeline as it is now, into a new batch.

Rows of the current batch whose records are not read again are copied: the topics no longer have them, or they are
outside of the requested times. A row whose event fails now ends the re-run. So the new batch lacks only the rows whose
events the pipeline drops now, or whose times are of another partition now.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial

from ingest.api import ConfigError, IngestError, NotFoundError, Origin, RecordPlace
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.receipt import Counts
from ingest.service.archive.records import RecordsRead, RerunRecords
from ingest.service.archive.rerun_job import RerunJob
from ingest.service.archive.streams import copy_current, make_current, streams_of
from ingest.service.archived_tables import ArchivedTable, check_value
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.plan import unlogged_batches
from sinks.archive.column_types import current_batches, refuse_other_types
from sinks.archive.empty_partitions import is_empty, remove_if_empty
from sinks.archive.errors import ArchiveCorruptError, NoArchiveBatchError
from sinks.archive.partition import Partition
from sinks.archive.reading import origins_in
from sinks.archive.rewrite import Rewrite
from sinks.files.root import root_errors

_OTHER_TYPES = (
    "set the former type, or archive into another table; --force writes the partition nevertheless: no reader reads "
    "the table then until every partition is written again"
)


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """
    What is written again.

    Attributes:
        value: of the partition.
        start_ms: only records with at least this timestamp; None for all that the topics have.
        end_ms: only records with an earlier timestamp; None for all.
        exclusive: refuse to run beside another process that writes a batch of the partition.
        is_kept: no cleanup removes the batch.
        other_types: columns may have other types than in the other partitions.
    """

    value: str
    start_ms: int | None = None
    end_ms: int | None = None
    exclusive: bool = False
    is_kept: bool = False
    other_types: bool = False


@dataclass(frozen=True, slots=True)
class RerunResult:
    """
    What a re-run has done.

    Attributes:
        batch_id: of the new batch.
        before: the batch that was current; None for none.
        counts: of all records that were read; events of other partitions are dropped.
        replaced: number of rows of the batch before whose records were read again.
        copied: number of its other rows.
        without_dead_letter: the records that failed and have no dead letter -> why.
    """

    batch_id: int
    before: int | None
    counts: Counts
    replaced: int
    copied: int
    without_dead_letter: Mapping[RecordPlace, str]


class ArchiveRerun:
    """
    Writes one partition again.

    Args:
        table: that has it.
        request: which one, and of which records.

    Raises:
        ConfigError: several sinks write the table, the source is not Kafka, or the value names no partition.
    """

    def __init__(
        self, configuration: Configuration, catalog: Catalog, table: ArchivedTable, request: RerunRequest
    ) -> None:
        if len(table.sinks) > 1:
            raise ConfigError(
                f'{len(table.sinks)} sinks write the table "{table.name}"',
                hint="a re-run reads the source of one: give each sink a table of its own",
            )
        check_value(table.rule, request.value)
        self._configuration = configuration
        self._catalog = catalog
        self._table = table
        self._sink = table.sinks[0]
        self._request = request
        self._source = kafka_source_of(self._sink.pipeline)

    def run(
        self,
        *,
        on_records: Callable[[int], None] = lambda _records: None,
        on_wait: Callable[[str], None] = lambda _reason: None,
    ) -> RerunResult:
        """
        Write the partition again, and make the new batch current.

        Args:
            on_records: called with the number of records that were read so far.
            on_wait: called with what the re-run waits for.

        Raises:
            ConflictError: with `exclusive`, another process writes a batch of the partition; or there is a newer
                re-run or join, a replay of the pipeline runs, the stream does not answer, a topic was recreated, or a
                column has another type than in the newest other partition.
            NotFoundError: the pipeline has acknowledged no record of the range.
            NoArchiveBatchError: the partition has no rows, and gets none. Unless the service runs, it does not exist
                then.
            IngestError: a micro-batch cannot be written, or events of rows fail now; the pointer is unchanged.
        """
        request, pipeline = self._request, self._sink.pipeline
        partition = Partition(self._table.root, self._table.rule.folder_of(request.value))
        if not request.other_types:
            self._refuse_other_types()
        with ExitStack() as opened:
            streams = opened.enter_context(streams_of(self._configuration, self._table))
            (stream,) = streams
            if not stream.checkpoint.exists:
                raise NotFoundError(
                    f'pipeline "{pipeline.name}" has no checkpoint: it has acknowledged no record',
                    hint="start the service with this file; in the working directory of the service, if it runs",
                )
            with root_errors(partition.root):
                was_empty = is_empty(partition)
            rerun = opened.enter_context(Rewrite(partition, "archive rerun", exclusive=request.exclusive))
            if was_empty:
                opened.callback(stream.while_stopped, partial(self._remove_empty, partition, rerun.batch_id))
            records = RerunRecords(self._configuration, pipeline, stream.checkpoint, request.start_ms, request.end_ms)
            job: RerunJob | None = None
            done = RecordsRead()
            # a stream that has started or ended meanwhile leaves other records to this process
            while rest := done.rest_of(records.ranges(stream.start_ms(rerun, on_wait))):
                job = job or self._job(rerun, opened, stream.replays.check)
                for batch in unlogged_batches([], rest, now_ms(), self._source.max_events_per_batch):
                    job.run(batch)
                    on_records(job.counts.records)
                done.add(rest)
            if job is None:
                raise _no_record(pipeline.name, request)
            rows = _RowsBefore(done, job.failed)
            with root_errors(partition.root):
                copied = copy_current(rerun, streams, rows.keeps)
                rows.check_failed(partition, rerun.batch_id)
                if was_empty and not partition.parts(rerun.batch_id):
                    raise NoArchiveBatchError(
                        f'no event of pipeline "{pipeline.name}" is of the partition {partition.folder}',
                        hint="choose another value of --dt, or correct the event times; 'ingest archive history' lists "
                        "the partitions",
                    )
            # before the pointer moves: the queue may be unavailable
            without_dead_letter = self._without_dead_letter(job.failed)
            make_current(rerun, streams, is_kept=request.is_kept)
            return RerunResult(
                rerun.batch_id,
                rerun.before,
                job.counts,
                rows.replaced,
                copied.rows,
                without_dead_letter,
            )

    def _job(self, rerun: Rewrite, opened: ExitStack, check_owner: Callable[[], None]) -> RerunJob:
        return RerunJob(
            self._configuration, self._catalog, self._sink, self._request.value, rerun, opened, check_owner=check_owner
        )

    def _refuse_other_types(self) -> None:
        """Spark reads no table in which a column has two types."""
        with root_errors(self._table.root):
            others = self._table.partitions(None)
            others.pop(self._request.value, None)
            # a damaged partition is written again too, in any order
            with suppress(ArchiveCorruptError):
                refuse_other_types(current_batches(others), self._table.settings.typed_columns, hint=_OTHER_TYPES)

    def _remove_empty(self, partition: Partition, own_id: int) -> None:
        with root_errors(partition.root):
            remove_if_empty(partition, own_id, now_ms())

    def _without_dead_letter(self, failed: Mapping[RecordPlace, str]) -> Mapping[RecordPlace, str]:
        """Records that fail only now, such as those that a filter has dropped before."""
        if not failed:
            return {}
        with closing(dead_letter_queue(self._configuration, self._sink.pipeline)) as queue:
            known = {entry.dead_letter.record.place for entry in queue.entries()}
        return {place: reason for place, reason in failed.items() if place not in known}


def _no_record(pipeline: str, request: RerunRequest) -> NotFoundError:
    """The error of a re-run that has no record to read."""
    is_limited = request.start_ms is not None or request.end_ms is not None
    of_range = " of this range" if is_limited else ""
    advice = "choose other times" if is_limited else "run the pipeline first: its offsets may have been reset"
    return NotFoundError(
        f'pipeline "{pipeline}" has acknowledged no record{of_range} that its topics still have',
        hint=f"{advice}; 'ingest archive join' writes the rows of a partition into fewer files",
    )


class _RowsBefore:
    """
    The rows of the batch before.

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

    def check_failed(self, partition: Partition, batch_id: int) -> None:
        """
        Check that no row is missing because its event fails now.

        Raises:
            IngestError: `archive_rows_failed`: one is.
        """
        missing = set(self._rows_of_failed)
        if not missing:
            return
        records = {origin[:3] for origin in missing}
        for name in partition.parts(batch_id):
            missing.difference_update(origins_in(partition.root, partition.path(batch_id, str(name)), records))
        lost = sorted({origin[:3] for origin in missing})
        if lost:
            topic, number, offset = lost[0]
            raise IngestError(
                f"the pipeline fails now for {len(lost):,} records that have rows in the current batch, first "
                f"{topic}/{number}/{offset}: {self._failed[lost[0]]}",
                code="archive_rows_failed",
                hint="correct the pipeline, or drop such events with a filter; the current batch is unchanged",
            )

"""
Writes a partition of an archive again: the records of the topics through the pipeline, into a new batch.

Which records: those that the running stream does not write to the new batch itself. It answers the marker of the
re-run with the first batch time that it writes to both batches (`sinks.archive.reruns`); the batch log has the offsets
of the micro-batches since. The re-run reads everything acknowledged before them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from ingest.api import ConfigError, ConflictError, NotFoundError, SinkContext
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.budget import ErrorBudget
from ingest.kafka.admin import KafkaAdmin
from ingest.observe.logs import logger
from ingest.plan.assemble import plan_of, sink_committers
from ingest.plan.codec import packed
from ingest.receipt import Counts
from ingest.service.archived_tables import ArchivedTable, ArchiveSink, check_value
from ingest.service.batches import batch_log_folder
from ingest.service.kafka_source import acknowledged_offsets, first_places, topics_of
from ingest.service.offsets import kafka_source_of
from ingest.service.pipeline import checkpoint_folder
from ingest.service.replay_host import OwnProcess
from ingest.service.replay_plan import Piece, unlogged_pieces
from ingest.spark.streaming.batch_log import BatchLog, OffsetRanges
from ingest.spark.streaming.batch_time import stored_time
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.job import Job
from ingest.spark.streaming.reading import read_kafka_ranges
from sinks.archive.partition import Partition
from sinks.archive.rerun import Rerun
from sinks.archive.rerun_sink import RerunSettings, RerunSink

_NONE = 1 << 62  # above all offsets: a partition without a record since a time
_POLL_S = 0.2
_PATIENCE_S = 60.0
"""A running stream answers within ten seconds; a longer silence means that it runs without this sink."""
_log = logger(__name__)

Ranges = dict[tuple[str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """
    What is written again.

    Attributes:
        value: of the partition.
        start_ms: only records with at least this timestamp; None for all that the topics have.
        end_ms: only records with an earlier timestamp; None for all.
        exclusive: refuse to run beside another re-run of the partition.
        is_kept: no cleanup removes the batch.
    """

    value: str
    start_ms: int | None = None
    end_ms: int | None = None
    exclusive: bool = False
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class RerunResult:
    """
    What a re-run has done.

    Attributes:
        batch_id: of the new batch.
        before: of the batch that was current; None for none.
        is_current: whether the new batch is; else a newer re-run was faster.
        counts: of all records that were read; those of other partitions are dropped.
    """

    batch_id: int
    before: int | None
    is_current: bool
    counts: Counts

    @property
    def rows(self) -> int:
        """Number of rows that this process has written."""
        return self.counts.stored


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
        self._sink: ArchiveSink = table.sinks[0]
        self._request = request
        self._source = kafka_source_of(self._sink.pipeline)
        self._checkpoint = Checkpoint(checkpoint_folder(configuration, self._sink.pipeline.name))

    def run(
        self,
        *,
        on_progress: Callable[[Counts], None] = lambda _counts: None,
        on_wait: Callable[[str], None] = lambda _reason: None,
    ) -> RerunResult:
        """
        Write the partition again, and make the new batch current.

        Args:
            on_progress: called with the counts of all records so far.
            on_wait: called with what the re-run waits for.

        Raises:
            ConflictError: with `exclusive`, another re-run writes the partition; or the stream does not answer.
            NotFoundError: the pipeline has acknowledged no record.
            IngestError: a micro-batch cannot be written; the pointer is unchanged.
        """
        partition = Partition(self._table.root, self._table.rule.folder_of(self._request.value))
        counts = Counts()
        done: Ranges = {}
        with (
            Rerun(partition, "archive rerun", exclusive=self._request.exclusive) as rerun,
            ExitStack() as opened,
        ):
            runner: _Runner | None = None
            while rest := _without(self._ranges(self._stream_start(rerun, on_wait)), done):
                runner = runner or _Runner(self._configuration, self._catalog, self._sink, rerun, self._request, opened)
                for piece in unlogged_pieces([], rest, now_ms(), self._source.max_events_per_batch):
                    counts.add(runner.run(piece))
                    on_progress(counts)
                for place, (begin, end) in rest.items():
                    done[place] = done.get(place, (begin, end))[0], end
            if not done:
                raise NotFoundError(
                    f'pipeline "{self._sink.pipeline.name}" has acknowledged no record of this range',
                    hint="start it, or choose other times",
                )
            is_current = rerun.finish(is_kept=self._request.is_kept)
        return RerunResult(rerun.batch_id, rerun.before, is_current, counts)

    def _stream_start(self, rerun: Rerun, on_wait: Callable[[str], None]) -> int | None:
        """
        The first batch time that the stream writes to the new batch too, when all earlier micro-batches are
        acknowledged; None if the stream does not run.
        """
        pipeline = self._sink.pipeline
        writer = SinkContext(pipeline.name, self._sink.name, self._configuration.local_dir).staging_name
        waited_s = 0.0
        while True:
            answer = rerun.answer(writer)
            if answer is None and not self._is_running():
                answer = rerun.answer(writer)  # of a stream that has ended since
                if answer is None:
                    return None
            if answer is not None and not self._runs_before(answer.from_ms):
                return answer.from_ms
            if answer is None and waited_s > _PATIENCE_S:
                raise ConflictError(
                    f'pipeline "{pipeline.name}" runs and does not answer the re-run',
                    code="archive_no_answer",
                    hint="restart it with this file, then start the re-run again",
                )
            if waited_s == 0:
                on_wait("the running pipeline" if answer is None else "micro-batches that are not acknowledged")
            waited_s += _POLL_S
            time.sleep(_POLL_S)

    def _is_running(self) -> bool:
        """Whether a process has the checkpoint."""
        if not self._checkpoint.exists:
            return False
        try:
            self._checkpoint.lock()
        except ConflictError:
            return True
        self._checkpoint.unlock()
        return False

    def _runs_before(self, time_ms: int) -> bool:
        """Whether a micro-batch of an earlier time is not acknowledged."""
        number = self._checkpoint.uncommitted()
        found = None if number is None else stored_time(self._checkpoint.folder / "times", number)
        return found is not None and found < time_ms

    def _ranges(self, stream_start_ms: int | None) -> Ranges:
        """The offsets that this process writes: acknowledged, in the topics, before those of the stream."""
        # in this order: what is acknowledged is in the batch log
        ends = dict(acknowledged_offsets(self._checkpoint))
        if stream_start_ms is not None:
            for batch in BatchLog(batch_log_folder(self._configuration, self._sink.pipeline.name)).batches():
                if batch.time_ms >= stream_start_ms:
                    for place, (begin, _) in batch.ranges.items():
                        ends[place] = min(begin, ends.get(place, begin))
        with KafkaAdmin(self._source) as admin:
            topics = topics_of(self._source, admin)
            begins, log_ends = admin.earliest(topics), admin.ends(topics)
            if self._request.start_ms is not None:
                begins |= dict.fromkeys(begins, _NONE) | admin.offsets_since(topics, self._request.start_ms)
            if self._request.end_ms is not None:
                log_ends |= admin.offsets_since(topics, self._request.end_ms)
        found = {
            place: (begins[place], min(end, log_ends[place]))
            for place, end in ends.items()
            if place in begins and place in log_ends
        }
        return {place: (begin, end) for place, (begin, end) in found.items() if begin < end}


class _Runner:
    """The pipeline with the sink of the re-run alone, on a Spark session of this process."""

    def __init__(
        self,
        configuration: Configuration,
        catalog: Catalog,
        sink: ArchiveSink,
        rerun: Rerun,
        request: RerunRequest,
        opened: ExitStack,
    ) -> None:
        pipeline = sink.pipeline
        self._source = kafka_source_of(pipeline)
        plan = plan_of(configuration, pipeline, catalog)
        (component,) = (each for each in plan.sinks if each.name == sink.name)
        settings = sink.component.settings
        options = {name: getattr(settings, name) for name in type(settings).model_fields}
        component = replace(
            component,
            path=f"{RerunSink.__module__}:{RerunSink.__qualname__}",
            settings=RerunSettings.model_construct(**options, value=request.value, batch_id=rerun.batch_id),
        )
        plan = replace(plan, sinks=(component,), stores={}, updates={}, bodies={}, feeds={}, is_replay=True)
        committers = sink_committers(plan)
        for committer in committers.values():
            opened.callback(committer.close)
        host = OwnProcess(configuration)
        self._session = host.session(pipeline.name, self._source, {}, opened)
        self._observer = _Observer(pipeline)
        budget = pipeline.error_budget
        self._job = Job(
            pipeline=pipeline.name,
            task_name=f"{pipeline.name}+rerun",
            plan=packed(plan),
            batch_times=None,
            committers=committers,
            error_budget=ErrorBudget(
                share=budget.share,
                min_events=budget.min_events,
                window_s=budget.window,
                max_records=self._source.max_records_per_batch,
            ),
            publish=_publish_nothing,
            observer=self._observer,
            needs_splits=plan.needs_splits,
            max_tasks=host.max_tasks(self._session),
            hide=configuration.masks.hide,
        )

    def run(self, piece: Piece) -> Counts:
        """Run a piece until its rows are in the batch."""
        frame = read_kafka_ranges(self._session, self._source, piece.ranges)
        self._job.run_batch(frame, piece.number, piece.time_ms, piece.name, partial(first_places, piece.ranges))
        return self._observer.counts


class _Observer:
    """Keeps the counts of the last micro-batch, and logs what blocks it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.counts = Counts()

    def running(self) -> None:
        """Nothing: `durable` says so."""

    def blocked(self, code: str, message: str) -> None:
        _log.error("re-run is blocked", pipeline=self._pipeline.name, code=code, reason=message)

    def attempted(self, counts: Counts) -> None:
        """Nothing: only durable batches count."""

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:  # noqa: ARG002
        self.counts = counts


def _publish_nothing(_dead_letters: Sequence[bytes], _batch_id: int, _time_ms: int) -> None:
    """The stream has written the dead letters of these records; their number is reported."""


def _without(ranges: OffsetRanges, done: Mapping[tuple[str, int], tuple[int, int]]) -> Ranges:
    """The ranges after those that are done."""
    left = {place: (max(begin, done.get(place, (0, 0))[1]), end) for place, (begin, end) in ranges.items()}
    return {place: (begin, end) for place, (begin, end) in left.items() if begin < end}

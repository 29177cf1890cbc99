"""
Replay of a time range: records of the topics through the pipeline again, in the micro-batches of the batch log.

It uses the loop, the tasks and the committers of the streaming query (`ingest.spark.streaming.job.Job`), on a Spark
session of its own, and commits no offsets.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ingest.api import ConfigError, IngestError, NotFoundError, PositionLostError, SourceError
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.replay import ReplayStoppedError
from ingest.kafka.admin import KafkaAdmin
from ingest.observe.logs import logger
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed
from ingest.receipt import Counts
from ingest.service.batches import batch_log_folder
from ingest.service.dead_letters import dead_letter_queue
from ingest.service.kafka_source import acknowledged_offsets, topics_of
from ingest.service.offsets import kafka_source_of
from ingest.service.pipeline import checkpoint_folder
from ingest.service.replay import replay_lock
from ingest.service.replay_plan import (
    Piece,
    PieceKind,
    TopicState,
    check_allowed,
    logged_pieces,
    unlogged_pieces,
)
from ingest.service.replay_state import RangeRequest, ReplayState, ReplayTotals
from ingest.service.stores import committers_of, driver_stores, refuse_cluster
from ingest.spark.jars import connector_jars
from ingest.spark.session import close_session, is_submitted, max_tasks, open_session
from ingest.spark.state import spark_conf, state_of
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch, OffsetRanges
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.job import Job
from ingest.spark.streaming.reading import read_kafka_ranges

Part = tuple[str, int]
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RangePlan:
    """
    What a replay of a range runs.

    Attributes:
        pieces: in the order in which they run.
        totals: of the pieces that an earlier, interrupted run has finished.
        resumes: whether there was such a run.
    """

    pieces: Sequence[Piece]
    totals: ReplayTotals
    resumes: bool = False

    @property
    def offsets(self) -> int:
        """Number of offsets of all pieces."""
        return sum(piece.offsets for piece in self.pieces)

    def of_kind(self, kind: PieceKind) -> list[Piece]:
        """The pieces of a kind."""
        return [piece for piece in self.pieces if piece.kind is kind]


class RangeReplay:
    """
    Replays the records of a pipeline in a time range.

    - A logged batch whose records are all in the range and in the topics runs at its own batch time: it writes the same
      cells again.
    - A part of a logged batch runs one millisecond earlier (see ADR 0013), so it hides nothing that the batch wrote.
    - Other records run only if the cells have event times, or if the request gives them a time.

    The service may run meanwhile, unless a store has a single writer. No record is read that the checkpoint has not
    acknowledged. An interrupted replay resumes after its last durable micro-batch.

    Raises:
        ConfigError: the source is not Kafka, or the range is empty.
    """

    def __init__(
        self, configuration: Configuration, pipeline: Pipeline, catalog: Catalog, request: RangeRequest
    ) -> None:
        if request.from_ms >= request.to_ms:
            raise ConfigError("the range is empty: --from is not before --to", hint="times without a zone are UTC")
        self._settings = kafka_source_of(pipeline)
        self._configuration = configuration
        self._pipeline = pipeline
        self._catalog = catalog
        self._request = request
        self._state = ReplayState(state_of(configuration) / "replays" / pipeline.name, request)

    @property
    def is_any_allowed(self) -> bool:
        """Whether records that are in no logged batch have a time."""
        return (
            self._request.overwrite
            or self._request.at_ms is not None
            or all(sink.settings.has_event_time for sink in self._pipeline.sinks)
        )

    def plan(self) -> RangePlan:
        """
        What this replay runs: the plan of the interrupted replay of this range, or a new one. Changes nothing.

        Raises:
            NotFoundError: there is no such topic.
            SourceUnavailableError: the cluster does not answer.
            ConflictError: the interrupted replay has other options.
            CheckpointError: the checkpoint is damaged.
            IntegrityError: the batch log is damaged.
        """
        stored = self._state.load()
        if stored is not None:
            return RangePlan(*stored, resumes=True)
        with KafkaAdmin(self._settings) as admin:
            topics = topics_of(self._settings, admin)
            if not topics:
                raise NotFoundError(f'no topic matches "{self._settings.topics_pattern}"')
            now = TopicState(admin.topic_ids(topics), _compacted(admin, topics))
            selected = _between(admin, topics, self._request)
        batches = list(BatchLog(batch_log_folder(self._configuration, self._pipeline.name)).batches())
        checkpoint = Checkpoint(checkpoint_folder(self._configuration, self._pipeline.name))
        selected = _up_to(selected, _durable_ends(batches, acknowledged_offsets(checkpoint)))
        logged = list(logged_pieces(batches, selected, now))
        time_ms = now_ms() if self._request.at_ms is None else self._request.at_ms
        others = unlogged_pieces(logged, selected, time_ms, self._settings.max_events_per_batch)
        return RangePlan([*others, *logged], ReplayTotals())

    def run(
        self, *, rate: float | None = None, on_progress: Callable[[ReplayTotals], None] = lambda _totals: None
    ) -> ReplayTotals:
        """
        Run the plan until all of it is durable.

        Args:
            rate: maximum average of records per second; each micro-batch runs at full speed, and the next one waits.
            on_progress: called with the totals after each durable micro-batch.

        Raises:
            ConfigError: there are records without a time.
            ConflictError: the service holds a store with a single writer, or another replay of the pipeline runs.
            ReplayStoppedError: a micro-batch cannot be made durable; finished ones are not run again.
            IngestError: as `plan`.
        """
        with ExitStack() as opened:
            opened.enter_context(replay_lock(self._configuration, self._pipeline))
            plan = self.plan()
            check_allowed(plan.pieces, is_allowed=self.is_any_allowed)
            totals = plan.totals
            if totals.batches < len(plan.pieces):
                runner = _Runner(self._configuration, self._pipeline, self._catalog, opened)
                if not plan.resumes:
                    self._state.start(plan.pieces)
                self._run(runner, plan, _Pace(rate), on_progress)
            self._state.finish()
        return totals

    def _run(
        self, runner: "_Runner", plan: RangePlan, pace: "_Pace", on_progress: Callable[[ReplayTotals], None]
    ) -> None:
        totals = plan.totals
        on_progress(totals)
        for piece in plan.pieces[totals.batches :]:
            try:
                counts = runner.run(piece)
                totals.add(counts)
                self._state.progress(totals)
            except PositionLostError as error:
                raise PositionLostError(
                    f"stopped after {totals.batches} of {len(plan.pieces)} micro-batches: the topics have deleted "
                    f"records of the next one since the replay was planned ({error.message})",
                    hint=f'remove "{self._state.plan_file}" and run the same command again, which makes a new plan',
                ) from error
            except IngestError as error:
                raise ReplayStoppedError(
                    f"stopped after {totals.batches} of {len(plan.pieces)} micro-batches: {error}",
                    code=error.code,
                    hint="finished micro-batches are not run again; run the same command again",
                ) from error
            on_progress(totals)
            pace.wait(counts.records)


class _Runner:
    """The pipeline on a Spark session, and its stores; closed with `opened`."""

    def __init__(self, configuration: Configuration, pipeline: Pipeline, catalog: Catalog, opened: ExitStack) -> None:
        plan = replace(plan_of(configuration, pipeline, catalog), is_replay=True)
        stores = driver_stores(configuration, [plan], opened)
        committers = committers_of(configuration, plan, stores, folder="replay")
        for committer in committers.values():
            opened.callback(committer.close)
            committer.recover()  # before Spark starts, because a locked store is refused here
        dead_letters = dead_letter_queue(configuration, pipeline)
        opened.callback(dead_letters.close)
        dead_letters.prepare()
        settings = kafka_source_of(pipeline)
        session = open_session(
            f"attr2hbase replay {pipeline.name}",
            master=configuration.spark.master,
            driver_memory_bytes=configuration.spark.driver_memory,
            conf=spark_conf(configuration),
            secret_names=configuration.secret_settings,
            jars=[] if is_submitted() else connector_jars(),
            java_properties=settings.java_properties(),
        )
        opened.callback(close_session, session)
        refuse_cluster(stores, str(session.sparkContext.master))
        budget = pipeline.error_budget
        self._session = session
        self._settings = settings
        self._observer = _Observer(pipeline.name)
        self._job = Job(
            pipeline=pipeline.name,
            plan=packed(plan),
            batch_times=None,
            committers=committers,
            error_budget=ErrorBudget(
                share=budget.share,
                min_events=budget.min_events,
                window_s=budget.window,
                max_records=settings.max_records_per_batch,
            ),
            publish=dead_letters.publish,
            observer=self._observer,
            max_tasks=max_tasks(session),
            hide=configuration.masks.hide,
        )

    def run(self, piece: Piece) -> Counts:
        """Run a piece until it is durable, with its dead letters."""
        frame = read_kafka_ranges(self._session, self._settings, piece.ranges)
        self._job.run_batch(frame, piece.number, piece.time_ms, piece.name)
        return self._observer.counts


class _Observer:
    """Logs what blocks a replay, and keeps the counts of its last micro-batch."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._code = ""
        self.counts = Counts()

    def running(self) -> None:
        if self._code:
            _log.warning("replay resumes", pipeline=self._pipeline)
            self._code = ""

    def blocked(self, code: str, message: str) -> None:
        if code != self._code:
            _log.error("replay is blocked", pipeline=self._pipeline, code=code, reason=message)
            self._code = code

    def attempted(self, counts: Counts) -> None:
        """Nothing: only durable batches count."""

    def durable(self, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        self.counts = counts
        _log.info(
            "batch is replayed",
            pipeline=self._pipeline,
            batch=batch_id,
            time_ms=batch_time_ms,
            read=counts.read,
            seconds=round(seconds, 3),
        )


class _Pace:
    """Waits between micro-batches, so that the average rate is not exceeded."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._started_s = time.monotonic()
        self._records = 0

    def wait(self, records: int) -> None:
        """Wait after a micro-batch with this number of records."""
        self._records += records
        if self._rate is not None:
            time.sleep(max(0.0, self._started_s + self._records / self._rate - time.monotonic()))


def _between(admin: KafkaAdmin, topics: Sequence[str], request: RangeRequest) -> dict[Part, tuple[int, int]]:
    """The offsets of the time range, of records that the topics still have."""
    ends = admin.ends(topics)
    begins, stops = admin.offsets_since(topics, request.from_ms), admin.offsets_since(topics, request.to_ms)
    ranges = {part: (begins.get(part, end), min(stops.get(part, end), end)) for part, end in ends.items()}
    return {part: (begin, end) for part, (begin, end) in ranges.items() if begin < end}


def _durable_ends(batches: Sequence[LoggedBatch], acknowledged: Mapping[Part, int]) -> dict[Part, int]:
    """The offsets before which all records are durable; a logged batch is, also if it is not acknowledged yet."""
    ends = dict(acknowledged)
    for batch in batches:
        for part, (_, end) in batch.ranges.items():
            ends[part] = max(end, ends.get(part, 0))
    return ends


def _up_to(selected: OffsetRanges, ends: Mapping[Part, int]) -> dict[Part, tuple[int, int]]:
    """The ranges up to the ends of their partitions; unchanged if there are no ends, as without a checkpoint."""
    if not ends:
        return dict(selected)
    cut = {part: (begin, min(end, ends.get(part, 0))) for part, (begin, end) in selected.items()}
    return {part: (begin, end) for part, (begin, end) in cut.items() if begin < end}


def _compacted(admin: KafkaAdmin, topics: Sequence[str]) -> frozenset[str]:
    """Topics that may lack superseded records; also those whose settings may not be read."""
    found = set()
    for topic in topics:
        try:
            if "compact" in admin.settings(topic).cleanup_policy:
                found.add(topic)
        except SourceError as error:
            if error.code != "access_denied":
                raise
            _log.warning(
                "no permission to read the settings of a topic; its batches run one millisecond before their times",
                topic=topic,
            )
            found.add(topic)
    return frozenset(found)

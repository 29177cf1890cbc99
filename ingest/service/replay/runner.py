"""Runs the micro-batches of a replay until they are durable."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ingest.config.model import Pipeline
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import with_topic_ids
from ingest.dead_letters.queue import DeadLetterQueue
from ingest.observe.logs import logger
from ingest.pipeline.rate_limiter import RateLimiter
from ingest.plan.codec import packed
from ingest.receipt import Counts
from ingest.service.committers import committers_of
from ingest.service.dead_letters.blobs import DeadLetterPublication, OpenDeadLetterBlobs
from ingest.service.dead_letters.queues import components_of, dead_letter_queue, error_budget
from ingest.service.jobs.place import Place
from ingest.service.kafka.clock import check_clock
from ingest.service.kafka.positions import splits_of
from ingest.service.kafka.quarantine import Quarantine
from ingest.service.observer import counted_by_name
from ingest.service.offsets import kafka_source_of
from ingest.service.replay.empty_tables import empty_tables
from ingest.service.replay.plan import ReplayBatch
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.sinks import WaitingLetters, letters_of_sinks, only_sinks, sinks_alone
from ingest.service.replay.update_replay import UpdateReplay
from ingest.service.stores import refuse_cluster
from ingest.service.tables import owned_tables
from ingest.spark.cancelled_tasks import CancelledTasks
from ingest.spark.streaming.batch_runner import BatchRunner
from ingest.spark.streaming.checkpoint import Checkpoint
from ingest.spark.streaming.reading import read_kafka_ranges
from sinks.feed.feature import Feed
from sinks.updates.feature import Updates

T = TypeVar("T")
_log = logger(__name__)


class ReplayRunner:
    """
    The pipeline of a replay on a Spark session, with its stores.

    Args:
        place: has session and stores.
        pipeline: whose batches run.
        limiter: of the replay's own rate.
        opened: ends the use of the stores.
        checkpoint: of the pipeline, which does not run, and is locked; None if it may run.
        tables: with deferred updates; only their sinks run. None to run all sinks.
        sinks: names of the only sinks that run, of which `tables` are; None for all.
        left: the batches that may run, in their order.
        topic_ids: topic -> its id, as far as it is known.
        check_owner: as in `BatchRunner`, for the lock of the replay.

    Raises:
        IngestError: a store is locked or unavailable, the dead-letter topic is missing, or there is no session.
    """

    def __init__(  # noqa: PLR0913 - the parts of a replay; only `RangeReplay` calls it
        self,
        place: Place,
        pipeline: Pipeline,
        limiter: RateLimiter,
        opened: ExitStack,
        *,
        checkpoint: Checkpoint | None,
        tables: frozenset[str] | None,
        sinks: Collection[str] | None,
        left: Sequence[ReplayBatch],
        topic_ids: Mapping[str, str],
        check_owner: Callable[[], None],
    ) -> None:
        configuration = place.configuration
        whole = replace(place.plan_of(pipeline), is_replay=True)
        plan = only_sinks(whole, sinks)
        possible = whole if tables is None else whole.with_tables(tables, Updates.name)
        moves_positions = checkpoint is not None and (tables is not None or bool(plan.tables_with(Feed)))
        moving = whole if moves_positions else plan
        self._updates: UpdateReplay | None = None
        stores = place.driver_stores(moving, opened)
        owned = owned_tables(configuration, moving, stores)
        if checkpoint is not None and moves_positions:
            check_clock(kafka_source_of(pipeline))
            # of all tables: their committed positions move together
            self._updates = UpdateReplay(configuration, pipeline, checkpoint, owned)
        if tables is not None:
            plan = plan.with_tables(tables, Updates.name)
        self._tables = tables or frozenset()
        self._sinks = sinks_alone(plan, possible)
        check_owner = partial(_check_both, check_owner, self._updates)
        plan = replace(plan, empty=empty_tables(plan, left))
        committers = committers_of(configuration, plan, stores, owned, check_owner=check_owner)
        for committer in committers.values():
            opened.callback(committer.close)
            committer.recover()  # before Spark starts, because a locked store is refused here
        dead_letters = dead_letter_queue(configuration, pipeline)
        opened.callback(dead_letters.close)
        dead_letters.prepare()
        blobs = opened.enter_context(OpenDeadLetterBlobs(configuration, place.catalog, stores))
        components, every = components_of(plan), components_of(whole)
        self._settings = kafka_source_of(pipeline)
        self._session = place.session(f"replay {pipeline.name}", pipeline)
        refuse_cluster(stores, str(self._session.sparkContext.master))
        self._quarantine = Quarantine(pipeline, self._settings, self._session)
        cancelled = CancelledTasks(self._session)
        # a reload may build the pipeline as soon as its replay has ended
        opened.callback(cancelled.wait)
        self._observer = _Observer(pipeline.name, place)
        self._runner = BatchRunner(
            pipeline=pipeline.name,
            task_name=f"{pipeline.name}+replay",  # no pipeline has such a name
            plan=packed(plan),
            session=self._session,
            batch_times=None,
            committers=committers,
            error_budget=error_budget(pipeline),
            publish=_publication(dead_letters, blobs, components, every, topic_ids, [batch.time_ms for batch in left]),
            observer=self._observer,
            check_owner=check_owner,
            needs_splits=plan.needs_splits,
            max_tasks=place.max_tasks(self._session),
            limiter=limiter,
            watched=cancelled.watched,
            hide=configuration.masks.hide,
        )
        opened.callback(self._runner.close)

    def delay_s(self) -> float:
        """Seconds until the next micro-batch may start: for the rate, or because a store is overloaded."""
        return self._runner.delay_s()

    def run(self, batch: ReplayBatch) -> Counts:
        """
        Run a batch until it is durable, with its dead letters.

        Raises:
            IngestError: it cannot be made durable, or `stop` was called.
        """
        frame = read_kafka_ranges(self._session, self._settings, batch.ranges)

        def write(time_ms: int) -> None:
            splits, guard = partial(splits_of, batch.ranges), self._quarantine.guard(batch.ranges)
            self._runner.run_batch(frame, batch.number, time_ms, batch.name, splits, guard)

        def write_again(_time_ms: int) -> None:
            # only the changes have a new time
            write(batch.time_ms)

        if self._updates is None:
            write(batch.time_ms)
        else:
            self._updates.run(self._unfinished(batch).to_plain(), write if self._tables else write_again)
        return self._observer.counts

    def finish(self, batch: ReplayBatch) -> None:
        """
        End a batch: the progress of the replay is durable.

        Raises:
            IngestError: not possible now; the batch is ended when the replay resumes.
        """
        if self._updates is not None:
            self._updates.note_replayed(self._unfinished(batch))
            self._updates.finish()

    def _unfinished(self, batch: ReplayBatch) -> UnfinishedBatch:
        return UnfinishedBatch(batch, self._tables, self._sinks)

    def until_possible(self, action: Callable[[], T]) -> T:
        """
        Retry an action on the driver until it succeeds, and return its result; the replay is blocked meanwhile.

        Raises:
            IngestError: a retry cannot help, or `stop` was called.
        """
        result = self._runner.until_possible(action)
        self._observer.running()
        return result

    def stop(self) -> None:
        """Abandon the running batch; called from another thread, and returns at once."""
        self._runner.stop()


def _publication(
    queue: DeadLetterQueue,
    blobs: OpenDeadLetterBlobs,
    components: Components,
    every: Components,
    topic_ids: Mapping[str, str],
    times_ms: Iterable[int],
) -> Callable[[Sequence[bytes], int, int], None]:
    """
    Publishes the dead letters of a replay; those of sinks that do not run are the only copies of their events.

    Args:
        queue: of the pipeline.
        blobs: of its dead letters.
        components: that run.
        every: those of the pipeline.
        topic_ids: topic -> its id, as far as it is known.
        times_ms: of the micro-batches of the replay.
    """

    def with_ids(lines: Sequence[bytes]) -> list[bytes]:
        return with_topic_ids(lines, lambda: topic_ids)

    if components == every:
        whole = DeadLetterPublication(queue, blobs, keeps=lambda letter: components.lacks(letter.component))
        return lambda lines, batch_id, batch_time_ms: whole(with_ids(lines), batch_id, batch_time_ms)
    # a record that failed before the sinks is in none of the others either
    publication = DeadLetterPublication(queue, blobs, keeps=lambda letter: letter.component not in components.alone)

    waiting = WaitingLetters(queue.entries, components, times_ms)

    def publish(lines: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        letters = letters_of_sinks(with_ids(lines), components, partial(waiting.at, batch_time_ms))
        blobs.refer(letters.copies)
        publication([each.to_json() for each in (*letters.failed, *letters.copies)], batch_id, batch_time_ms)
        blobs.release(letters.replaced)

    return publish


def _check_both(check_owner: Callable[[], None], updates: UpdateReplay | None) -> None:
    """Check the lock of the replay, and that of the pipeline's checkpoint if the replay writes in its place."""
    check_owner()
    if updates is not None:
        updates.check_locked()


class _Observer:
    """Reports what blocks a replay, and keeps the counts of its last micro-batch."""

    def __init__(self, pipeline: str, place: Place) -> None:
        self._pipeline = pipeline
        self._place = place
        self._code = ""
        self.counts = Counts()

    def running(self) -> None:
        if self._code:
            _log.warning("replay resumes", pipeline=self._pipeline)
            self._code = ""
            self._place.on_blocked("")

    def blocked(self, code: str, message: str) -> None:
        if code != self._code:
            _log.error("replay is blocked", pipeline=self._pipeline, code=code, reason=message)
            self._code = code
            self._place.on_blocked(f"{code}: {message}")

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
            **counted_by_name(counts),
        )

"""Replay of dead letters: records through a pipeline into its stores, without Spark."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Self

from ingest.api import ConflictError, Record, RecordPlace, SourceError
from ingest.config.model import Pipeline
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import DeadLetterQueue, Entry
from ingest.dead_letters.replay_batches import SkipReason, Values
from ingest.kafka.settings import KafkaConnection, connection_of
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.splits import ranked
from ingest.plan.assemble import live_task
from ingest.receipt import Counts
from ingest.service.committers import committers_of
from ingest.service.dead_letters.blobs import OpenDeadLetterBlobs, RecordsWithValues
from ingest.service.dead_letters.queues import components_of
from ingest.service.dead_letters.unread import warn_of_gone
from ingest.service.jobs.place import Place
from ingest.service.kafka.clock import check_clock
from ingest.service.replay.interrupted import InterruptedDeadLetters
from ingest.service.replay.known_letters import KnownLetters
from ingest.service.replay.later_runs import LaterRuns
from ingest.service.replay.outcomes import Drops
from ingest.service.replay.places import (
    Divided,
    Run,
    batch_name,
    parts,
    published,
    sinks_by_range,
)
from ingest.service.replay.readable import ReadableRecords
from ingest.service.replay.update_history import UpdateHistory
from ingest.service.replay.update_replay import UpdateReplay, logged
from ingest.service.replay_lock import replay_lock
from ingest.service.state_folders import batch_log_folder
from ingest.service.tables import owned_tables
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_log import BatchLog
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.feed.feature import Feed
from sinks.owning.owned_tables import OwnedTables
from sinks.rewriting.counted_letters import CountedLetters
from sinks.rewriting.owned_updates import OwnedUpdates
from sinks.rewriting.rolled_back import rolled_back
from sinks.updates.feature import Updates
from sinks.updates.intervals import Interval
from sinks.writing.driver_store import DriverStore


class FanOutReplayError(ConflictError):
    """Dead letters of a pipeline with a fan-out cannot be replayed into tables with deferred updates."""

    code = "fan_out"
    hint = "correct the producer, and send the lost events again"


class DeadLetterReplay:
    """
    Runs records through a pipeline; see `ingest.dead_letters.replay.RunRecords`.

    Opens the pipeline's stores until the block ends, and borrows the pipeline if it has tables with deferred updates or
    a feed. Another replay of the pipeline is refused, as it would replay the same dead letters.

    Args:
        place: where it runs.
        pipeline: whose dead letters it runs.
        recount: also replay dead letters into deferred updates if the batch log no longer has their micro-batch, or if
            a replay has stored them, or it is unknown which sinks have.
        check_clock: refuses a clock that is ahead of the cluster's, before records get a new time.
    """

    def __init__(
        self,
        place: Place,
        pipeline: Pipeline,
        *,
        recount: bool = False,
        check_clock: Callable[[KafkaConnection], None] = check_clock,
    ) -> None:
        configuration, catalog = place.configuration, place.catalog
        self._place = place
        self._configuration = configuration
        self._pipeline = pipeline
        self._catalog = catalog
        self._plan = replace(place.plan_of(pipeline), is_replay=True, publishes_dead_letters=False)
        self._updated_tables, self._fed_tables = self._plan.tables_with(Updates), self._plan.tables_with(Feed)
        self._updated_sinks, self._fed_sinks = (
            self._plan.sinks_of(Updates.name),
            self._plan.sinks_of(Feed.name) - self._plan.sinks_of(Updates.name),
        )
        self._lock = replay_lock(configuration, pipeline)
        self._opened = ExitStack()
        self._updates: UpdateReplay | None = None
        self._recount = recount
        self._check_clock = check_clock
        self._checkpoint = Checkpoint(checkpoint_folder(configuration, pipeline.name))
        self._run_again: tuple[int, bool] | None = None
        self._begins: dict[RecordPlace, int] = {}  # of the micro-batch that is read: `ReadableRecords.begin_of`
        self._history = UpdateHistory(KnownLetters())
        self._blobs = OpenDeadLetterBlobs(configuration, catalog)
        self._values: Values = {}
        self._is_by_place = False
        self._drops = Drops()
        self._readable = ReadableRecords(configuration, pipeline)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(self._lock)
            self._compare_clocks()
            stores = self._place.driver_stores(self._plan, opened)
            self._blobs = opened.enter_context(OpenDeadLetterBlobs(self._configuration, self._catalog, stores))
            tables = owned_tables(self._configuration, self._plan, stores)
            self._committers = committers_of(
                self._configuration, self._plan, stores, tables, check_owner=self._check_locked
            )
            for committer in self._committers.values():
                opened.callback(committer.close)
                committer.recover()
            if self._updated_tables:
                self._refuse_fan_out()
            if self._updated_tables or self._fed_tables:
                checkpoint = opened.enter_context(self._place.borrowed(self._pipeline, kind="replay of dead letters"))
                self._updates = UpdateReplay(self._configuration, self._pipeline, checkpoint, tables)
            if self._updated_tables and self._updates is not None:
                self._history = self._history_of(stores, tables, self._updates)
            observer = None if self._updates is None else self._drops
            self._task = live_task(self._plan, observer)
            opened.callback(self._task.close)
            # values of records that can be read now are in their dead letters, whatever their length
            publishing = replace(self._plan, publishes_dead_letters=True, dead_letter_place=None)
            self._publishing_task = live_task(publishing, observer)
            opened.callback(self._publishing_task.close)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    @property
    def components(self) -> Components:
        """The names of the pipeline's current sinks and decorators."""
        return components_of(self._plan)

    def __call__(
        self,
        records: Sequence[Record],
        batch_time_ms: int,
        sinks_by_record: Mapping[RecordPlace, frozenset[str]],
        values: Values = MappingProxyType({}),
    ) -> tuple[Counts, list[bytes]]:
        """
        Run records at a batch time, each into its sinks; records counted as stored are durable.

        Values of records that are in a blob store are read one at a time. Records of which a dead letter has the place
        are read again, and have dead letters of their own if they fail.

        Sinks of tables with deferred updates run as a micro-batch of their own, at a new time. Sinks of tables with a
        feed do so too, but only their changes have that time: readers of the feed may have read further already.
        """
        self._is_by_place = any(isinstance(value, PlaceRange) for value in values.values())
        names = self.components.sinks
        if self._history.cuts is not None:
            values = self._readable.with_ends(values)
        divided = Divided.of(records, values, self._history.cuts, self._begins)
        records, self._values = divided.records, divided.values
        for (topic, partition), gone in divided.gone.items():
            warn_of_gone(topic, partition, gone)
        if self._updates is None:
            wholes = ((record.place, divided.whole(record.place)) for record in records)
            sinks = {place: sinks_by_record[whole] for place, whole in wholes if whole in sinks_by_record}
            counts, dead_letters = self._run(records, batch_time_ms, sinks)
            written = {record.place: sinks.get(record.place, names) for record in records}
            return counts, self._published([(dead_letters, written)], batch_time_ms)
        into_updates, into_feeds, others = {}, {}, {}
        partly: set[RecordPlace] = set()  # records that some of their sinks have
        for record in records:
            whole = divided.whole(record.place)
            selected = sinks_by_record.get(whole, names)
            source_ms = self._history.source_ms(whole, batch_time_ms)
            reasons = self._history.skip_reasons(record.place, whole, selected, source_ms)
            into_updates[record.place] = frozenset(name for name, reason in reasons.items() if reason is None)
            into_feeds[record.place] = selected & self._fed_sinks
            others[record.place] = selected - reasons.keys() - into_feeds[record.place]
            if any(reasons.values()):
                partly.add(record.place)
        updated = [
            [*divided.whole(record.place), sorted(names)]
            for record in records
            if (names := into_updates[record.place] | into_feeds[record.place])
        ]
        if updated:
            self._updates.interrupted_ms(updated)  # before anything is written
        counts, runs = Counts(), []
        self._drops.start(partly)

        def run(time_ms: int, sinks: Mapping[RecordPlace, frozenset[str]]) -> tuple[Counts, list[bytes]]:
            some, failed = self._run_some(records, time_ms, sinks)
            counts.add(some)
            runs.append((failed, sinks))
            return some, failed

        def write(time_ms: int) -> None:
            some, failed = run(time_ms, into_updates)
            if some.cells:
                self._history.note(divided, into_updates, failed, batch_time_ms, time_ms, is_by_place=self._is_by_place)
            else:
                self._history.note_none(time_ms)
            run(batch_time_ms, into_feeds)

        run(batch_time_ms, others)
        if updated:
            self._updates.run(updated, write)
        counts.dropped = self._drops.counts()
        return counts, self._published(runs, batch_time_ms)

    def _published(self, runs: Sequence[Run], batch_time_ms: int) -> list[bytes]:
        """The dead letters of the runs of a micro-batch; those that replace places have its time."""
        if self._is_by_place:
            return published(runs, batch_time_ms, self.components)
        return [line for lines, _ in runs for line in lines]

    def runs_again(self, entry: Entry) -> bool:
        """
        Whether the micro-batch of a dead letter is not acknowledged.

        Looked up once for each micro-batch, after its dead letters were read: the pipeline may publish some during a
        replay.

        Raises:
            CheckpointError: a stored time is damaged.
            StoreUnavailableError: the checkpoint cannot be read now.
        """
        batch_time_ms = entry.dead_letter.batch_time_ms
        if self._run_again is None or self._run_again[0] != batch_time_ms:
            self._run_again = batch_time_ms, batch_time_ms == self._checkpoint.uncommitted_ms()
        return self._run_again[1]

    def counted(self, place: RecordPlace) -> Mapping[str, int]:
        """
        The sinks into deferred updates in which replays have stored a record, with the times of these updates in ms.

        Of records of the last micro-batch that was read or ran. A sink whose `when` drops the event counts as well.
        """
        return self._history.counted(place)

    def skip_reason(self, entry: Entry) -> SkipReason | None:
        """
        Why a dead letter of an acknowledged micro-batch does not run; None if it runs.

        Each of its sinks would count its record a second time, the blob store does not have the value of its record, or
        its record batch is still too large.
        The dead letters of a micro-batch are asked before it runs.

        Raises:
            ConflictError: the batch log no longer has its micro-batch, so it is unknown whether the record ran again.
            StoreError: the store of the value is unavailable.
            SourceUnavailableError: the cluster of its record batch does not answer.
        """
        dead_letter = entry.dead_letter
        if self._history.read(entry):
            self._begins = {}
        components = self.components
        alone = dead_letter.component in components.alone
        sinks = frozenset([dead_letter.component]) if alone else components.sinks
        place = dead_letter.record.place
        found = [
            self._history.skip_reasons(part, place, sinks, dead_letter.source_ms)
            for part in parts(place, self._readable.with_end(place, dead_letter.by_place), self._history.cuts)
        ]
        if any(reasons.keys() != sinks or None in reasons.values() for reasons in found):
            if self._updated_tables and not self._recount and components.is_unsure(dead_letter):
                return SkipReason.SINK_UNKNOWN
            if not self._recount and dead_letter.is_of_fan_out and sinks & self._updated_sinks:
                return SkipReason.FAN_OUT  # `_refuse_fan_out` knows the present decorators alone
            if not self._blobs.keep(entry):
                return SkipReason.NO_BLOB
            begin = self._readable.begin_of(dead_letter)
            if begin is None:
                return SkipReason.UNREAD
            if dead_letter.by_place is not None:
                self._begins[place] = begin
            return None
        return SkipReason.of_sinks(reason for reasons in found for reason in reasons.values() if reason is not None)

    def _history_of(
        self, stores: Mapping[str, DriverStore], tables: OwnedTables, updates: UpdateReplay
    ) -> UpdateHistory:
        intervals: dict[str, tuple[Interval, ...]] = {}
        for name, updated in self._updated_tables.items():
            with stores[name].held() as store:
                intervals.update({table: rolled_back(store, table) for table in updated})
        letters = tables.half(OwnedUpdates).letters

        def read_letters() -> dict[str, CountedLetters]:
            interrupted_ms = updates.unfinished_ms()  # its records run again, at this time
            return {table: known.without(interrupted_ms) for table, known in letters.read().items()}

        has_log = self._pipeline.source.settings.has_batch_log
        known = KnownLetters(
            sinks={
                sink.name: sink.settings.fixed_table or ""
                for sink in self._plan.sinks
                if sink.name in self._updated_sinks
            },
            rolled_back=intervals,
            read=read_letters,
            has_log=has_log,
            recount=self._recount,
        )
        runs = None
        if has_log:
            log = BatchLog(batch_log_folder(self._configuration, self._pipeline.name))
            runs = LaterRuns(log.batches(), known)
        return UpdateHistory(known, runs=runs, count=letters.count, recount=self._recount)

    def _compare_clocks(self) -> None:
        connection = connection_of(self._pipeline.source.settings)
        if connection is not None and (self._updated_tables or self._fed_tables):
            with suppress(SourceError):  # a replay needs no cluster, and a clock that is not reported is not compared
                self._check_clock(connection)

    def _refuse_fan_out(self) -> None:
        """The whole record runs again: the updates of its events that did not fail would be added twice."""
        for component in self._plan.decorators:
            if self._catalog.makes_events(component.kind):
                raise FanOutReplayError(
                    f'"{component.name}" makes several events of a record, and those that did not fail would be added '
                    "to deferred updates again",
                )

    def settle(self, queue: DeadLetterQueue, *, may_run: bool = True) -> None:
        """
        Finish an earlier replay that was killed when nothing was left to do but to note its end, or take it back.

        Args:
            queue: of the pipeline.
            may_run: leave a replay that can run as it was; else it is taken back, and the pipeline can start.
        """
        if self._updates is not None:
            self._updates.settle(InterruptedDeadLetters(queue, self._can_read), may_run=may_run)
            self._history.refresh()

    @contextmanager
    def taken_back_on_failure(self, queue: DeadLetterQueue) -> Iterator[None]:
        """A block of calls; if one fails in a service, what it has begun is taken back, so that the pipeline starts."""
        try:
            yield
        except BaseException:
            if self._place.is_service:
                with logged("a replay of dead letters is not taken back", self._pipeline.name):
                    self.settle(queue, may_run=False)
            raise

    def _can_read(self, entry: Entry) -> bool:
        """Whether all records of a dead letter can be read."""
        letter = entry.dead_letter
        return letter.pointer is None and self._blobs.keep(entry) and self._readable.has_all(letter)

    def marked(self) -> None:
        """End a call: the outcome of its dead letters is durable."""
        if self._updates is not None:
            self._updates.finish()

    def release(self, dead_letters: Sequence[DeadLetter]) -> None:
        """Let go of the blobs of dead letters that need no replay any more; as `OpenDeadLetterBlobs.release`."""
        self._blobs.release(dead_letters)

    def _run_some(
        self, records: Sequence[Record], batch_time_ms: int, sinks: Mapping[RecordPlace, frozenset[str]]
    ) -> tuple[Counts, list[bytes]]:
        """Run the records that have sinks."""
        chosen = [record for record in records if sinks[record.place]]
        return self._run(chosen, batch_time_ms, sinks) if chosen else (Counts(), [])

    def _run(
        self, records: Sequence[Record], batch_time_ms: int, sinks_by_record: Mapping[RecordPlace, frozenset[str]]
    ) -> tuple[Counts, list[bytes]]:
        values = [self._values.get(record.place) for record in records]
        micro_batch = MicroBatch(
            batch_name(zip(records, values, strict=True), batch_time_ms, sinks_by_record),
            batch_time_ms,
            f"{time.monotonic_ns()}",
            sinks_by_record=sinks_by_range(records, sinks_by_record) if self._is_by_place else sinks_by_record,
            split_per_record=not any(isinstance(value, PlaceRange) and not value.was_read for value in values),
            splits=ranked(record.place for record in records) if self._plan.needs_splits else (),
        )
        self._check_locked()
        task = self._publishing_task if self._is_by_place else self._task
        return run_until_durable(
            micro_batch,
            self._committers,
            InProcessHost(task, RecordsWithValues(records, self._values, self._blobs, self._readable.read_again)),
            check=lambda _counts, _dead_letters: self._check_locked(),
        )

    def _check_locked(self) -> None:
        """Check that this process still has the locks of the replay and of the pipeline's checkpoint."""
        self._lock.check()
        if self._updates is not None:
            self._updates.check_locked()

"""The tables that a pipeline owns, because of their features: claimed at its start, committed after a batch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import ConfigError, ConflictError, Disposition, IngestError, Source, TableSpec
from ingest.catalog import table_features
from ingest.config.model import Configuration, declared_in
from ingest.durable import StatePath, file_errors, sync_folder
from ingest.observe.logs import logger
from ingest.plan.plan import Plan
from ingest.service.kafka.positions import first_offsets, is_exact
from ingest.service.kafka.topics import TopicIds, check_committed, current_ids
from ingest.service.replay_lock import ReplayUnfinishedError
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.owning.committed_position import CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.writing.driver_store import DriverStore

_log = logger(__name__)

_OF_A_FILE = {("size",), ("mtime_ms",), ("length",)}
"""Numbers of a file in the offsets of the files source: another file at its path may have lower ones."""


class BatchShownError(ConflictError):
    """Readers of a feed may have deferred updates of the last micro-batch, and it would write them at another time."""

    code = "batch_shown"
    hint = "run the pipeline with the configuration that it had until the batch is durable, then change it"


class BehindCommittedPositionError(ConflictError):
    """The checkpoint is behind the committed positions of tables with deferred updates, as one that was restored."""

    code = "behind_committed_position"
    hint = (
        "move the checkpoint away: a new one starts at the committed positions; or count the events again: `--recount`"
    )


@dataclass(frozen=True, slots=True)
class OwnerOptions:
    """
    Options of a run for the tables that the pipeline owns.

    Attributes:
        take_over: take tables that another pipeline owns.
        recount: let a new checkpoint start elsewhere than at the committed positions, so that events are counted again.
    """

    take_over: bool = False
    recount: bool = False


class PipelineTables:
    """
    The tables that the sinks of a pipeline name and that it owns.

    Called by one thread, except for `resume_at`.

    Args:
        fingerprint: of the pipeline's configuration.
        replay: the records of a replay into the tables; the file exists while the replay is not finished.
    """

    def __init__(
        self,
        tables: OwnedTables,
        checkpoint: Checkpoint,
        times: BatchTimes,
        *,
        fingerprint: str,
        replay: StatePath,
        options: OwnerOptions,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        self._times = times
        self._fingerprint = fingerprint
        self._replay = replay
        self._options = options
        self._topic_ids = TopicIds(checkpoint.folder)
        self._ids: dict[str, str] = {}
        self._looked_up: set[str] = set()

    @property
    def has_any(self) -> bool:
        """Whether the pipeline owns a table."""
        return bool(self._tables)

    @property
    def add_to_rows(self) -> bool:
        """Whether events add to the rows of a table, so that they must not be counted twice."""
        return self._tables.add_to_rows

    def claim(self, source: Source[Any], withdraw: Callable[[int, int], object]) -> None:
        """
        Claim the tables, roll forward what is rolled forward, and withdraw what would be counted twice.

        Under a new checkpoint these are the updates above the committed positions, because the pipeline reads their
        events again, and so they are if the batch that is planned has no time. A
        micro-batch that was not acknowledged writes the same rows again, unless the configuration has changed: then its
        updates are removed too, and it gets a later time, so that the deletes do not hide what it writes next. A table
        with a change feed gets what the feed has of such a micro-batch, because it may have a part of it already.

        Args:
            source: of the pipeline.
            withdraw: removes the dead letters of a micro-batch that gets a later time, given its number and its time.

        Raises:
            ConfigError: the source cannot start at the committed positions.
            PositionLostError: a topic was deleted and recreated since the newest committed position.
            ConflictError: a replay into the tables is not finished: later micro-batches would move the committed
                positions over it; or readers of a feed have updates of a micro-batch that would write them at another
                time again.
            IngestError: as `OwnedTables.claim`, `OwnedTables.roll_forward` and `OwnedTables.remove_batch`.
        """
        self._release_undeclared()
        if not self._tables:
            return
        gives_up_replay = self._gives_up_replay()
        self._tables.claim(take_over=self._options.take_over, start_after=self._times.start_after_now)
        if gives_up_replay:
            self._tables.remove_uncommitted(self._times.start_after_now)
            with file_errors(self._replay):
                self._replay.unlink(missing_ok=True)
                sync_folder(self._replay.parent)
        uncommitted = self._checkpoint.uncommitted()
        runs_again_at = self._runs_again_at(uncommitted)
        self._checkpoint.check_locked()  # what was read may be a batch of the driver that has taken over
        self._tables.roll_forward(runs_again_at)
        if not self._options.recount:
            self._refuse_counting_twice(uncommitted)
        committed = self._tables.newest()
        may_start = self._checkpoint.exists or self._options.recount or source.supports_resume_at
        if self._tables.add_to_rows and committed is not None and not may_start:
            raise ConfigError(
                f'source "{source.kind}" cannot start where the deferred updates of its tables end',
                hint="restore the checkpoint, write to a new table, or run with --recount to count events again",
            )
        self._times.start_after(self._newest_ms())
        if self._options.recount and committed is not None:
            self._tables.may_run_again(self._times.start_after_now())
        if uncommitted is not None:
            self._check_uncommitted(uncommitted, withdraw)
        elif self._checkpoint.newest_commit() is None:
            if self._tables.add_to_rows:
                self._check_topics(committed, source)
            self.resume_at()  # the committed positions agree
            # also after a reset of the offsets, which makes a new checkpoint
            self._remove_uncommitted(committed)
        elif self._checkpoint.without_time() is not None:
            # a table that was not written for some time has an older committed position, and not the records since then
            newest = self._checkpoint.newest_commit()
            self._remove_uncommitted(committed, after_ms=-1 if newest is None else self._times.known(newest) or -1)

    def _remove_uncommitted(self, committed: CommittedPosition | None, *, after_ms: int = -1) -> None:
        """Remove the updates above the committed positions; the records of micro-batches after a time run again."""
        self._checkpoint.check_locked()
        self._tables.remove_uncommitted(self._times.start_after_now)
        if not self._options.recount and committed is not None:
            # dead letters of the micro-batches that are removed, in a topic, are of records that run again
            self._tables.note_run_again(self._times.start_after_now(), after_ms=after_ms)

    def withdraw(self, batch_id: int, time_ms: int) -> None:
        """
        Remove the updates of a micro-batch that had begun and whose plan is lost: its records run in other ones.

        Raises:
            ConflictError: readers have its updates already.
            IngestError: as `OwnedTables.remove_batch`.
        """
        newest = self._tables.newest()
        is_marked = newest is not None and time_ms <= newest.time_ms
        if self._options.recount and is_marked:
            return  # a compaction may have merged them; they are counted again
        shown = self._tables.visible_to_readers(time_ms)
        if shown:
            raise BatchShownError(
                f"readers of the change feed of {', '.join(shown)} may have the updates of batch {batch_id}, whose "
                "plan is lost; they would count them twice",
                hint="restore the newest state_dir; or let them count the events again: 'attr2hbase run --recount'",
            )
        self._tables.remove_batch(int(self._times.name_of(batch_id)), time_ms)

    def _gives_up_replay(self) -> bool:
        """
        Whether a start takes a table back that another pipeline has taken over within an interrupted replay.

        That replay cannot go on: the take-over has deleted what it had written, and its time is past.

        Raises:
            ConflictError: a replay is not finished, and can go on.
        """
        with file_errors(self._replay):
            if not self._replay.exists():
                return False
        if self._options.take_over and self._tables.has_another_owner():
            _log.warning("a replay that was interrupted is given up; run its command again", path=str(self._replay))
            return True
        raise ReplayUnfinishedError(
            "a replay into the tables of this pipeline was interrupted, and some of its records may be written",
            hint="run its command again, 'attr2hbase replay' or 'attr2hbase dead-letters replay', which finishes it "
            "or takes it back; the service then starts the pipeline",
        )

    def _release_undeclared(self) -> None:
        """End what the file no longer declares of tables; a store that does not answer is no reason not to start."""
        try:
            self._tables.check(take_over=self._options.take_over)  # a start that is refused changes no table
            ended = self._tables.release_undeclared()
        except IngestError as error:
            if error.disposition is not Disposition.RETRY:
                raise
            _log.warning("feeds and deferred updates that are no longer declared are not ended", reason=str(error))
            return
        for table, message in ended:
            _log.warning(message, table=table)

    def _runs_again_at(self, uncommitted: int | None) -> int | None:
        """
        The time of a micro-batch that was not acknowledged and runs again as it was; None if there is none.

        Raises:
            ConflictError: it would run at another time, and readers have its updates already.
        """
        time_ms = None if uncommitted is None else self._times.known(uncommitted)
        if uncommitted is None or time_ms is None:
            return None
        self._tables.begun(time_ms)
        if not self._runs_anew(uncommitted, time_ms):
            return time_ms
        shown = self._tables.visible_to_readers(time_ms, self._checkpoint.end_offsets(uncommitted))
        if shown:
            raise BatchShownError(
                f"readers of the change feed of {', '.join(shown)} may have the updates of batch {uncommitted}, which "
                "is not complete in the other tables; with another configuration they would count them twice",
            )
        return None

    def _refuse_counting_twice(self, uncommitted: int | None) -> None:
        """
        Refuse a checkpoint behind the committed positions, such as one that was restored: the pipeline would read
        events again.
        """
        newest = self._checkpoint.newest_commit() if uncommitted is None else uncommitted
        if newest is not None:
            ends: Mapping[str, object] = self._checkpoint.end_offsets(newest)
        elif is_exact(self._checkpoint.folder):
            ends = first_offsets(self._checkpoint)
        else:
            return
        positions, reached = self._tables.reached(), _numbers(ends)
        behind = sorted(
            (place, offset)
            for committed in positions
            for place, offset in _numbers(committed).items()
            if place in reached and offset > reached[place]
        )
        if behind:
            place, offset = behind[0]
            raise BehindCommittedPositionError(
                f"the checkpoint is behind the tables with deferred updates: {'/'.join(place)} is "
                f"{reached[place]:,} there and {offset:,} in the committed position; events would be counted twice",
            )

    def _check_uncommitted(self, batch_id: int, withdraw: Callable[[int, int], object]) -> None:
        """Let a micro-batch that was not acknowledged start anew if it would not write the same rows again."""
        time_ms = self._times.of(batch_id)
        if self._runs_anew(batch_id, time_ms):
            self._checkpoint.check_locked()
            _log.warning("the last batch runs anew at a later time; its deferred updates are removed", batch=batch_id)
            withdraw(batch_id, time_ms)
            self._tables.remove_batch(int(self._times.name_of(batch_id)), time_ms)
            self._times.renew(batch_id, self._newest_ms())

    def _runs_anew(self, batch_id: int, time_ms: int) -> bool:
        """
        Whether a micro-batch that was not acknowledged runs at another time than before.

        It would not write the same rows again; or a table was completed up to its time, or beyond it, without it: one
        that was taken over, or that an interrupted start has rolled forward. Before the shards of a feed, or at a time
        that an interrupted start has withdrawn, it cannot run.
        """
        newest = self._tables.newest()
        if newest is not None and time_ms <= newest.time_ms:
            offsets = self._checkpoint.end_offsets(batch_id)
            if self._tables.is_complete(time_ms, offsets):
                return False
            if self._tables.is_past(time_ms, offsets):
                return True
        return time_ms < self._tables.newest_edge_ms() or self._checkpoint.is_changed(self._fingerprint)

    def _newest_ms(self) -> int:
        """The time that new micro-batches are above: of the newest committed position, or of a feature."""
        newest = self._tables.newest()
        return max(0 if newest is None else newest.time_ms, self._tables.newest_edge_ms())

    def resume_at(self) -> Mapping[str, object] | None:
        """As `SourceContext.resume_at`."""
        return None if self._options.recount else self._tables.resume_at(is_new=not self._checkpoint.exists)

    def is_complete(self, batch_id: int, batch_time_ms: int) -> bool:
        """Whether the tables have all updates of a micro-batch, so that it is acknowledged without running."""
        newest = self._tables.newest()
        if newest is None or batch_time_ms > newest.time_ms:
            return False  # as nearly always: the offsets are not read
        return self._tables.is_complete(batch_time_ms, self._checkpoint.end_offsets(batch_id))

    def complete(self, batch_id: int, batch_time_ms: int) -> None:
        """
        Move the committed positions: the last act of a micro-batch before its acknowledgement.

        Raises:
            IngestError: as `OwnedTables.move`; the checkpoint is damaged.
        """
        if self._tables:
            offsets = self._checkpoint.end_offsets(batch_id)
            self._tables.move(CommittedPosition(batch_time_ms, offsets, self._ids_of(offsets)))

    def _check_topics(self, committed: CommittedPosition | None, source: Source[Any]) -> None:
        """Refuse the offsets of a topic that was recreated; a checkpoint that exists has its own ids."""
        if committed is None or not committed.topic_ids or self._options.recount:
            return
        check_committed(committed.topic_ids, current_ids(source.settings))

    def _ids_of(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids of topics, as far as they are known; without Kafka there are none."""
        names = set(topics)
        if not names <= self._looked_up:  # once for each topic: the file may be remote
            self._ids = self._topic_ids.known()
            self._looked_up |= names
        return {name: self._ids[name] for name in names & self._ids.keys()}


def owned_tables(configuration: Configuration, plan: Plan, stores: Mapping[str, DriverStore]) -> OwnedTables:
    """The tables that the sinks of a plan name and that its pipeline owns."""
    tables: dict[str, list[TableSpec]] = {}
    written: dict[str, set[str]] = {}
    plain: dict[str, list[TableSpec]] = {}
    for name in plan.stores:
        declared = declared_in(name, configuration.tables.values())
        owned = plan.owned_in(name)
        tables[name] = [declared[table] for table in sorted(owned)]
        if name in stores:
            written[name] = {table for sink in plan.mapped_to(name) if (table := sink.settings.fixed_table) is not None}
            plain[name] = [declared[table] for table in sorted(written[name] & declared.keys() - owned)]
    return OwnedTables(plan.pipeline, stores, tables, written, plain, features=table_features())


def _numbers(offsets: object, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    """The numbers in the offsets of a source that never become lower, by their places; other values have none."""
    if isinstance(offsets, int):
        return {} if place[-1:] in _OF_A_FILE else {place: offsets}
    found: dict[tuple[str, ...], int] = {}
    if isinstance(offsets, Mapping):
        for name, each in offsets.items():
            found |= _numbers(each, (*place, str(name)))
    return found

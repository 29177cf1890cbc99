"""
Records that are replayed into tables with deferred updates: of dead letters, or of batches that were rolled back.

An update row has a time of its own: at a time that was written before, it would replace updates or be covered by a
merged row. So these records are a micro-batch of the pipeline, at a time above all earlier ones, which moves the
committed positions. The pipeline does not run meanwhile.

Time and records are stored before the first write. A replay that was interrupted is settled before another one:

- its committed positions are at its time: it is complete, and only its end is noted;
- they are below it, and it can run as it was: it writes the same records at the same time again;
- they are below it, and it cannot, as its records are gone or the configuration has changed: it is taken back. Nobody
  has read what it has written, and its records run anew, at a later time.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ingest import failpoint
from ingest.api import ConflictError, IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.dead_letters.replay import InterruptedReplayError
from ingest.durable import StatePath, file_errors, make_folder, sync_folder, write_durably
from ingest.durable.record import Record
from ingest.observe.logs import logger
from ingest.service.kafka.topics import TopicIds
from ingest.service.replay.interrupted import InterruptedBatch, InterruptedDeadLetters
from ingest.service.replay.plan import BatchKind
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.state_folders import batch_log_folder, update_replay_file
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.batch_time import MIN_GAP_MS, BatchTimes, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.owning.committed_position import CommittedPosition
from sinks.owning.owned_tables import OwnedTables
from sinks.rewriting.counted_letters import OF_ALL_SINKS
from sinks.rewriting.owned_letters import CountedRecords
from sinks.rewriting.owned_updates import OwnedUpdates

_log = logger(__name__)

Write = Callable[[int], None]
"""Writes the records at a batch time, until they are durable."""


class BatchIncompleteError(ConflictError):
    """Records cannot be replayed into deferred updates or a change feed before the last micro-batch is complete."""

    code = "batch_incomplete"
    hint = "run the pipeline until the batch is durable, and replay then"


@dataclass(frozen=True, slots=True)
class UnfinishedReplay(Record, kind="record of an unfinished replay"):
    """
    A replay that may be written in part.

    Attributes:
        time_ms: its batch time.
        begun_ms: when it began.
        content: as passed to `UpdateReplay.run`.
        configuration: fingerprint of the configuration.
        is_taken_back: whether it is being taken back; a kill in between does not change that.
    """

    time_ms: int
    begun_ms: int
    content: Any
    configuration: str
    is_taken_back: bool = False


class UpdateReplay:
    """
    Writes records into the tables with deferred updates of one pipeline.

    Args:
        checkpoint: of the pipeline, which does not run; this process has locked it.
        tables: that the plan names, not claimed.
        clock: ms since the epoch.

    Raises:
        ConflictError: the last micro-batch of the pipeline is not complete, or another pipeline owns a table.
    """

    def __init__(
        self,
        configuration: Configuration,
        pipeline: Pipeline,
        checkpoint: Checkpoint,
        tables: OwnedTables,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._fingerprint = pipeline.fingerprint
        self._clock = clock
        self._path = update_replay_file(configuration, pipeline.name)
        self._checkpoint = checkpoint
        self._times = checkpoint.times_folder
        self._topic_ids = TopicIds(checkpoint.folder).known()
        self._log_folder = batch_log_folder(configuration, pipeline.name)
        self._keep_ms = int(pipeline.replay.keep * 1000)
        self._tables = tables
        self._letters = tables.half(OwnedUpdates).letters
        self._is_running = False
        self._tables.claim()
        self._committed = self._complete_position(checkpoint, pipeline.name)
        # records of sinks without a change feed keep the times of their batches, which are no new micro-batches of the
        # feeds
        self._tables.begun(self._committed.time_ms)

    def _complete_position(self, checkpoint: Checkpoint, pipeline: str) -> CommittedPosition:
        """The committed position, which a new micro-batch may be put above."""
        committed, uncommitted = self._tables.newest(), checkpoint.uncommitted()
        is_open = uncommitted is not None and (
            committed is None
            or not self._tables.is_complete(newest_time(self._times) or 0, checkpoint.end_offsets(uncommitted))
        )
        # under a new checkpoint, or without the time of a batch, the next start removes updates above the committed
        # positions
        removes_updates = checkpoint.newest_commit() is None or checkpoint.without_time() is not None
        if committed is None or is_open or checkpoint.unplanned() or removes_updates:
            raise BatchIncompleteError(
                f'the last micro-batch of pipeline "{pipeline}" is not complete, so its updates cannot be followed by '
                "others",
            )
        return committed

    def check_locked(self) -> None:
        """
        Check that this process still has the checkpoint, before it writes anything.

        Raises: as `Checkpoint.check_locked`.
        """
        self._checkpoint.check_locked()

    def run(self, content: object, write: Write) -> None:
        """
        Write records as a micro-batch at a new time, and move the committed positions to it.

        Args:
            content: identifies the records and their sinks, as plain data; the same if the replay runs again.
            write: writes them; called once.

        Raises:
            InterruptedReplayError: as `interrupted_ms`.
            ConflictError: as `interrupted_ms`.
            IngestError: as `write`.
        """
        time_ms = self.interrupted_ms(content)
        self._is_running = True
        self.check_locked()
        if time_ms is None:
            newest_ms = max(self._committed.time_ms, newest_time(self._times) or 0, self._tables.newest_edge_ms())
            time_ms = max(self._clock(), newest_ms + MIN_GAP_MS)
            stored = UnfinishedReplay(time_ms, self._clock(), content, self._fingerprint)
            self._store(stored)
        # the changes too: no request for the shards of a feed takes effect in a replay
        self._tables.replay_at(time_ms)
        failpoint.point("replay_begun")()
        write(time_ms)
        failpoint.point("replay_written")()
        self.check_locked()
        self._committed = replace(self._committed, time_ms=time_ms)
        self._tables.move(self._committed)
        failpoint.point("replay_moved")()

    def settle_batch(self, batch: InterruptedBatch, *, may_run: bool = True) -> None:
        """
        Finish a replay of a micro-batch that was interrupted, or take it back; see the module.

        Args:
            batch: for the replay that begins now.
            may_run: leave a replay that can run as it was; else it is taken back, too.

        Raises:
            IngestError: as the methods of `InterruptedBatch`; or a store is unavailable.
        """
        stored = unfinished(self._path)
        interrupted = None if stored is None else UnfinishedBatch.from_plain(stored.content)
        if stored is None or interrupted is None:
            return
        if self._is_counted(stored):
            self._tables.move(self._committed)
            self.note_replayed(interrupted, stored.time_ms)
            batch.note_complete(interrupted)
        elif may_run and self._is_as_it_was(stored) and batch.can_run(interrupted):
            return
        else:
            self._take_back(stored)
            # a dead letter of that time must wait for the replay of its micro-batch
            self._letters.note_rolled_back(stored.time_ms, interrupted.tables)
        self._forget()

    def settle(self, letters: InterruptedDeadLetters, *, may_run: bool = True) -> None:
        """
        Finish a replay of dead letters that was interrupted, or take it back; see the module.

        One whose committed positions are at its time runs again too, if it can and has counted no record, since its
        outcome may be unknown. Else what it has written stays: a feed or a compaction may have read it, and the tables
        know which of its records they have counted.

        Args:
            letters: of the pipeline.
            may_run: leave a replay that can run as it was; else it is taken back, too.

        Raises:
            IngestError: as `InterruptedDeadLetters.can_run`; or a store is unavailable.
        """
        stored = unfinished(self._path)
        if stored is None or UnfinishedBatch.from_plain(stored.content) is not None:
            return
        places = {(topic, partition, offset) for topic, partition, offset, _ in stored.content}
        outcome = letters.have_outcome(places, stored.begun_ms, stored.time_ms)
        is_counted = self._is_counted(stored)
        has_ended = is_counted and outcome is not False
        # a compaction may have merged what it has counted: the same rows would count again
        is_left = not has_ended and outcome is not None and not (is_counted and self._has_counted(stored.time_ms))
        if may_run and is_left and self._is_as_it_was(stored) and letters.can_run(places):
            return
        if not is_counted:
            self._take_back(stored)
        else:
            self._tables.move(self._committed)
            if not has_ended:
                _log.warning(
                    "a replay of dead letters was interrupted and cannot run as it was; what it has written stays",
                    records=len(places),
                    hint="those that it has not counted run again when they can be read",
                )
        self._forget()

    def _is_counted(self, stored: UnfinishedReplay) -> bool:
        """Whether a committed position is at the time of an interrupted replay: it has written everything before."""
        return not stored.is_taken_back and self._committed.time_ms >= stored.time_ms

    def _has_counted(self, time_ms: int) -> bool:
        """Whether a replay of dead letters at this time has counted a record in a table."""
        return any(run.time_ms == time_ms for known in self._letters.read().values() for run in known.runs)

    def _is_as_it_was(self, stored: UnfinishedReplay) -> bool:
        """Whether an interrupted replay would write the same again, as far as the configuration decides it."""
        return not stored.is_taken_back and stored.configuration == self._fingerprint

    def _take_back(self, stored: UnfinishedReplay) -> None:
        """Remove the updates of an interrupted replay, and complete the tables with a change feed from its changes."""
        self.check_locked()
        self._store(replace(stored, is_taken_back=True))  # the committed positions of feeds move past its time
        _log.warning("a replay that was interrupted cannot run as it was; it is taken back", time_ms=stored.time_ms)
        times = BatchTimes(self._times, self._clock)
        times.start_after(stored.time_ms)
        self._tables.remove_uncommitted(times.start_after_now)
        self._tables.roll_forward()
        self._committed = self._tables.newest() or self._committed

    def unfinished_ms(self) -> int | None:
        """The time of a replay that was interrupted, or that runs; None without one."""
        stored = unfinished(self._path)
        return None if stored is None else stored.time_ms

    def finish(self) -> None:
        """End the micro-batch of the last `run`, if there is one: its outcome is durable elsewhere."""
        if self._is_running:
            self._forget()
            self._is_running = False

    def _store(self, stored: UnfinishedReplay) -> None:
        with file_errors(self._path):
            make_folder(self._path.parent)
            write_durably(self._path, stored.to_bytes())

    def _forget(self) -> None:
        """Remove the stored micro-batch, so that it does not run again."""
        with file_errors(self._path):
            self._path.unlink(missing_ok=True)
            if self._path.parent.is_dir():
                sync_folder(self._path.parent)

    def note_replayed(self, replayed: UnfinishedBatch, time_ms: int | None = None) -> None:
        """
        Log a replayed micro-batch at its new time, and note that its updates are in the tables again.

        Args:
            replayed: the micro-batch, with its earlier time.
            time_ms: its new time; as in the last `run` if None.

        Raises:
            IngestError: not possible now; the micro-batch runs again.
        """
        replay_batch, tables, _ = replayed
        if not tables:
            return  # its cells have their earlier times, and only their changes the new one
        time_ms = time_ms or self._committed.time_ms
        batch = LoggedBatch(replay_batch.number, time_ms, replay_batch.ranges, self._topic_ids, tuple(sorted(tables)))
        with closing(BatchLog(self._log_folder, self._keep_ms)) as log:
            log.append(batch)
        is_whole = replay_batch.kind is not BatchKind.REST
        if not is_whole:  # a dead letter may have the only copy of a record that is gone: it runs
            ranges = [((*part, begin), end) for part, (begin, end) in replay_batch.ranges.items()]
            counted = [CountedRecords(table, OF_ALL_SINKS, replay_batch.time_ms, ranges) for table in sorted(tables)]
            self._letters.count(time_ms, counted)
        self._letters.note_replayed(replay_batch.time_ms, tables, is_whole=is_whole)

    def interrupted_ms(self, content: object) -> int | None:
        """
        The time of the same records in an interrupted replay; None if none was interrupted.

        Args:
            content: as in `run`.

        Raises:
            InterruptedReplayError: other records were interrupted.
            ConflictError: these records were interrupted with another configuration.
        """
        stored = unfinished(self._path)
        if stored is None:
            return None
        interrupted = "into tables with deferred updates or change feeds was interrupted, and some may be written"
        if UnfinishedBatch.from_plain(stored.content) is None:
            hint = "run 'attr2hbase dead-letters replay' again, with the options that it had"
        else:
            hint = "run 'attr2hbase replay' again: with its times it continues, with others it is taken back"
        if stored.content != content:
            raise InterruptedReplayError(f"a replay of other records, or into other sinks, {interrupted}", hint=hint)
        if not self._is_as_it_was(stored):
            raise ConflictError(
                f"a replay with another configuration {interrupted}", code=InterruptedReplayError.code, hint=hint
            )
        with file_errors(self._path):
            sync_folder(self._path.parent)  # a process that was killed before its own sync may have written it
        return stored.time_ms


@contextmanager
def logged(failure: str, pipeline: str) -> Iterator[None]:
    """A block after another failure, which is the one to report: an error of the block is logged."""
    try:
        yield
    except IngestError as error:
        _log.error(failure, pipeline=pipeline, reason=str(error), hint="run the command of the replay again")


def unfinished(path: StatePath) -> UnfinishedReplay | None:
    """
    The unfinished replay of a file; None if there is none.

    Raises:
        IntegrityError: the file is damaged.
        StoreUnavailableError: it cannot be read now.
    """
    with file_errors(path):
        try:
            return UnfinishedReplay.of(path.read_bytes(), path)
        except FileNotFoundError:
            return None

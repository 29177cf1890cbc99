"""What a replay into deferred updates or change feeds that was interrupted has left to do: whether it can run again."""

from collections.abc import Callable, Collection

from ingest.api import RecordPlace
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Mark, ReplayOutcome
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.settings import KafkaConnection
from ingest.observe.logs import logger
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.selection import are_there
from ingest.service.replay.state import ReplayState

_log = logger(__name__)


class InterruptedDeadLetters:
    """
    The dead letters of an interrupted replay, by the places of its records.

    Args:
        queue: of the pipeline.
        can_read: whether all records of a dead letter can be read.
    """

    def __init__(self, queue: DeadLetterQueue, can_read: Callable[[Entry], bool]) -> None:
        self._queue = queue
        self._can_read = can_read

    def have_outcome(self, places: Collection[RecordPlace], begun_ms: int, time_ms: int) -> bool | None:
        """
        Whether their outcome was stored after the replay had begun; None if there are none of them any more.

        Args:
            places: of the records.
            begun_ms: when it began.
            time_ms: of its updates.
        """

        def is_outcome(mark: Mark) -> bool:
            # the clock may have been set back since
            is_later = mark.at_ms >= begun_ms and mark.outcome is not ReplayOutcome.KEPT
            return is_later or time_ms in mark.counted.values()

        marks = [entry.mark for entry in self._at(places)]
        # the marks of a batch are stored in one act
        return any(mark is not None and is_outcome(mark) for mark in marks) if marks else None

    def can_run(self, places: Collection[RecordPlace]) -> bool:
        """
        Whether the replay can run again: all of them are there, and all of their records can be read.

        Raises:
            IngestError: that is not known now.
        """
        entries = self._at(places)
        found = {entry.dead_letter.record.place for entry in entries}
        return len(found) == len(places) and all(map(self._can_read, entries))

    def _at(self, places: Collection[RecordPlace]) -> list[Entry]:
        return [entry for entry in self._queue.entries() if entry.dead_letter.record.place in places]


class InterruptedBatch:
    """
    A micro-batch of an interrupted replay of a time range, for the replay that begins now.

    Args:
        state: of this replay.
        connection: to the cluster of the topics.
    """

    def __init__(self, state: ReplayState, connection: KafkaConnection) -> None:
        self._state = state
        self._connection = connection

    def can_run(self, interrupted: UnfinishedBatch) -> bool:
        """
        Whether this replay resumes with the batch, and the topics have all of its records.

        Raises:
            SourceUnavailableError: the cluster does not answer.
            IngestError: as `ReplayState.load`.
        """
        stored = self._state.load()
        if stored is None or stored.next != interrupted.batch:
            return False
        with KafkaAdmin(self._connection) as admin:
            return are_there(admin, interrupted.batch.ranges, stored.topic_ids)

    def note_complete(self, interrupted: UnfinishedBatch) -> None:
        """
        Store the progress of the batch, which is complete; may be called again.

        Raises:
            IngestError: as `ReplayState.load` and `ReplayState.progress`.
        """
        stored = self._state.load()
        if stored is not None and stored.next == interrupted.batch:
            _log.warning(
                "a micro-batch was complete when its replay was interrupted; its events are not in the totals",
                time_ms=interrupted.batch.time_ms,
            )
            stored.totals.batches += 1
            self._state.progress(stored.totals)

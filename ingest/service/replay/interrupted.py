"""The dead letters of a replay into deferred updates or feeds that was interrupted."""

from collections.abc import Callable, Collection

from ingest.api import RecordPlace
from ingest.dead_letters.queue import DeadLetterQueue, Entry


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

    def have_outcome(self, places: Collection[RecordPlace], begun_ms: int) -> bool | None:
        """Whether their outcome was stored after the replay had begun; None if there are none of them any more."""
        marks = [entry.mark for entry in self._at(places)]
        # the marks of a batch are stored in one act
        return any(mark is not None and mark.at_ms >= begun_ms for mark in marks) if marks else None

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

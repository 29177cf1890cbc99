"""Dead letters by place: of records that failed when their micro-batch had as many bytes of dead letters as it may."""

from dataclasses import dataclass, replace

from ingest.amounts import counted, number
from ingest.api import OffsetUnit, Record
from ingest.dead_letters.envelope import DeadLetter, PlaceRange

MAX_PLACE_MESSAGE_CHARS = 120  # of the first error: a micro-batch may have 100,000 places, and a producer this text
_LINE_END_BYTES = 2  # of the longest end of a line


@dataclass(slots=True)
class _Run:
    """
    Consecutive records whose dead letters a replay runs into the same sinks.

    Attributes:
        firsts: sinks into which a replay runs the records -> the dead letter of the first one; either all sinks of the
            record, or one each.
        last: record.
        last_number: of that record in its task.
        records: their number.
    """

    firsts: dict[frozenset[str], DeadLetter]
    last: Record
    last_number: int
    records: int = 1


class Places:
    """
    The dead letters by place of a task: one for all records that follow one another in their source and failed alike.

    Records that failed before the sinks fail alike, whatever their errors: a replay runs them into all sinks. Records
    that failed in the same sinks do so too: a replay runs them into these.

    Args:
        offsets: what those of the source count.
        max_bytes: of the dead letters of their micro-batch that have the bytes of their records, for the messages.

    Attributes:
        records: number of those that were added, for each of their sinks.
        size: bytes of the dead letters so far.
    """

    def __init__(self, offsets: OffsetUnit, max_bytes: int) -> None:
        self._offsets = offsets
        self._reason = f"since the micro-batch has more than {number(max_bytes / (1 << 20))} MiB of dead letters"
        self._lines: list[bytes] = []
        self._run: _Run | None = None
        self._failures: dict[frozenset[str], DeadLetter] = {}  # of the last record, by the sinks of its replay
        self._number = -1
        self.size = 0
        self.records = 0

    def has(self, at: int, sinks: frozenset[str] = frozenset()) -> bool:
        """Whether there is a place for a record, the last one that was added, and these sinks."""
        return at == self._number and any(sinks <= names for names in self._failures)

    def add(self, dead_letter: DeadLetter, at: int, sinks: frozenset[str]) -> None:
        """
        Add the dead letter of a record in place of its complete one.

        Args:
            dead_letter: with the message of its error, masked.
            at: number of the record in its task; one that is read next has the next number.
            sinks: into which a replay runs it: one, or all of the record.
        """
        if at != self._number:
            self._end_record()
            self._number = at
        self._failures[sinks] = dead_letter
        self.records += 1

    def lines(self) -> list[bytes]:
        """The dead letters as JSON, by their first records; nothing is added afterwards."""
        self._end_record()
        self._end_run()
        return self._lines

    def _end_record(self) -> None:
        """Add the last record to the run before it, or start one."""
        if not self._failures:
            return
        failures, self._failures = self._failures, {}
        most = max(failures, key=len)
        if len(most) > 1:  # a record that runs into all its sinks runs into each
            failures = {most: failures[most]}
        record, run = next(iter(failures.values())).record, self._run
        if (
            run is not None
            and run.firsts.keys() == failures.keys()
            and run.last_number + 1 == self._number
            and self._follows(record, run.last)
        ):
            run.last, run.last_number = record, self._number
            run.records += 1
            return
        self._end_run()
        self._run = _Run(failures, record, self._number)

    def _follows(self, record: Record, last: Record) -> bool:
        """
        Whether no record of the source is between two that a task has read one after the other.

        A task may read two ranges of a partition, or leave out a record batch. Of lines in another encoding than UTF-8
        it is not known, as they have other lengths in their file.
        """
        if (record.topic, record.partition) != (last.topic, last.partition):
            return False
        if self._offsets is OffsetUnit.RECORDS:
            return record.offset == last.offset + 1
        return 0 < record.offset - last.offset - len(last.value or b"") <= _LINE_END_BYTES

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        span = PlaceRange(run.last.offset + 1, was_read=True)
        others = f"; and {counted(run.records - 1, 'record')} after it" if run.records > 1 else ""
        without = "without their bytes" if others else "without its bytes"
        for first in run.firsts.values():
            message = first.message
            if len(message) > MAX_PLACE_MESSAGE_CHARS:
                message = f"{message[: MAX_PLACE_MESSAGE_CHARS - 1]}…"
            place = replace(
                first,
                record=first.record._replace(key=None, value=None, headers=()),
                attributes={},
                by_place=span,
                events=run.records,
                message=f"{message}{others}; {without}, {self._reason}",
            )
            self._lines.append(place.to_json())
            self.size += len(self._lines[-1])

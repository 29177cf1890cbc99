"""Replay: runs dead letters through the pipeline as it is configured now."""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest import failpoint
from ingest.api import ConflictError, IngestError, NotFoundError, Record, RecordPlace
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, dead_letters_of
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Mark, ReplayOutcome
from ingest.dead_letters.replay_batches import (
    DeadLetterBatch,
    SkipReason,
    Values,
    batches_of,
    skip_superseded,
)
from ingest.receipt import Counts

BEFORE_BATCH_MS = 1  # two batches are two ms apart, so this is after the previous batch and before the batch itself

RunRecords = Callable[[Sequence[Record], int, Mapping[RecordPlace, frozenset[str]], Values], tuple[Counts, list[bytes]]]
"""
Runs records, with a batch time, through the pipeline until all are durable; returns the counts and the dead letters.
The first mapping gives the sinks of a record by its place; a record that is not in it is written to all sinks. The
values are read when their record runs, since all of a micro-batch may not fit in memory; a record with a `PlaceRange`
stands for all records that the source now reads there. Those that fail have dead letters of the sinks into which they
ran, if those are not all. Raises an IngestError if the records cannot be made durable now, and an
`InterruptedReplayError` if others must be written first.
"""


class InterruptedReplayError(ConflictError):
    """A replay was interrupted, of other records or with other options, and ends first."""

    code = "other_replay"
    remedy = "Run the interrupted replay again with its options, or remove the file if the message names one."


class ReplayStoppedError(IngestError):
    """A replay stopped early; its progress is saved."""

    code = "replay_stopped"
    remedy = "Correct the cause in the message, then run the same command again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    Which dead letters; a filter that is left out selects all.

    Attributes:
        ids: positions or ids of dead letters.
        codes: error codes.
        components: names of components, of the present file or an earlier one.
        since_ms: earliest batch time, inclusive.
        until_ms: latest batch time, exclusive.
        has_replayed: also select dead letters that were replayed successfully before.
        has_kept: also select dead letters that are kept on purpose; those of `ids` are selected in any case.
    """

    ids: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    components: frozenset[str] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    has_replayed: bool = False
    has_kept: bool = True

    def matches(self, entry: Entry) -> bool:
        """Whether an entry is selected."""
        dead_letter = entry.dead_letter
        return (
            (self.has_replayed or not entry.is_replayed)
            and (self.has_kept or bool(self.ids) or not entry.is_kept)
            and (not self.ids or entry.position in self.ids or dead_letter.id in self.ids)
            and (not self.codes or dead_letter.code in self.codes)
            and (not self.components or dead_letter.component in self.components)
            and (self.since_ms is None or dead_letter.batch_time_ms >= self.since_ms)
            and (self.until_ms is None or dead_letter.batch_time_ms < self.until_ms)
        )


@dataclass(slots=True)
class ReplayReport:
    """
    The outcome of a replay; selected = replayed + failed again + skipped + cut, unless the replay was stopped.

    Attributes:
        failed_again: error code -> number of dead letters.
        dropped: reason -> number of events that the pipeline dropped; their dead letters count as replayed.
        skipped: why dead letters were not run -> their number.
        cut: positions of dead letters that are incomplete because their file is not on this machine.
        renamed: component that no longer exists -> number of its dead letters, which were run into several sinks.
        published: error code -> number of dead letters of records that were read again by their place, and failed.
    """

    selected: int = 0
    replayed: int = 0
    failed_again: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    cut: list[str] = field(default_factory=list)
    renamed: Counter[str] = field(default_factory=Counter)
    published: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as it is now."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {name: value.copy() if isinstance(value, (Counter, list)) else value for name, value in plain.items()}


def require(queue: DeadLetterQueue, ids: Iterable[str]) -> None:
    """
    Check that there is a dead letter for each position or id.

    Raises:
        NotFoundError: there is none for one of them.
    """
    absent = {}
    for one in sorted(ids):
        try:
            queue.read(one)
        except NotFoundError as error:
            absent[one] = error
    if absent:
        # an id is not a position: only a search through all dead letters finds it
        found = {entry.dead_letter.id for entry in queue.entries()}
        for one, not_found in absent.items():
            if one not in found:
                raise not_found


def replay(  # noqa: PLR0913 - a queue, what runs its dead letters, and callbacks
    queue: DeadLetterQueue,
    selection: Selection,
    run_records: RunRecords,
    *,
    components: Components,
    now_ms: Callable[[], int],
    runs_again: Callable[[Entry], bool] = lambda _entry: False,
    skip_reason: Callable[[Entry], SkipReason | None] = lambda _entry: None,
    counted: Callable[[RecordPlace], Mapping[str, int]] = lambda _place: {},
    on_marked: Callable[[], None] = lambda: None,
    on_released: Callable[[Sequence[DeadLetter]], None] = lambda _dead_letters: None,
) -> Iterator[ReplayReport]:
    """
    Run selected dead letters through the present configuration, with a time just before the batch in which they failed;
    yields the report so far after each batch, and at the end.

    - The cells get the time of their micro-batch less one millisecond: newer than the previous batch, older than all
      that their own batch wrote. So a replay never hides a newer value.
    - It may be interrupted and run again: the same dead letters give the same cells.
    - A dead letter of a sink runs into that sink only, since the others have the event. A dead letter of any other
      component runs into all sinks, since none has it.
    - A dead letter by place runs all records that the source now reads there. Those that fail have new dead letters.
    - The whole record runs, so cells that other events of a fan-out have stored get an older version of the same value.
    - Each dead letter is marked when all selected ones of its batch are durable; those that fail again stay selectable.
    - Those that an interrupted replay of others postpones run after it.

    Args:
        queue: the dead letters.
        selection: which of them.
        run_records: returns when all its rows are stored; its dead letters are not published, since the queue has them,
            except for those of records that were read again by their place.
        components: of the pipeline as it is now. A dead letter of a component that no longer exists runs into all
            sinks: the component may have been before them, and a superfluous version does less harm than a lost event.
        now_ms: the clock, for the marks.
        runs_again: whether the micro-batch of a dead letter is not acknowledged, and replaces it when it runs again;
            asked as soon as the dead letter is read.
        skip_reason: why another dead letter does not run; None if it runs.
        counted: after `run_records`, the sinks in which it has counted a record, for the marks; see `Mark.counted`.
        on_marked: called when the marks of records that ran are durable.
        on_released: called with the dead letters whose blobs may be released, as they need no replay any more, when
            their marks are durable.

    Raises:
        ReplayStoppedError: `run_records` failed, or an interrupted replay is of none of the selected dead letters.
        IngestError: as `runs_again`, `skip_reason` and `on_released`.
    """
    found = _Replay(
        queue,
        run_records,
        components,
        now_ms,
        runs_again,
        skip_superseded(queue, skip_reason),
        counted,
        on_marked,
        on_released,
    )
    postponed = yield from found.run(selection.matches)
    while postponed:
        waiting = postponed

        def is_waiting(entry: Entry, waiting: Collection[str] = frozenset(waiting)) -> bool:
            return entry.position in waiting and selection.matches(entry) and not found.has_published(entry)

        postponed = yield from found.run(is_waiting)
        if postponed.keys() == waiting.keys():
            raise found.stopped(next(iter(postponed.values())))
    yield found.report


@dataclass(slots=True)
class _Replay:
    """The arguments of `replay`, and what it has done."""

    queue: DeadLetterQueue
    run_records: RunRecords
    components: Components
    now_ms: Callable[[], int]
    runs_again: Callable[[Entry], bool]
    skip_reason: Callable[[Entry], SkipReason | None]
    counted: Callable[[RecordPlace], Mapping[str, int]]
    on_marked: Callable[[], None]
    on_released: Callable[[Sequence[DeadLetter]], None]
    report: ReplayReport = field(default_factory=ReplayReport)
    published_ms: set[int] = field(default_factory=set)

    def run(
        self, is_selected: Callable[[Entry], bool]
    ) -> Generator[ReplayReport, None, Mapping[str, InterruptedReplayError]]:
        """Run dead letters; returns the positions of those that wait for an interrupted replay, with the error."""
        postponed = {}
        alone, report = self.components.alone, self.report
        for batch in batches_of(self.queue.entries(), alone, self.skip_reason, is_selected, self.runs_again):
            report.selected += len(batch.skipped) + len(batch.cut)
            report.cut += batch.cut
            if batch.skipped:
                self.queue.mark(_marks_of_skipped(batch, self.now_ms()))
                self.on_released(batch.released(batch.settled))
                report.skipped.update(batch.skipped.values())
                yield report
            if not batch.records:
                continue
            try:
                counts, dead_letters = self.run_records(
                    batch.records, batch.batch_time_ms - BEFORE_BATCH_MS, batch.sinks_by_record, batch.values
                )
            except InterruptedReplayError as error:
                postponed.update(dict.fromkeys((entry.position for entry in batch.entries), error))
                continue
            except IngestError as error:
                raise self.stopped(error) from error
            failpoint.point("replay_stored")()
            report.dropped.update(counts.dropped)
            self._end(batch, dead_letters)
            yield report
        return postponed

    def has_published(self, entry: Entry) -> bool:
        """Whether a dead letter is perhaps one that this replay has published, at the position of an earlier one."""
        return entry.dead_letter.batch_time_ms in self.published_ms

    def stopped(self, error: IngestError) -> ReplayStoppedError:
        """The error of the whole, of that of some records."""
        return ReplayStoppedError(
            f"stopped after {self.report.replayed + self.report.failed_again.total()} dead letters: {error}",
            code=error.code,
            hint="finished dead letters are marked; run the same command again",
        )

    def _end(self, batch: DeadLetterBatch, dead_letters: Sequence[bytes]) -> None:
        """Publish and mark what has become of a batch."""
        report, sinks = self.report, self.components.sinks
        if batch.is_by_place:
            self.published_ms.add(batch.batch_time_ms - BEFORE_BATCH_MS)
            self.on_released(_publish(self.queue, batch, dead_letters, sinks, report.published))
            failpoint.point("replay_published")()
        marks = _marks(batch, dead_letters, self.components.alone, self.now_ms(), self.counted)
        self.queue.mark(marks)
        failpoint.point("replay_noted")()
        self.on_marked()
        replayed = (entry for entry in batch.entries if marks[entry.position].outcome is ReplayOutcome.REPLAYED)
        self.on_released(batch.released(replayed))
        if len(sinks) > 1:
            names = (entry.dead_letter.component for entry in batch.entries)
            report.renamed.update(filter(self.components.lacks, names))
        report.selected += len(marks)
        for mark in marks.values():
            if mark.outcome is ReplayOutcome.REPLAYED:
                report.replayed += 1
            else:
                report.failed_again[mark.code] += 1


def _publish(
    queue: DeadLetterQueue,
    batch: DeadLetterBatch,
    lines: Sequence[bytes],
    sinks: frozenset[str],
    published: Counter[str],
) -> Sequence[DeadLetter]:
    """
    Publish the dead letters of records that were read by their place, instead of an earlier replay's.

    They are those of a micro-batch at the time of the replay, which no other one has; its number does not matter.

    Returns:
        As `DeadLetterQueue.publish`.
    """
    new = [letter for letter in dead_letters_of(lines) if not letter.is_unread]
    published.update(letter.code for letter in new)

    def line(letter: DeadLetter) -> bytes:
        for entry in batch.by_place_at(letter.record.place):
            earlier = entry.dead_letter
            topic_id = "" if earlier.by_place is None else earlier.by_place.topic_id
            return replace(letter, source_batch_ms=earlier.source_ms).in_topic(topic_id).to_json()
        return letter.to_json()

    def keeps(letter: DeadLetter) -> bool:
        found = batch.by_place_at(letter.record.place)
        if not found:
            return True
        written = batch.sinks_by_record.get(found[0].dead_letter.record.place, sinks)
        return written != sinks and letter.component not in written

    return queue.publish([line(letter) for letter in new], 0, batch.batch_time_ms - BEFORE_BATCH_MS, keeps)


def _marks_of_skipped(batch: DeadLetterBatch, now_ms: int) -> dict[str, Mark]:
    """The marks of dead letters that need no replay any more."""
    return {
        entry.position: Mark(ReplayOutcome.REPLAYED, now_ms, batch.skipped[entry.position], entry.counted)
        for entry in batch.settled
    }


def _marks(
    batch: DeadLetterBatch,
    failures_again: Sequence[bytes],
    sinks: frozenset[str],
    now_ms: int,
    counted: Callable[[RecordPlace], Mapping[str, int]],
) -> dict[str, Mark]:
    """
    A dead letter has failed again if any event of its record did, since the configuration, and so the fan-out, may have
    changed. But a dead letter of one sink ignores the errors of other sinks.
    """
    failed: dict[RecordPlace, list[DeadLetter]] = {}
    for dead_letter in dead_letters_of(failures_again):
        place = dead_letter.record.place
        if not batch.is_by_place:
            failed.setdefault(place, []).append(dead_letter)
        elif dead_letter.is_unread:
            for entry in batch.by_place_at(place)[:1]:
                failed.setdefault(entry.dead_letter.record.place, []).append(dead_letter)
    marks = {}
    for entry in batch.entries:
        component = entry.dead_letter.component
        others = sinks - {component} if component in sinks else frozenset()
        failures = failed.get(entry.dead_letter.record.place, ())
        code = next((failure.code for failure in failures if failure.component not in others), None)
        outcome = ReplayOutcome.REPLAYED if code is None else ReplayOutcome.FAILED_AGAIN
        counted_ms = {**entry.counted, **counted(entry.dead_letter.record.place)}
        marks[entry.position] = Mark(outcome, now_ms, code or "", counted_ms)
    return marks

"""Dead letters once more through the pipeline as it is configured now."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from ingest.api import IngestError, NotFoundError, Record, RecordPlace
from ingest.dead_letters.envelope import DeadLetter, letters_of
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Mark, ReplayOutcome
from ingest.receipt import Receipt, Verdict

BEFORE_BATCH_MS = 1  # two batches are two ms apart, so this stands after all of one and before all puts of the next

Process = Callable[[Sequence[Record], int, Mapping[RecordPlace, frozenset[str]]], Receipt]
"""
Runs records, with a batch time, through the pipeline; what it reports as durable is. A record goes into the sinks that
its place leads to, into all when there are none for it.
"""


class ReplayStoppedError(IngestError):
    """A replay could not go on; what it did is marked, and it can be run again."""

    code = "replay_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    Which letters; a filter left out lets everything pass.

    Attributes:
        ids: positions or letter ids.
        codes: of errors.
        since_ms: earliest batch time.
        until_ms: first batch time that is too late.
        has_replayed: also letters that a replay brought through before.
    """

    ids: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    has_replayed: bool = False

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is selected."""
        letter = entry.letter
        is_done = entry.mark is not None and entry.mark.outcome is ReplayOutcome.REPLAYED
        return (
            (self.has_replayed or not is_done)
            and (not self.ids or entry.position in self.ids or letter.id in self.ids)
            and (not self.codes or letter.code in self.codes)
            and (self.since_ms is None or letter.batch_time_ms >= self.since_ms)
            and (self.until_ms is None or letter.batch_time_ms < self.until_ms)
        )


@dataclass(frozen=True, slots=True)
class Components:
    """What the parts of a pipeline are called now; letters name the part in which they failed."""

    sinks: frozenset[str]
    decorators: frozenset[str]

    @property
    def alone(self) -> frozenset[str]:
        """Sinks that letters can be replayed into alone: nothing before the sinks has the same name."""
        return self.sinks - self._before

    def lacks(self, component: str) -> bool:
        """Whether nothing has this name, so that nobody knows which sinks hold what a letter of it is about."""
        return component not in self.sinks | self._before

    @property
    def _before(self) -> frozenset[str]:
        return self.decorators | {"source"}


@dataclass(slots=True)
class ReplayReport:
    """
    What became of the letters; selected = replayed + failed again + cut, unless the replay was stopped.

    Attributes:
        failed_again: error code -> letters.
        dropped: reason -> events that the pipeline dropped on purpose; their letters count as replayed.
        cut: positions of letters whose whole is not on this machine.
        renamed: component that is no longer there -> its letters, of those that were run into several sinks for it.
    """

    selected: int = 0
    replayed: int = 0
    failed_again: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    cut: list[str] = field(default_factory=list)
    renamed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class LetterBatch:
    """
    Selected letters of one micro-batch: they are run together, for among them may be a value and its delete.

    Attributes:
        records: each once, in the order of their source.
        only: place of a record -> the sinks it is for, where those are not all.
        entries: the letters; several of a record that was fanned out or refused by several sinks.
    """

    batch_time_ms: int
    records: tuple[Record, ...]
    only: Mapping[RecordPlace, frozenset[str]]
    entries: tuple[Entry, ...]


def batches_of(entries: Iterable[Entry], sinks: frozenset[str] = frozenset()) -> Iterator[LetterBatch]:
    """
    Entries that come by batch time, as batches; a record whose letters are all of `sinks` is for those alone.

    A batch fits in memory: it has as many bytes of letters as its tasks and driver once held.
    """
    for batch_time_ms, batch in groupby(entries, key=lambda entry: entry.letter.batch_time_ms):
        by_record: dict[RecordPlace, list[Entry]] = {}
        for entry in batch:
            by_record.setdefault(entry.letter.record.place, []).append(entry)
        groups = sorted(by_record.items())
        components = {place: frozenset(entry.letter.component for entry in group) for place, group in groups}
        yield LetterBatch(
            batch_time_ms,
            records=tuple(group[0].letter.record for _, group in groups),
            only={place: names for place, names in components.items() if names <= sinks},
            entries=tuple(entry for _, group in groups for entry in group),
        )


def require(queue: DeadLetterQueue, ids: Iterable[str]) -> None:
    """
    See that there is a letter for each position or letter id.

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
        # an id is no position, and only a look at all letters finds it
        found = {entry.letter.id for entry in queue.entries()}
        for one, not_found in absent.items():
            if one not in found:
                raise not_found


def replay(
    queue: DeadLetterQueue,
    selection: Selection,
    process: Process,
    *,
    components: Components,
    now_ms: Callable[[], int],
    on_progress: Callable[[int], None] = lambda _letters: None,
) -> ReplayReport:
    """
    Run selected letters through the present configuration, just before the batch they failed in.

    The cells get the time of their micro-batch less one millisecond: newer than all of the batch before, older than
    all that their own batch wrote, for nobody knows any more what of that came after them. So a replay never hides a
    value that is newer. It may be cut off and run again: the same letters give the same cells. A letter of a sink is
    run into that sink alone, since the others have the event; a letter of anything else into all, since none has. A
    record is run whole, so what other parts of a fan-out stored of it gets an older version, the same. Each letter is
    marked when all of its batch that were selected are durable; letters that fail again stay selectable.

    Args:
        queue: where the letters are.
        selection: which of them.
        process: must return a receipt with verdict `durable` only when all its rows are stored; dead letters in it
            are not published again, since theirs are in the queue already.
        components: of the pipeline as it is now. A letter of one that is no longer there is run into all sinks: what
            failed may have been before them, and a version too many is less than an event that is in none.
        now_ms: for the marks.
        on_progress: told how many letters each batch was.

    Raises:
        ReplayStoppedError: `process` reports anything but `durable`.
    """
    report = ReplayReport()
    alone = components.alone
    for batch in batches_of(_whole_letters(queue, selection, report), alone):
        receipt = process(batch.records, batch.batch_time_ms - BEFORE_BATCH_MS, batch.only)
        if receipt.verdict is not Verdict.DURABLE:
            raise ReplayStoppedError(
                f"stopped after {report.replayed + report.failed_again.total()} dead letters: "
                f"{receipt.message or receipt.verdict}",
                code=receipt.code or None,
                hint="what is done is marked; run the same command again",
            )
        report.dropped.update(receipt.counts.dropped)
        marks = _marks(batch, receipt, alone, now_ms())
        queue.mark(marks)
        if len(components.sinks) > 1:
            names = (entry.letter.component for entry in batch.entries)
            report.renamed.update(filter(components.lacks, names))
        for mark in marks.values():
            if mark.outcome is ReplayOutcome.REPLAYED:
                report.replayed += 1
            else:
                report.failed_again[mark.code] += 1
        on_progress(len(marks))
    return report


def _whole_letters(queue: DeadLetterQueue, selection: Selection, report: ReplayReport) -> Iterator[Entry]:
    for entry in queue.entries():
        if not selection.holds(entry):
            continue
        report.selected += 1
        if entry.letter.pointer is None:
            yield entry
        else:
            report.cut.append(entry.position)


def _marks(batch: LetterBatch, receipt: Receipt, sinks: frozenset[str], now_ms: int) -> dict[str, Mark]:
    """
    A letter failed again when any event of its record did: the configuration, and with it the fan-out, may be
    another. But what other sinks refuse is nothing to the letter of a sink.
    """
    failed: dict[RecordPlace, list[DeadLetter]] = {}
    for letter in letters_of(receipt.dead_letters):
        failed.setdefault(letter.record.place, []).append(letter)
    marks = {}
    for entry in batch.entries:
        component = entry.letter.component
        others = sinks - {component} if component in sinks else frozenset()
        failures = failed.get(entry.letter.record.place, ())
        code = next((failure.code for failure in failures if failure.component not in others), None)
        outcome = ReplayOutcome.REPLAYED if code is None else ReplayOutcome.FAILED_AGAIN
        marks[entry.position] = Mark(outcome, now_ms, code or "")
    return marks

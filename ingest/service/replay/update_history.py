"""Which records replays and later micro-batches have counted in tables with deferred updates."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ingest.api import RecordPlace
from ingest.dead_letters.envelope import dead_letters_of
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.dead_letters.replay_batches import SkipReason
from ingest.service.replay.known_letters import KnownLetters
from ingest.service.replay.later_runs import LaterRuns
from ingest.service.replay.places import Cuts, Divided, stored_by_sink
from sinks.rewriting.owned_letters import CountedRecords


class UpdateHistory:
    """
    What the marks of dead letters, the batch log and the tables know of the records of dead letters.

    The dead letters of a micro-batch are read, then asked about, and then run.

    Args:
        known: what the tables know.
        runs: the runs of the pipeline's records; None if its source has no batch log.
        count: as `sinks.rewriting.owned_letters.OwnedLetters.count`.
        recount: whether dead letters that are marked as replayed are counted again.
    """

    def __init__(
        self,
        known: KnownLetters,
        *,
        runs: LaterRuns | None = None,
        count: Callable[[int, Iterable[CountedRecords]], None] = lambda _time_ms, _counted: None,
        recount: bool = False,
    ) -> None:
        self._known = known
        self._runs = runs
        self._count = count
        self._recount = recount
        self._read_ms: int | None = None
        # of the dead letters of the micro-batch that is read
        self._counted: dict[RecordPlace, dict[str, int]] = {}
        self._source_ms: dict[RecordPlace, int] = {}
        self._recounted: set[RecordPlace] = set()
        self._read_before: set[RecordPlace] = set()

    def refresh(self) -> None:
        """As `KnownLetters.refresh`."""
        self._known.refresh()

    def read(self, entry: Entry) -> bool:
        """Note a dead letter, and forget those of another micro-batch; whether it is the first one of its own."""
        letter = entry.dead_letter
        is_first = self._read_ms != letter.batch_time_ms
        if is_first:
            self._read_ms = letter.batch_time_ms
            self._counted, self._source_ms, self._recounted, self._read_before = {}, {}, set(), set()
        if letter.by_place is not None and letter.by_place.read_before:
            self._read_before.add(letter.record.place)
        self._source_ms[letter.record.place] = letter.source_ms
        if self._recount and entry.is_replayed:
            self._recounted.add(letter.record.place)
        else:
            self._counted.setdefault(letter.record.place, {}).update(entry.counted)
        return is_first

    def counted(self, place: RecordPlace) -> Mapping[str, int]:
        """As `ingest.dead_letters.queue.Mark.counted`, of the dead letter of a record that was read or ran."""
        return self._counted.get(place, {})

    def source_ms(self, place: RecordPlace, batch_time_ms: int) -> int:
        """
        `DeadLetter.source_ms` of a dead letter.

        Args:
            place: of its record.
            batch_time_ms: at which it is replayed.
        """
        return self._source_ms.get(place, batch_time_ms + BEFORE_BATCH_MS)

    @property
    def cuts(self) -> Cuts | None:
        """Between two of them, all records ran in the same micro-batches, and the same replays have counted them."""
        if not self._known.sinks:
            return None

        def cuts(place: RecordPlace, end: int) -> list[int]:
            return sorted(self._known.cuts(place, end).union(() if self._runs is None else self._runs.cuts(place, end)))

        return cuts

    def skip_reasons(
        self, place: RecordPlace, whole: RecordPlace, sinks: frozenset[str], source_ms: int
    ) -> dict[str, SkipReason | None]:
        """
        For those of some sinks that write deferred updates, why they do not get records; None if they do.

        Args:
            place: of a record, or of the first one of a part.
            whole: place of the dead letter.
            sinks: names.
            source_ms: of the dead letter.

        Raises:
            ConflictError: as `KnownLetters.skip_reason` and `refuse_read_before`.
        """
        found: dict[str, SkipReason | None] = {}
        for name in sinks & self._known.sinks.keys():
            table = self._known.sinks[name]
            counted_ms = [time_ms for sink, time_ms in self.counted(whole).items() if sink == name]
            if whole not in self._recounted:
                counted_ms += self._known.times_of(name, place, source_ms)
            if not all(self._known.is_rolled_back(table, time_ms) for time_ms in counted_ms):
                found[name] = SkipReason.COUNTED
                continue
            if whole in self._read_before:
                self._known.refuse_read_before(table, whole)
            if self._runs is not None:
                found[name] = self._runs.skip_reason(table, place, source_ms)
            else:
                found[name] = self._known.skip_reason(table, source_ms)
        return found

    def note_none(self, time_ms: int) -> None:
        """
        Note that a run has stored nothing; an interrupted one may have noted records at the same time.

        Raises:
            IngestError: as `count`.
        """
        self._count(time_ms, ())

    def note(
        self,
        divided: Divided,
        sinks: Mapping[RecordPlace, frozenset[str]],
        failed: Sequence[bytes],
        batch_time_ms: int,
        time_ms: int,
        *,
        is_by_place: bool,
    ) -> None:
        """
        Note the sinks that have stored records: those in which they did not fail.

        Args:
            divided: the records that ran.
            sinks: place of a record or a part -> the sinks into which it ran.
            failed: the dead letters of the run.
            batch_time_ms: at which dead letters are replayed.
            time_ms: of the updates.
            is_by_place: whether the dead letters that are replayed have places in place of bytes.

        Raises:
            IngestError: as `count`.
        """
        failures: dict[RecordPlace, set[str]] = {}
        for letter in dead_letters_of(failed):
            if is_by_place and not letter.is_unread:
                continue  # of one of the records at this place, which has a dead letter of its own
            failures.setdefault(letter.record.place, set()).add(letter.component)
        for place, names in sinks.items():
            components = failures.get(place, set())
            if components <= names:  # else it failed before the sinks
                self._counted.setdefault(divided.whole(place), {}).update(dict.fromkeys(names - components, time_ms))
        stored: dict[tuple[str, int], list[tuple[RecordPlace, int]]] = {}
        for name, ranges in stored_by_sink(divided, sinks, failed).items():
            for whole, each in ranges:
                stored.setdefault((name, self.source_ms(whole, batch_time_ms)), []).append(each)
        counted = [CountedRecords(self._known.sinks[name], name, at_ms, each) for (name, at_ms), each in stored.items()]
        self._count(time_ms, counted)
        self._known.add(time_ms, counted)

"""The outcome of each event: compares the ledger with the actual state."""

from collections.abc import Iterable, Mapping, Sequence

from tests.support.ledger.events import HASH, WINDOW, Events, Outcome, cells_of, hash_of
from tests.support.ledger.observed import Found, FoundDeadLetter, Key, Observed, event_of
from tests.support.ledger.producer import Entry, Status
from tests.support.ledger.sent import BatchIndex, SentEvents
from tests.support.ledger.verdicts import SHOWN, Judgement, Verdict


def judge(
    events: Events,
    sent: SentEvents,
    observed: Observed,
    *,
    bounds: Mapping[int, int] | None = None,
    codes: frozenset[str] = frozenset(),
    seen: Mapping[bytes, int] | None = None,
) -> Judgement:
    """
    Give every event its verdict.

    Args:
        bounds: partition -> offset below which everything must be done; a missing event above it is pending. None for
            no bounds.
        codes: error codes of dead letters that are allowed in place of stored events.
        seen: row -> highest event number that an earlier audit found.
    """
    judge = _Judge(events, sent, observed, bounds, codes, seen or {})
    judge.rows()
    judge.events()
    judge.references()
    judge.times()
    return judge.judgement


class _Judge:
    """Checks each row, then each event, then references and timestamps."""

    def __init__(
        self,
        events: Events,
        sent: SentEvents,
        observed: Observed,
        bounds: Mapping[int, int] | None,
        codes: frozenset[str],
        seen: Mapping[bytes, int],
    ) -> None:
        self.judgement = Judgement()
        self._events = events
        self._sent = sent
        self._entries = sent.entries
        self._observed = observed
        self._bounds = bounds
        self._codes = codes
        self._seen = seen
        self._holders: dict[bytes, int | None] = {}
        self._owners: dict[bytes, list[Key]] | None = None

    def rows(self) -> None:
        """Find the event of each row, and what is wrong with the row."""
        for row, found in self._observed.rows.items():
            key = found.event
            if found.hash is not None and key is not None and self._events.row(*key) == row:
                self._holders[row] = key[1]
                wrong = self._check_complete(key, found)
            else:
                self._holders[row] = None
                wrong = self._check_torn(row, found)
            if wrong is not None:
                self.judgement.add(wrong[0], f"row {row.hex()} {wrong[1]}")

    def events(self) -> None:
        """Give a verdict to each event that is in the topic."""
        writers: dict[bytes, list[Key]] = {}
        for key, entry in self._entries.items():
            if entry.status is not Status.OK:
                continue
            is_due = self._bounds is None or entry.offset < self._bounds.get(entry.partition, 0)
            if is_due:
                self.judgement.acknowledged.add(key)
            outcome = self._events.outcome(*key)
            dead_letters = self._observed.dead_letters.get((entry.partition, entry.offset), ())
            if dead_letters:
                self._dead_lettered(key, outcome, dead_letters)
            elif outcome is Outcome.STORED:
                writers.setdefault(self._events.row(*key), []).append(key)
            elif not is_due:
                self.judgement.verdicts[key] = Verdict.PENDING
            elif outcome is Outcome.DROPPED:
                self.judgement.verdicts[key] = Verdict.DROPPED_BY_RULE
            else:
                self.judgement.verdicts[key] = Verdict.LOST
                self.judgement.add(Verdict.LOST, f"event {_shown(key, entry)} must be a dead letter")
        for row, keys in writers.items():
            self._writers(row, sorted(keys))

    def references(self) -> None:
        """Each stored event names the row of an earlier one; if that row is missing, the table alone proves a loss."""
        for row, found in self._observed.rows.items():
            if self._holders[row] is None or not found.previous or found.previous in self._observed.rows:
                continue
            assert found.event is not None
            referred = found.event[0], found.event[1] - WINDOW
            if not self._may_be_missing(referred):
                text = f"row {row.hex()} refers to event {referred}, whose row is missing"
                self.judgement.add(Verdict.DANGLING, text)

    def times(self) -> None:
        """Cells have the time of the micro-batch that acknowledged them."""
        again = self._sent.again
        batches = BatchIndex(self._observed.batches)
        for row, found in self._observed.rows.items():
            key = found.event
            if self._holders[row] is None or key is None or len(found.times) != 1 or key in again:
                continue
            entry = self._entries.get(key)
            batch = None if entry is None else batches.of(entry.partition, entry.offset)
            if batch is None or batch.time_ms == found.times[0]:
                continue
            text = f"row {row.hex()} of event {key} has time {found.times[0]}, its micro-batch has {batch.time_ms}"
            # a timestamp that is too new hides later values
            verdict = Verdict.REGRESSED if found.times[0] > batch.time_ms else Verdict.CORRUPT
            self.judgement.add(verdict, text)

    def _check_complete(self, key: Key, found: Found) -> tuple[Verdict, str] | None:
        """What is wrong with a complete row; None if nothing is."""
        entry = self._entries.get(key)
        if entry is None or entry.status is Status.FAIL:
            return Verdict.PHANTOM, f"holds event {key}, which was never written to the topic"
        if self._events.outcome(*key) is not Outcome.STORED:
            return Verdict.PHANTOM, f"holds event {key}, expected to be {self._events.outcome(*key)}"
        if entry.hash and entry.hash != found.hash:
            return Verdict.CORRUPT, f"holds event {key} with another hash than was sent"
        if len(found.times) > 1:
            return Verdict.MIXED, f"has cells of {len(found.times)} times: {sorted(found.times)}"
        return None

    def _check_torn(self, row: bytes, found: Found) -> tuple[Verdict, str]:
        """A row whose hash does not match its cells: of no event, of several events, or changed."""
        owners = self._owners_of(row)
        if not owners:
            return Verdict.PHANTOM, "is the row of no event"
        if found.cells is None:
            return Verdict.CORRUPT, f"of event {owners[0]} holds event {found.event}"
        sent = [self._events.event(*owner) for owner in owners]
        matching = {
            column: frozenset(event.number for event in sent if event.cells.get(column) == value)
            for column, value in found.cells.items()
        }
        if all(matching.values()) and not frozenset.intersection(*matching.values()):
            return (
                Verdict.MIXED,
                f"has cells of several events: {sorted(frozenset().union(*matching.values()))[:SHOWN]}",
            )
        strange = sorted(column for column, numbers in matching.items() if not numbers)
        missing = sorted(sent[0].cells.keys() - found.cells.keys())
        return Verdict.CORRUPT, f"of event {owners[0]}: missing {missing}, wrong {strange}"

    def _owners_of(self, row: bytes) -> Sequence[Key]:
        """Events that write a row."""
        if self._owners is None:
            self._owners = {}
            for key in self._entries:
                self._owners.setdefault(self._events.row(*key), []).append(key)
        return self._owners.get(row, [])

    def _dead_lettered(self, key: Key, outcome: Outcome, dead_letters: Iterable[FoundDeadLetter]) -> None:
        self.judgement.verdicts[key] = Verdict.DEAD_LETTERED
        wrong = self._check_dead_letters(key, outcome, dead_letters)
        if wrong:
            self.judgement.add(Verdict.CORRUPT, wrong)
        if self._holders.get(self._events.row(*key)) == key[1]:
            self.judgement.add(Verdict.PHANTOM, f"event {key} is a dead letter and is stored as well")

    def _check_dead_letters(self, key: Key, outcome: Outcome, dead_letters: Iterable[FoundDeadLetter]) -> str:
        """What is wrong with the dead letters of an event; empty if nothing is."""
        for dead_letter in dead_letters:
            cells = cells_of(dead_letter.value, dead_letter.headers)
            if cells.get(HASH) != hash_of(cells) or event_of(cells) != key:
                return f"the dead letter of event {key} differs from what was sent"
            is_meant = outcome is Outcome.DEAD_LETTERED and dead_letter.code == self._events.code(key[1])
            if not is_meant and dead_letter.code not in self._codes:
                return f"event {key}, expected to be {outcome}, is a dead letter with code {dead_letter.code}"
        return ""

    def _writers(self, row: bytes, keys: Sequence[Key]) -> None:
        """Verdicts for the events of one row, in order: the event in the row has overwritten all before it."""
        judgement = self.judgement
        holds = self._holders.get(row, -1)
        if holds is None:
            judgement.verdicts.update(dict.fromkeys(keys, Verdict.CORRUPT))
            return
        newest_due = max((key[1] for key in keys if key in judgement.acknowledged), default=-1)
        was_newer = row in self._holders and holds < newest_due and self._highest(row) > holds
        for key in keys:
            if key[1] <= holds:
                judgement.verdicts[key] = Verdict.STORED
            elif key not in judgement.acknowledged:
                judgement.verdicts[key] = Verdict.PENDING
            elif was_newer:
                judgement.verdicts[key] = Verdict.REGRESSED
                text = f"row {row.hex()} holds event {holds}, although it held a newer one before"
                judgement.add(Verdict.REGRESSED, text)
            else:
                judgement.verdicts[key] = Verdict.LOST
                shown = _shown(key, self._entries[key])
                judgement.add(Verdict.LOST, f"event {shown} is missing; its row holds {holds}")

    def _highest(self, row: bytes) -> int:
        return max(self._seen.get(row, -1), self._observed.highest_number(row))

    def _may_be_missing(self, key: Key) -> bool:
        entry = self._entries.get(key)
        return entry is not None and (
            entry.status is not Status.OK
            or self._events.outcome(*key) is not Outcome.STORED
            or self.judgement.verdicts.get(key) is Verdict.DEAD_LETTERED
            or (self._bounds is not None and key not in self.judgement.acknowledged)
        )


def _shown(key: Key, entry: Entry) -> str:
    return f"{key} at {entry.partition}:{entry.offset}"


def newest_numbers(rows: Mapping[bytes, Found]) -> dict[bytes, int]:
    """Row -> number of its event, for `seen` of a later audit."""
    return {row: found.event[1] for row, found in rows.items() if found.event is not None}

"""What became of each event: the ledger on one side, what is there on the other."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tests.support.checkpoint import Batch
from tests.support.ledger.events import HASH, NUMBER, PREVIOUS, PRODUCER, WINDOW, Events, Fate, cells_of, hash_of
from tests.support.ledger.observed import Cells, Letter, Observed
from tests.support.ledger.producer import Entry, Status

SHOWN = 5  # examples of each kind in a message
Key = tuple[int, int]
"""Producer and number of an event."""


class Verdict(StrEnum):
    """What became of one event, or what is wrong with one row."""

    STORED = "stored"
    DLQ = "dead-lettered"
    DROPPED_BY_RULE = "dropped by rule"
    PENDING = "pending"
    LOST = "lost"
    CORRUPT = "corrupt"
    PHANTOM = "phantom"
    DANGLING = "dangling"
    REGRESSED = "regressed"
    MIXED = "mixed"


@dataclass
class Judgement:
    """
    All verdicts.

    Attributes:
        verdicts: of each event that is ok, and of those nobody knows about that turned out to be there.
        wrong: verdict -> what is wrong, with an example in words each.
        acknowledged: events that some acknowledgement covers.
    """

    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    wrong: dict[Verdict, list[str]] = field(default_factory=dict)
    acknowledged: set[Key] = field(default_factory=set)

    def add(self, verdict: Verdict, text: str) -> None:
        """Note what is wrong."""
        self.wrong.setdefault(verdict, []).append(text)

    def having(self, verdict: Verdict) -> list[Key]:
        """Events with a verdict."""
        return [key for key, each in self.verdicts.items() if each is verdict]


class BatchIndex:
    """Finds the micro-batch a record was acknowledged in."""

    def __init__(self, batches: Sequence[Batch]) -> None:
        self._batches = batches
        self._ends: dict[int, tuple[list[int], list[Batch]]] = {}
        for batch in batches:
            for partition, end in batch.ends.items():
                ends, of_partition = self._ends.setdefault(partition, ([], []))
                ends.append(end)
                of_partition.append(batch)

    def __len__(self) -> int:
        return len(self._batches)

    def of(self, partition: int, offset: int) -> Batch | None:
        """The batch of a record; None when it is not acknowledged, or in a batch nobody knows any more."""
        ends, batches = self._ends.get(partition, ([], []))
        index = bisect_right(ends, offset)
        if index == len(ends) or batches[index].starts[partition] > offset:
            return None
        return batches[index]


@dataclass(frozen=True)
class _Row:
    """A row read: who wrote it, if it is whole."""

    number: int | None
    times: frozenset[int]


@dataclass
class Sent:
    """
    What was sent.

    Attributes:
        entries: one for each event; of one sent again, the first that is ok.
        places: (partition, offset) -> event; several may have the same.
    """

    entries: dict[Key, Entry]
    places: dict[tuple[int, int], Key]

    @property
    def again(self) -> set[Key]:
        """Events that stand in the topic several times."""
        return {key for key, count in Counter(self.places.values()).items() if count > 1}


def settled(entries: Iterable[Entry], places: Mapping[tuple[int, int], Key] | None = None) -> Sent:
    """
    The ledger as it can be judged.

    Args:
        places: what the topic itself holds, if it was read: then nothing is unknown any more.
    """
    sent = Sent({}, {})
    for entry in entries:
        key = entry.producer, entry.number
        known = sent.entries.get(key)
        if known is None or (known.status is not Status.OK and entry.status is Status.OK):
            sent.entries[key] = entry
        if entry.status is Status.OK:
            sent.places[entry.partition, entry.offset] = key
    if places is None:
        return sent
    found = {key: place for place, key in sorted(places.items(), reverse=True)}
    for key, entry in sent.entries.items():
        if entry.status is Status.INFO:
            partition, offset = found.get(key, (-1, -1))
            status = Status.OK if key in found else Status.FAIL
            sent.entries[key] = entry._replace(status=status, partition=partition, offset=offset)
    sent.places |= places
    return sent


def judge(
    events: Events,
    sent: Sent,
    observed: Observed,
    *,
    bounds: Mapping[int, int] | None = None,
    codes: frozenset[str] = frozenset(),
    seen: Mapping[bytes, int] | None = None,
) -> Judgement:
    """
    Give every event its verdict.

    Args:
        bounds: partition -> offset below which all must be done; what is missing past it is pending. None for all.
        codes: of dead letters that events may have become though the ledger says they are to be stored.
        seen: row -> highest event number that an earlier look has found there.
    """
    judgement = Judgement()
    entries = sent.entries
    rows = _rows(events, entries, observed, judgement)
    writers: dict[bytes, list[Key]] = {}
    for key, entry in entries.items():
        if entry.status is not Status.OK:
            continue
        is_due = bounds is None or entry.offset < bounds.get(entry.partition, 0)
        if is_due:
            judgement.acknowledged.add(key)
        letters = observed.letters.get((entry.partition, entry.offset), ())
        fate = events.fate(*key)
        row = events.row(*key)
        if letters:
            judgement.verdicts[key] = Verdict.DLQ
            wrong = _about_letters(events, key, fate, letters, codes)
            if wrong:
                judgement.add(Verdict.CORRUPT, wrong)
            holder = rows.get(row)
            if holder is not None and holder.number == key[1]:
                judgement.add(Verdict.PHANTOM, f"event {key} is a dead letter and is stored as well")
        elif fate is Fate.STORED:
            writers.setdefault(row, []).append(key)
        elif fate is Fate.DROPPED:
            judgement.verdicts[key] = Verdict.DROPPED_BY_RULE if is_due else Verdict.PENDING
        elif is_due:
            judgement.verdicts[key] = Verdict.LOST
            judgement.add(Verdict.LOST, f"event {_shown(key, entry)} must be a dead letter")
        else:
            judgement.verdicts[key] = Verdict.PENDING
    for row, keys in writers.items():
        _judge_row(row, sorted(keys), rows.get(row), entries, observed, judgement, (seen or {}).get(row, -1))
    _judge_references(events, entries, rows, observed, judgement, bounded=bounds is not None)
    _judge_times(sent, rows, observed, judgement)
    return judgement


def _rows(events: Events, entries: Mapping[Key, Entry], observed: Observed, judgement: Judgement) -> dict[bytes, _Row]:
    """Each row of the table looked at by itself: whole, of one event, of an event that was to be stored."""
    owners: dict[bytes, list[Key]] | None = None
    found = {}
    for row, cells in observed.table.items():
        values = {column: value for column, (_, value) in cells.items()}
        times = frozenset(time_ms for time_ms, _ in cells.values())
        key = _key_of(values)
        entry = None if key is None else entries.get(key)
        is_whole = HASH in values and hash_of(values) == values[HASH]
        if is_whole and key is not None and events.row(*key) == row:
            if entry is None or entry.status is Status.FAIL:
                judgement.add(
                    Verdict.PHANTOM, f"row {row.hex()} holds event {key}, which was never written to the topic"
                )
            elif events.fate(*key) is not Fate.STORED:
                judgement.add(
                    Verdict.PHANTOM, f"row {row.hex()} holds event {key}, which was to be {events.fate(*key)}"
                )
            elif entry.hash and entry.hash != values[HASH]:
                judgement.add(Verdict.CORRUPT, f"row {row.hex()} holds event {key} with another hash than was sent")
            if len(times) > 1:
                judgement.add(Verdict.MIXED, f"row {row.hex()} has cells of {len(times)} times: {sorted(times)}")
            found[row] = _Row(key[1], times)
            continue
        if owners is None:
            owners = {}
            for owner in entries:
                owners.setdefault(events.row(*owner), []).append(owner)
        verdict, text = _about_torn(events, row, values, owners.get(row, []))
        judgement.add(verdict, text)
        found[row] = _Row(None, times)
    return found


def _about_torn(
    events: Events, row: bytes, values: Mapping[bytes, bytes], owners: Sequence[Key]
) -> tuple[Verdict, str]:
    """A row whose hash does not fit its cells: of nobody, of several events, or simply wrong."""
    if not owners:
        return Verdict.PHANTOM, f"row {row.hex()} is the row of no event"
    sent = [events.event(*owner) for owner in owners]
    matching = {column: {each.number for each in sent if each.cells.get(column) == values[column]} for column in values}
    if all(matching.values()) and not frozenset.intersection(*map(frozenset, matching.values())):
        numbers = sorted(set[int]().union(*matching.values()))[:SHOWN]
        return Verdict.MIXED, f"row {row.hex()} has cells of several events: {numbers}"
    strange = sorted(column for column in values if not matching[column])
    missing = sorted(sent[0].cells.keys() - values.keys())
    return Verdict.CORRUPT, f"row {row.hex()} of event {owners[0]}: missing {missing}, wrong {strange}"


def _judge_row(
    row: bytes,
    keys: Sequence[Key],
    found: _Row | None,
    entries: Mapping[Key, Entry],
    observed: Observed,
    judgement: Judgement,
    seen: int,
) -> None:
    """The events of one row, in their order: what the row holds has replaced all before it."""
    holds = -1 if found is None else found.number
    if holds is None:
        for key in keys:
            judgement.verdicts[key] = Verdict.CORRUPT
        return
    newest_due = max((key[1] for key in keys if key in judgement.acknowledged), default=-1)
    was_newer = found is not None and holds < newest_due and max(seen, observed.highest_number(row)) > holds
    for key in keys:
        if key[1] <= holds:
            judgement.verdicts[key] = Verdict.STORED
        elif key not in judgement.acknowledged:
            judgement.verdicts[key] = Verdict.PENDING
        elif was_newer:
            judgement.verdicts[key] = Verdict.REGRESSED
            judgement.add(Verdict.REGRESSED, f"row {row.hex()} holds event {holds} again after a newer one was there")
        else:
            judgement.verdicts[key] = Verdict.LOST
            judgement.add(Verdict.LOST, f"event {_shown(key, entries[key])} is not there; its row holds {holds}")


def _judge_references(
    events: Events,
    entries: Mapping[Key, Entry],
    rows: Mapping[bytes, _Row],
    observed: Observed,
    judgement: Judgement,
    *,
    bounded: bool,
) -> None:
    """Each stored event names the row of an earlier one; the table alone proves a loss when that is not there."""
    for row, cells in observed.table.items():
        holder = rows[row]
        previous = cells.get(PREVIOUS, (0, b""))[1]
        if holder.number is None or not previous or previous in observed.table:
            continue
        key = _key_of({column: value for column, (_, value) in cells.items()})
        assert key is not None
        referred = key[0], key[1] - WINDOW
        entry = entries.get(referred)
        excused = entry is not None and (
            entry.status is not Status.OK
            or events.fate(*referred) is not Fate.STORED
            or judgement.verdicts.get(referred) is Verdict.DLQ
            or (bounded and referred not in judgement.acknowledged)
        )
        if not excused:
            judgement.add(Verdict.DANGLING, f"row {row.hex()} refers to event {referred}, whose row is not there")


def _judge_times(sent: Sent, rows: Mapping[bytes, _Row], observed: Observed, judgement: Judgement) -> None:
    """Cells have the time of the micro-batch that acknowledged them, however often they were written."""
    again = sent.again
    batches = BatchIndex(observed.batches)
    for row, found in rows.items():
        if found.number is None or len(found.times) != 1:
            continue
        key = int(observed.table[row][PRODUCER][1]), found.number
        entry = sent.entries.get(key)
        if entry is None or entry.status is not Status.OK or key in again:
            continue
        batch = batches.of(entry.partition, entry.offset)
        if batch is None:
            continue
        expected, actual = batch.time_ms, min(found.times)
        if expected != actual:
            text = f"row {row.hex()} of event {found.number} has time {actual}, its micro-batch has {expected}"
            judgement.add(Verdict.REGRESSED if actual > expected else Verdict.CORRUPT, text)


def _about_letters(events: Events, key: Key, fate: Fate, letters: Iterable[Letter], codes: frozenset[str]) -> str:
    """What is wrong with the letters of an event; empty when nothing is."""
    for letter in letters:
        cells = cells_of(letter.value, letter.headers)
        code = letter.code
        if cells.get(HASH) != hash_of(cells) or _key_of(cells) != key:
            return f"the dead letter of event {key} does not hold what was sent"
        if code not in codes and (fate is not Fate.DEAD_LETTERED or code != events.code(key[1])):
            return f"event {key} was to be {fate}, and is a dead letter with code {code}"
    return ""


def _key_of(values: Mapping[bytes, bytes]) -> Key | None:
    producer, number = values.get(PRODUCER, b""), values.get(NUMBER, b"")
    return (int(producer), int(number)) if producer.isdigit() and number.isdigit() else None


def _shown(key: Key, entry: Entry) -> str:
    return f"{key} at {entry.partition}:{entry.offset}"


def newest_numbers(table: Mapping[bytes, Cells]) -> dict[bytes, int]:
    """Row -> number of the event it holds, for `seen` of a later look."""
    found = {}
    for row, cells in table.items():
        value = cells.get(NUMBER, (0, b""))[1]
        if value.isdigit():
            found[row] = int(value)
    return found

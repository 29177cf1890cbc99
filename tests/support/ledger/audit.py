"""The two sides that are compared, and the words for what comes of it."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tests.support.checkpoint import Batch
from tests.support.ledger.observed import Key
from tests.support.ledger.producer import Entry, Status

SHOWN = 5  # examples of each kind in a message


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

"""The events that were sent, in the form that is compared with the actual state, and the batches of their records."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.support.checkpoint import Batch
from tests.support.ledger.observed import Key
from tests.support.ledger.producer import Entry, Status


class BatchIndex:
    """Finds the micro-batch that acknowledged a record."""

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
        """The batch of a record; None if it is not acknowledged, or if the checkpoint no longer has the batch."""
        ends, batches = self._ends.get(partition, ([], []))
        index = bisect_right(ends, offset)
        if index == len(ends) or batches[index].starts[partition] > offset:
            return None
        return batches[index]


@dataclass
class SentEvents:
    """
    The events that were sent.

    Attributes:
        entries: one for each event; the first `ok` one for an event that was sent twice.
        places: (partition, offset) -> event; an event that was sent twice has two.
    """

    entries: dict[Key, Entry]
    places: dict[tuple[int, int], Key]

    @property
    def again(self) -> set[Key]:
        """Events that are in the topic several times."""
        return {key for key, count in Counter(self.places.values()).items() if count > 1}


def settled(entries: Iterable[Entry], places: Mapping[tuple[int, int], Key] | None = None) -> SentEvents:
    """
    The ledger with one entry for each event.

    Args:
        places: content of the topic, if it was read; it resolves the status `info`.
    """
    sent = SentEvents({}, {})
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

"""The dead letters of one micro-batch that a replay runs together, and those that it skips."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from ingest.api import Record, RecordPlace
from ingest.api.reasons import Explained
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import DeadLetterQueue, Entry, with_unneeded_blobs

Values = Mapping[RecordPlace, DeadLetterBlob | PlaceRange]
"""
Where the values of records are that their dead letters do not have: in a blob store, or still in the source. The ranges
of one micro-batch do not overlap.
"""


class SkipReason(Explained):
    """
    Why a dead letter is not run again.

    One that is counted, not in a batch, ran again or is superseded is marked as replayed; the others stay selectable.
    """

    COUNTED = (
        "counted",
        "A replay has counted its events in deferred updates; --all --recount counts them again.",
        "Nothing; its events are in the table.",
    )
    NOT_IN_BATCH = (
        "not_in_batch",
        "Its micro-batch was a replay into other tables; the dead letter counts as replayed.",
        "Nothing; the dead letter of the first run counts there.",
    )
    RAN_AGAIN = (
        "ran_again",
        "The record ran again in a later micro-batch; the dead letter counts as replayed.",
        "Nothing; if its event failed again, it has a newer dead letter.",
    )
    ROLLED_BACK = (
        "rolled_back",
        "The micro-batch was rolled back; `attr2hbase replay` runs it as a whole.",
        "Run `attr2hbase replay` for the time of the micro-batch.",
    )
    RUNS_AGAIN = (
        "runs_again",
        "The micro-batch is not acknowledged, and runs the record again when the pipeline runs.",
        "Run the pipeline; it replaces the dead letter.",
    )
    SUPERSEDED = (
        "superseded",
        "A later dead letter has the same place; this one counts as replayed.",
        "Nothing; the later dead letter is replayed.",
    )
    SINK_UNKNOWN = (
        "sink_unknown",
        (
            "Deferred updates of some sinks may have the event, and it is unknown of which: no component has the name "
            "of the dead letter, or sinks without a label have moved."
        ),
        (
            "Give the sink or decorator in which it failed the name of the dead letter as its `label`; or add "
            "`--recount`, which runs it into all sinks."
        ),
    )
    FAN_OUT = (
        "fan_out",
        (
            "The record became several events, and those that did not fail are in deferred updates; a decorator made "
            "them that the pipeline has no more."
        ),
    )
    NO_BLOB = (
        "no_blob",
        "The value of the record is not in the blob store any more.",
        "Restore the blob store from a backup, then replay it.",
    )
    UNREAD = (
        "unread",
        "The records are not in the topic any more, or are larger than `max_decompressed_bytes` of the source.",
    )

    @classmethod
    def of_sinks(cls, reasons: Iterable["SkipReason"]) -> "SkipReason":
        """
        The reason for a dead letter of several sinks, each of which has one: the last of these in the order above.

        So one that stays selectable for a sink stays so, and `counted` marks only those that all sinks have counted.
        """
        return max(reasons, key=list(cls).index)


@dataclass(frozen=True)
class DeadLetterBatch:
    """
    Selected dead letters of one micro-batch, which run together: they may contain a value and its delete.

    Attributes:
        records: each once, in the order of their source.
        sinks_by_record: place of a record -> names of its sinks, if those are not all.
        entries: the dead letters; a record may have several, from a fan-out or from several sinks.
        skipped: position -> why, of dead letters of the micro-batch that do not run.
        settled: those of them that need no replay any more, and are marked as replayed.
        cut: positions of selected ones that are incomplete because their file is not on this machine.
        others: dead letters of the micro-batch that are not selected, and need their blobs.
        values: place of a record -> where its value is, if the record does not have it.
        is_by_place: whether its dead letters have places in place of bytes. A micro-batch with such ones and with
            others has several batches: the places of one do not overlap, unless they are the same, and the source has
            read the records of all of them or of none.
    """

    batch_time_ms: int
    records: tuple[Record, ...]
    sinks_by_record: Mapping[RecordPlace, frozenset[str]]
    entries: tuple[Entry, ...]
    skipped: Mapping[str, SkipReason] = field(default_factory=dict)
    settled: tuple[Entry, ...] = ()
    cut: tuple[str, ...] = ()
    others: tuple[Entry, ...] = ()
    values: Values = field(default_factory=dict)
    is_by_place: bool = False

    def released(self, replayed: Iterable[Entry]) -> Sequence[DeadLetter]:
        """
        Those of some dead letters that were replayed whose blobs may be released.

        Selected dead letters with the same reference have the same outcome, so only the others may need the blob.
        """
        return with_unneeded_blobs((entry.dead_letter for entry in replayed), self.others)

    def by_place_at(self, place: RecordPlace) -> Sequence[Entry]:
        """Its dead letters by place among whose records the one at this place is."""
        at = bisect_right(self._by_place[0], place) - 1
        found = self._by_place[1][at] if at >= 0 else ()
        return found if any(is_within(place, entry.dead_letter) for entry in found[:1]) else ()

    @cached_property
    def _by_place(self) -> tuple[list[RecordPlace], list[Sequence[Entry]]]:
        groups = groupby(self.entries, key=lambda entry: entry.dead_letter.record.place)
        found = [(place, tuple(group)) for place, group in groups]
        return [place for place, _ in found], [group for _, group in found]


def batches_of(
    entries: Iterable[Entry],
    sinks: frozenset[str] = frozenset(),
    skip_reason: Callable[[Entry], SkipReason | None] = lambda _entry: None,
    is_selected: Callable[[Entry], bool] = lambda _entry: True,
    runs_again: Callable[[Entry], bool] = lambda _entry: False,
) -> Iterator[DeadLetterBatch]:
    """
    Batches of entries in order of batch time, also those of which nothing runs; a record whose dead letters are all of
    `sinks` is written to those only.

    A batch fits in memory without its blobs, since its dead letters already fitted into that of the driver.
    """
    # asked at once: the first entry of a batch is read before the batch before it runs, and may be replaced meanwhile
    read = ((entry, is_selected(entry) and runs_again(entry)) for entry in entries)
    for batch_time_ms, batch in groupby(read, key=lambda each: each[0].dead_letter.batch_time_ms):
        by_record: dict[RecordPlace, list[Entry]] = {}
        by_place: list[Entry] = []
        skipped: dict[str, SkipReason] = {}
        settled: list[Entry] = []
        cut: list[str] = []
        others: list[Entry] = []
        for entry, is_unacknowledged in batch:
            if not is_selected(entry):
                if entry.needs_blob:
                    others.append(entry)
                continue
            if entry.dead_letter.pointer is not None:
                cut.append(entry.position)
                continue
            if (reason := SkipReason.RUNS_AGAIN if is_unacknowledged else skip_reason(entry)) is not None:
                skipped[entry.position] = reason
                if reason in (SkipReason.NOT_IN_BATCH, SkipReason.RAN_AGAIN, SkipReason.SUPERSEDED) or (
                    reason is SkipReason.COUNTED and not entry.is_replayed
                ):
                    settled.append(entry)
                continue
            if entry.dead_letter.by_place is None:
                by_record.setdefault(entry.dead_letter.record.place, []).append(entry)
            else:
                by_place.append(entry)
        found = _batch(batch_time_ms, by_record, sinks)
        yield replace(found, skipped=skipped, settled=tuple(settled), cut=tuple(cut), others=tuple(others))
        for layer in _layers(by_place):
            yield replace(_batch(batch_time_ms, layer, sinks), others=tuple(others), is_by_place=True)


def _layers(entries: Iterable[Entry]) -> Iterator[dict[RecordPlace, list[Entry]]]:
    """Dead letters by place in layers, as `DeadLetterBatch.is_by_place` says: by the place of their first record."""
    by_range: dict[tuple[bool, RecordPlace, int], list[Entry]] = {}
    for entry in entries:
        letter = entry.dead_letter
        by_range.setdefault((letter.is_unread, letter.record.place, letter.end_offset), []).append(entry)
    layers: list[tuple[bool, RecordPlace, int, dict[RecordPlace, list[Entry]]]] = []
    for (is_unread, place, end), group in sorted(by_range.items(), key=itemgetter(0)):
        for number, (is_unread_there, last, its_end, layer) in enumerate(layers):
            if is_unread == is_unread_there and (last[:2] != place[:2] or its_end <= place[2]):
                layer[place] = group
                layers[number] = is_unread, place, end, layer
                break
        else:
            layers.append((is_unread, place, end, {place: group}))
    for *_, layer in layers:
        yield layer


def _batch(
    batch_time_ms: int, by_record: Mapping[RecordPlace, Sequence[Entry]], sinks: frozenset[str]
) -> DeadLetterBatch:
    groups = sorted(by_record.items())
    components = {place: frozenset(entry.dead_letter.component for entry in group) for place, group in groups}
    firsts = [(place, group[0].dead_letter) for place, group in groups]
    return DeadLetterBatch(
        batch_time_ms,
        records=tuple(letter.record for _, letter in firsts),
        sinks_by_record={place: names for place, names in components.items() if names <= sinks},
        entries=tuple(entry for _, group in groups for entry in group),
        values={place: value for place, letter in firsts if (value := letter.blob or letter.by_place) is not None},
    )


def skip_superseded(
    queue: DeadLetterQueue, skip_reason: Callable[[Entry], SkipReason | None]
) -> Callable[[Entry], SkipReason | None]:
    """A `skip_reason` that also skips places of which a later dead letter exists; the queue is read if there is one."""
    newest: dict[bytes, int] = {}

    def reason(entry: Entry) -> SkipReason | None:
        letter = entry.dead_letter
        if not letter.is_unread:
            return skip_reason(entry)
        if not newest:
            newest.update((each.dead_letter.key, each.dead_letter.batch_time_ms) for each in queue.entries())
        # a dead letter that was published since the queue was read is later than the replay's
        is_last = newest.get(letter.key, letter.batch_time_ms) <= letter.batch_time_ms
        return skip_reason(entry) if is_last else SkipReason.SUPERSEDED

    return reason


def is_within(place: RecordPlace, letter: DeadLetter) -> bool:
    """Whether the record at a place is one of those of a dead letter by place."""
    topic, partition, first = letter.record.place
    return place[:2] == (topic, partition) and first <= place[2] < letter.end_offset

"""Dead letters by place in a replay: their parts, their sinks, and the dead letters of records that fail again."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Self

from ingest.api import Record, RecordPlace, TopicPartition
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, PlaceRange, dead_letters_of
from ingest.dead_letters.replay_batches import Values
from ingest.service.dead_letters.unread import SinksByRange

Run = tuple[Sequence[bytes], Mapping[RecordPlace, frozenset[str]]]
"""The dead letters of a run of records, and the sinks into which the records at each place ran."""

Cuts = Callable[[RecordPlace, int], Sequence[int]]
"""As `ingest.service.replay.later_runs.LaterRuns.cuts`."""


@dataclass(frozen=True, slots=True)
class Divided:
    """
    Records of a replay, with places divided into parts.

    Attributes:
        records: one for each part, with its place.
        values: of these.
        wholes: place of a part -> that of its dead letter.
        gone: topic and partition -> number of offsets of places before the first one that can be read.
    """

    records: Sequence[Record]
    values: Values
    wholes: Mapping[RecordPlace, RecordPlace]
    gone: Counter[TopicPartition]

    @classmethod
    def of(
        cls, records: Sequence[Record], values: Values, cuts: Cuts | None, begins: Mapping[RecordPlace, int]
    ) -> Self:
        """
        Divide the places among records.

        Args:
            records: of a replay.
            values: of those that are places, as in `ingest.dead_letters.replay.RunRecords`, and of others.
            cuts: where to divide a place; None to divide none.
            begins: place -> the offset from which on its records can be read, if that is not its own.
        """
        found: list[Record] = []
        of_parts = dict(values)
        wholes = {}
        gone: Counter[TopicPartition] = Counter()
        for record in records:
            value = values.get(record.place)
            if not isinstance(value, PlaceRange):
                found.append(record)
                continue
            places = parts(record.place, value, cuts)
            ends = [*(offset for _, _, offset in places[1:]), value.end]
            first = begins.get(record.place, record.offset)
            gone[record.topic, record.partition] += first - record.offset
            for (_, _, offset), end in zip(places, ends, strict=True):
                if end is not None and end <= first:
                    continue
                part = record._replace(offset=max(offset, first))
                found.append(part)
                of_parts[part.place] = value._replace(end=end)
                wholes[part.place] = record.place
        return cls(found, of_parts, wholes, +gone)

    def whole(self, place: RecordPlace) -> RecordPlace:
        """The place of the dead letter of a record or a part."""
        return self.wholes.get(place, place)


def parts(place: RecordPlace, span: PlaceRange | None, cuts: Cuts | None) -> list[RecordPlace]:
    """The places of the parts of a place, the first one of which it has itself."""
    if span is None or span.end is None or cuts is None:
        return [place]
    topic, partition, _ = place
    return [place, *((topic, partition, offset) for offset in cuts(place, span.end))]


def sinks_by_range(
    records: Sequence[Record], sinks_by_record: Mapping[RecordPlace, frozenset[str]]
) -> Mapping[RecordPlace, frozenset[str]]:
    """The sinks of the records that are read at the places of some records, by their own places."""
    return SinksByRange({record.place: sinks_by_record.get(record.place) for record in records})


def published(runs: Sequence[Run], time_ms: int, components: Components) -> list[bytes]:
    """
    The dead letters of runs of the same records into several sinks, each once, with the time of one micro-batch.

    With the new time of deferred updates, another replay would write values of plain tables at that time. Those of
    components before the sinks are of the sinks into which their records ran, if those are not all: another replay
    must not write the others again. If some are by place, they are of the sinks of their run, since each run has
    places of its own: another replay would write a sink twice with records that are in places of two runs.

    Args:
        runs: of the records.
        time_ms: of the micro-batch.
        components: of the pipeline.
    """
    parsed = [(dead_letters_of(lines), sinks) for lines, sinks in runs]
    has_places = any(each.by_place is not None and not each.is_unread for letters, _ in parsed for each in letters)
    together: dict[RecordPlace, frozenset[str]] = {}
    for _, sinks in parsed:
        together |= {place: names | together.get(place, frozenset()) for place, names in sinks.items()}
    found: dict[str, DeadLetter] = {}
    for letters, sinks in parsed:
        by_range = SinksByRange(sinks if has_places else together)
        for each in letters:
            names = by_range.get(each.record.place, components.sinks)
            is_whole = each.is_unread or each.component in components.alone or names == components.sinks
            for component in [each.component] if is_whole else sorted(names):
                table = each.table if component == each.component else components.tables.get(component)
                letter = replace(each, batch_time_ms=time_ms, component=component, table=table)
                if letter.id not in found or found[letter.id].end_offset <= letter.end_offset:
                    found[letter.id] = letter
    return [each.to_json() for each in found.values()]


def stored_by_sink(
    divided: Divided, sinks: Mapping[RecordPlace, frozenset[str]], failed: Sequence[bytes]
) -> Mapping[str, Sequence[tuple[RecordPlace, tuple[RecordPlace, int]]]]:
    """
    The records that sinks have stored, or that their `when` has kept from them: all that did not fail.

    Args:
        divided: the records that ran.
        sinks: place of a record or a part -> the sinks into which it ran.
        failed: the dead letters of the run.

    Returns:
        Sink -> the place of the dead letter, and a range from the place of its first record up to an end.
    """
    failures: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for letter in dead_letters_of(failed):
        topic, partition, begin = letter.record.place
        failures.setdefault((topic, partition), []).append((begin, letter.end_offset, letter.component))
    for each in failures.values():
        each.sort()
    found: dict[str, list[tuple[RecordPlace, tuple[RecordPlace, int]]]] = {}
    for record in divided.records:
        place, value = record.place, divided.values.get(record.place)
        end = value.end_offset if isinstance(value, PlaceRange) else place[2] + 1
        of_partition = failures.get(place[:2], [])
        within = of_partition[bisect_left(of_partition, (place[2],)) : bisect_left(of_partition, (end,))]
        for name in sinks[place]:
            begin = place[2]
            for first, after, component in within:
                if component == name or component not in sinks[place]:
                    if begin < first:
                        found.setdefault(name, []).append((divided.whole(place), ((*place[:2], begin), first)))
                    begin = max(begin, after)
            if begin < end:
                found.setdefault(name, []).append((divided.whole(place), ((*place[:2], begin), end)))
    return found


def batch_name(
    records: Iterable[tuple[Record, DeadLetterBlob | PlaceRange | None]],
    batch_time_ms: int,
    sinks_by_record: Mapping[RecordPlace, frozenset[str]],
) -> str:
    """
    The name of a micro-batch of a replay, derived from its records and their sinks.

    A sink without a store replaces a batch of the same name. So a repeated replay, of the same records into the same
    sinks, stores their events once, while a replay into other sinks, or of another part of a place, removes nothing.

    Args:
        records: each with what stands for its value, as in `DeadLetterBatch.values`.
        batch_time_ms: of the replay.
        sinks_by_record: place of a record -> its sinks, if those are not all.
    """
    parts = [
        (record.place, sorted(sinks_by_record.get(record.place, ())))
        + ((value.end,) if isinstance(value, PlaceRange) else ())
        for record, value in records
    ]
    return f"{batch_time_ms}-{sha256(repr(parts).encode()).hexdigest()[:16]}"

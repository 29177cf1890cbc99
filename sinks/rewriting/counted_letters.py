"""
The dead letters that replays have counted in a table with deferred updates: a property of the table.

The marks of a replay are in `state_dir`, beside the batch log. If both are lost, the property tells which dead letters
another replay must leave: those that were counted, and those of micro-batches whose records ran again. So it is written
before the committed position of the table moves past the updates that it names.

It has at most `MAX_CHARS` characters. Beyond them it forgets the oldest micro-batches, and has the time up to which it
has forgotten: of these nothing is known.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Annotated, Any, NamedTuple, Self

from pydantic import PlainSerializer, PlainValidator

from ingest.api import RecordPlace, Store
from ingest.api.event import MAX_OFFSET
from ingest.api.notation import from_notation, name_from_bytes, name_to_bytes, to_notation
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.record import Record
from ingest.durable.register import changed
from sinks.updates.intervals import Interval, is_in, joined

COUNTED = "counted_letters"
"""Name of the property."""
MAX_CHARS = 128 * 1024  # some 20,000 records that are not consecutive; each reader of the table's record reads it
OF_ALL_SINKS = ""
"""The name of a sink for records that all sinks of a table have counted: no sink has this name."""

Partition = tuple[str, int]


def _plain(offsets: Mapping[Partition, Sequence[tuple[int, int]]]) -> list[list[object]]:
    found: list[list[object]] = []
    for (topic, partition), ranges in offsets.items():
        bounds = [0, *(at for each in ranges for at in each)]
        steps = [after - before for before, after in pairwise(bounds)]  # short numbers
        found.append([to_notation(name_to_bytes(topic)), partition, steps])
    return found


def _offsets(content: Iterable[tuple[object, int, list[int]]]) -> dict[Partition, list[tuple[int, int]]]:
    found = {}
    for topic, partition, steps in content:
        bounds = [*accumulate(map(int, steps))]
        found[name_from_bytes(from_notation(topic)), int(partition)] = [*zip(bounds[::2], bounds[1::2], strict=True)]
    return found


Offsets = Annotated[Mapping[Partition, Sequence[tuple[int, int]]], PlainValidator(_offsets), PlainSerializer(_plain)]
"""Topic and partition -> ranges of offsets [begin, end), disjoint and in order."""


class CountedRun(NamedTuple):
    """
    Records that a replay has counted.

    Attributes:
        time_ms: of their updates.
        source_ms: of the micro-batch for which the source read them: a topic that is created anew has other records at
            these offsets.
        sink: its name; several may write the table.
    """

    time_ms: int
    source_ms: int
    sink: str
    offsets: Offsets


@dataclass(frozen=True)
class CountedLetters(Record, kind="record of the dead letters counted in table"):
    """
    What a table knows of the dead letters of its pipeline.

    Attributes:
        runs: of replays.
        ran_again: times of micro-batches whose records ran again in later ones.
        unknown_ms: nothing is known of micro-batches up to this time; -1 for none.
    """

    runs: tuple[CountedRun, ...] = ()
    ran_again: tuple[Interval, ...] = ()
    unknown_ms: int = -1

    def times_of(self, place: RecordPlace, source_ms: int | None, sink: str, sinks: Collection[str]) -> list[int]:
        """
        The times of the updates in which a sink has counted a record.

        Args:
            place: of the record.
            source_ms: of its micro-batch; None for any, if no other record is ever at this place.
            sink: name of the sink; what a sink counted that is not among `sinks` any more counts for each.
            sinks: names of the sinks of the pipeline.
        """
        topic, partition, offset = place
        found = []
        for run in self.runs if source_ms is None else self._by_source.get(source_ms, ()):
            ranges = run.offsets.get((topic, partition), ())
            at = bisect_right(ranges, (offset, MAX_OFFSET)) - 1
            if at >= 0 and ranges[at][1] > offset and (run.sink == sink or run.sink not in sinks):
                found.append(run.time_ms)
        return found

    def did_run_again(self, source_ms: int) -> bool:
        """Whether the records of a micro-batch ran again in a later one."""
        return is_in(self.ran_again, source_ms)

    def is_unknown(self, source_ms: int) -> bool:
        """Whether it is unknown what became of the dead letters of a micro-batch."""
        return source_ms <= self.unknown_ms

    def cuts(self, place: RecordPlace, end: int) -> Sequence[int]:
        """The offsets above that of a place and below an end at which counted records begin or end, in order."""
        topic, partition, offset = place
        every = self._bounds.get((topic, partition), [])
        return every[bisect_right(every, offset) : bisect_left(every, end)]

    @cached_property
    def _by_source(self) -> Mapping[int, Sequence[CountedRun]]:
        found: dict[int, list[CountedRun]] = {}
        for run in self.runs:
            found.setdefault(run.source_ms, []).append(run)
        return found

    @cached_property
    def _bounds(self) -> Mapping[Partition, Sequence[int]]:
        found: dict[Partition, set[int]] = {}
        for run in self.runs:
            for partition, ranges in run.offsets.items():
                found.setdefault(partition, set()).update(at for each in ranges for at in each)
        return {partition: sorted(bounds) for partition, bounds in found.items()}

    def with_run(self, time_ms: int, source_ms: int, sink: str, ranges: Iterable[tuple[RecordPlace, int]]) -> Self:
        """The same, with records that were counted: ranges from the place of the first one up to an end."""
        offsets: dict[Partition, list[tuple[int, int]]] = {}
        others = []
        for run in self.runs:
            if run[:3] == (time_ms, source_ms, sink):
                offsets = {partition: [*found] for partition, found in run.offsets.items()}
            else:
                others.append(run)
        for (topic, partition, begin), end in ranges:
            offsets.setdefault((topic, partition), []).append((begin, end))
        together = {partition: _joined(found) for partition, found in offsets.items()}
        runs = (*others, CountedRun(time_ms, source_ms, sink, together)) if together else (*others,)
        return replace(self, runs=runs)

    def without_after(self, time_ms: int) -> Self:
        """The same, without what was counted at later times: these updates are removed."""
        return replace(self, runs=tuple(run for run in self.runs if run.time_ms <= time_ms))

    def without(self, time_ms: int | None) -> Self:
        """The same, without what was counted at a time."""
        return replace(self, runs=tuple(run for run in self.runs if run.time_ms != time_ms))

    def with_run_again(self, intervals: Iterable[Interval]) -> Self:
        """The same, with micro-batches whose records ran again."""
        return replace(self, ran_again=tuple(joined([*self.ran_again, *intervals])))

    def unknown_up_to(self, time_ms: int) -> Self:
        """The same, without anything of micro-batches up to a time."""
        if time_ms <= self.unknown_ms:
            return self
        again = (Interval(max(each.first_ms, time_ms + 1), each.last_ms) for each in self.ran_again)
        return replace(
            self,
            runs=tuple(run for run in self.runs if run.source_ms > time_ms),
            ran_again=tuple(each for each in again if each.first_ms <= each.last_ms),
            unknown_ms=time_ms,
        )

    def to_property(self, max_chars: int = MAX_CHARS) -> str | None:
        """The value of the property, with at most so many characters: the oldest is left out. None if it is empty."""
        found = self
        while len(text := found.to_text()) > max_chars:
            # a whole interval: a part of one is not shorter
            oldest = [run.source_ms for run in found.runs] + [each.last_ms for each in found.ran_again]
            found = found.unknown_up_to(min(oldest))
        return None if found == CountedLetters() else text


def counted_letters(store: Store[Any], table: str) -> CountedLetters:
    """
    What a table knows of the dead letters of its pipeline.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable.
    """
    return _known(store.properties(table).get(COUNTED), table)


def change_counted(store: Store[Any], table: str, change: Callable[[CountedLetters], CountedLetters]) -> None:
    """
    Change what a table knows of dead letters; durable when this returns.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable; the caller may repeat the call.
        ConflictError: others change it all the time.
    """
    register = PropertyRegister(calls_of(store), table, COUNTED)
    changed(register, lambda text: change(_known(text, table)).to_property())


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same offsets as disjoint ranges in order."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _known(text: str | None, table: str) -> CountedLetters:
    return CountedLetters() if text is None else CountedLetters.of(text, table)

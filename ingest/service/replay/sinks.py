"""A replay of a time range into some sinks alone."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from ingest.api import ConfigError, NotFoundError, RecordPlace, TopicPartition
from ingest.api.event import MAX_OFFSET
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.components import Components
from ingest.dead_letters.envelope import DeadLetter, dead_letters_of
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.plan.plan import Plan
from ingest.suggest import did_you_mean
from sinks.updates.feature import Updates


def only_sinks(plan: Plan, names: Collection[str] | None) -> Plan:
    """
    The plan with the sinks of these names alone; the plan itself if there are none.

    Raises:
        NotFoundError: the pipeline has no sink of a name.
        ConfigError: some of the sinks write deferred updates, and others do not: these are replayed in another way. Or
            another sink writes updates of the same table: a rollback has removed these too, and the micro-batch could
            not be replayed into it later.
    """
    if not names:
        return plan
    known = [sink.name for sink in plan.sinks]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"its sinks are {', '.join(known)}"
            raise NotFoundError(f'pipeline "{plan.pipeline}" has no sink "{name}"', hint=hint)
    updated = plan.sinks_of(Updates.name) & set(names)
    if updated and updated != set(names):
        raise ConfigError(
            f"only some of these sinks write deferred updates: {', '.join(sorted(updated))}",
            hint="replay these and the others one after the other",
        )
    found = plan.with_sinks(names)
    tables = {sink.settings.fixed_table for sink in found.sinks}
    absent = [sink for sink in plan.sinks if sink.name in plan.sinks_of(Updates.name) - updated]
    together = [sink for sink in absent if updated and sink.settings.fixed_table in tables]
    if together:
        first = together[0]
        raise ConfigError(
            f'sink "{first.name}" writes deferred updates of table "{first.settings.fixed_table}" too, and a rollback '
            "removes those of all its sinks",
            hint="add " + " ".join(f"--sink {sink.name}" for sink in together),
        )
    return found


def sinks_alone(plan: Plan, possible: Plan) -> frozenset[str] | None:
    """The names of the sinks of a plan; None if they are all those of another one, without a choice of sinks."""
    names = frozenset(sink.name for sink in plan.sinks)
    return None if names == {sink.name for sink in possible.sinks} else names


class LettersOfSinks(NamedTuple):
    """
    The dead letters of a micro-batch that ran into some sinks alone.

    Attributes:
        failed: in these sinks.
        copies: of records that failed before the sinks, for each of these; their blobs have other references.
        replaced: those of the run that are not published; none that waits has their references to blobs.
    """

    failed: list[DeadLetter]
    copies: list[DeadLetter]
    replaced: list[DeadLetter]


def letters_of_sinks(
    lines: Sequence[bytes], components: Components, waiting: Callable[[], "WaitingRecords"]
) -> LettersOfSinks:
    """
    The dead letters of a micro-batch that ran into some sinks alone: another replay must not write the others again.

    A record that failed before the sinks has a dead letter of each of these sinks, unless one waits of the first run,
    which no sink has stored. One by place does not replace one with bytes: the topic may delete its records first.

    Args:
        lines: the dead letters of the run.
        components: of the plan with these sinks alone.
        waiting: returns the records of the dead letters of the micro-batch that stay and were not replayed; called if a
            record failed before the sinks.
    """
    found = LettersOfSinks([], [], [])
    waits: WaitingRecords | None = None
    for letter in dead_letters_of(lines):
        if letter.component in components.alone:
            found.failed.append(letter)
            continue
        if waits is None:
            waits = waiting()
        if not waits.has(letter):
            tables = {sink: components.tables.get(sink) for sink in sorted(components.sinks)}
            found.copies.extend(replace(letter, component=sink, table=table) for sink, table in tables.items())
        if not waits.refers_as(letter):
            found.replaced.append(letter)
    return found


class WaitingRecords:
    """The records of dead letters that wait for a replay."""

    def __init__(self, letters: Iterable[DeadLetter]) -> None:
        self._places: set[RecordPlace] = set()
        self._blobs: set[tuple[DeadLetterBlob, bytes]] = set()
        self._ranges: dict[TopicPartition, list[tuple[int, int]]] = {}
        for letter in letters:
            if letter.blob is not None:
                self._blobs.add((letter.blob, letter.blob_reference))
            if letter.by_place is None:
                self._places.add(letter.record.place)
            else:
                topic, partition, begin = letter.record.place
                self._ranges.setdefault((topic, partition), []).append((begin, letter.end_offset))
        for ranges in self._ranges.values():
            ranges.sort()
        self._reach = {part: [*accumulate((end for _, end in ranges), max)] for part, ranges in self._ranges.items()}

    def refers_as(self, letter: DeadLetter) -> bool:
        """Whether one of them has the blob of a dead letter, and its reference."""
        return letter.blob is not None and (letter.blob, letter.blob_reference) in self._blobs

    def has(self, letter: DeadLetter) -> bool:
        """Whether one of them has the record of a dead letter, or all of its records if it is by place."""
        if letter.by_place is None:
            return letter.record.place in self._places
        topic, partition, begin = letter.record.place
        at = bisect_right(self._ranges.get((topic, partition), ()), (begin, MAX_OFFSET))
        return at > 0 and self._reach[topic, partition][at - 1] >= letter.end_offset


class WaitingLetters:
    """
    The dead letters of components before the sinks that wait for a replay, of the micro-batches of a range.

    Args:
        entries: returns the dead letters of the pipeline; called once, at the first call of `at`.
        components: of the plan of the replay.
        times_ms: of its micro-batches.
    """

    def __init__(self, entries: Callable[[], Iterable[Entry]], components: Components, times_ms: Iterable[int]) -> None:
        self._entries = entries
        self._before = components.decorators | {"source"}
        self._times_ms = frozenset(times_ms)

    def at(self, time_ms: int) -> WaitingRecords:
        """The records of those of the micro-batch of a time, or of the one of which it is a part."""
        found = self._by_time
        return WaitingRecords([*found.get(time_ms, ()), *found.get(time_ms + BEFORE_BATCH_MS, ())])

    @cached_property
    def _by_time(self) -> Mapping[int, Sequence[DeadLetter]]:
        found: dict[int, list[DeadLetter]] = {}
        for entry in self._entries():
            letter = entry.dead_letter
            is_wanted = not {letter.batch_time_ms, letter.batch_time_ms - BEFORE_BATCH_MS}.isdisjoint(self._times_ms)
            # one that was replayed says nothing of a table that was dropped since
            if is_wanted and letter.component in self._before and not entry.is_replayed:
                found.setdefault(letter.batch_time_ms, []).append(_without_content(letter))
        return found


def _without_content(letter: DeadLetter) -> DeadLetter:
    """What is asked about a dead letter: those of a whole range are in memory."""
    return replace(letter, record=letter.record._replace(key=None, value=None, headers=()), attributes={}, message="")

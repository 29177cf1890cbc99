"""
The batch times that rollbacks have rolled back from a table: a property of the table.

A replay of another micro-batch into the table would count its events twice. The property is replaced with
compare-and-set, so a rollback and a replay may change it at the same time.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.api import Store
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.record import Record
from ingest.durable.register import changed

ROLLED_BACK = "rolled_back"
"""Name of the property."""


class Interval(NamedTuple):
    """Batch times, both inclusive, in ms since the epoch."""

    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class RolledBack(Record, kind="record of the batch times that were rolled back from table"):
    """
    The value of the property.

    Attributes:
        intervals: disjoint and in order.
    """

    intervals: tuple[Interval, ...]


def rolled_back(store: Store[Any], table: str) -> tuple[Interval, ...]:
    """
    The batch times whose updates were rolled back from a table and were not replayed since; disjoint and in order.

    A micro-batch of one of these times has no update in the table, also none in a merged row.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable.
    """
    return _intervals(store.properties(table).get(ROLLED_BACK), table)


def is_in(intervals: Iterable[Interval], time_ms: int) -> bool:
    """Whether a batch time is in one of the intervals."""
    return any(each.first_ms <= time_ms <= each.last_ms for each in intervals)


def add_rolled_back(store: Store[Any], table: str, intervals: Iterable[Interval]) -> None:
    """
    Record that the updates of these batch times were rolled back; durable when this returns.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable; the caller may repeat the call.
    """
    added = [*intervals]
    _change(store, table, added=added)


def remove_rolled_back(store: Store[Any], table: str, times_ms: Iterable[int]) -> None:
    """
    Record that the micro-batches of these times were replayed, so a second replay is refused; durable when this
    returns.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable; the caller may repeat the call.
    """
    _change(store, table, removed=[Interval(time_ms, time_ms) for time_ms in times_ms])


def without(intervals: Iterable[Interval], removed: Iterable[Interval]) -> list[Interval]:
    """The batch times of intervals that are in none of the removed ones; disjoint and in order."""
    found: list[Interval] = []
    cuts = joined(removed)
    for first_ms, last_ms in joined(intervals):
        start_ms = first_ms
        for cut in cuts:
            if cut.last_ms < start_ms or cut.first_ms > last_ms:
                continue
            if cut.first_ms > start_ms:
                found.append(Interval(start_ms, cut.first_ms - 1))
            start_ms = cut.last_ms + 1
        if start_ms <= last_ms:
            found.append(Interval(start_ms, last_ms))
    return found


@dataclass(slots=True)
class Spans:
    """
    Disjoint intervals: those that overlap become one, those that only touch do not.

    Attributes:
        found: in order.
    """

    found: list[Interval] = field(default_factory=list)

    def add(self, interval: Interval) -> None:
        """Add an interval."""
        first = bisect_left(self.found, interval.first_ms, key=lambda each: each.last_ms)
        last = bisect_right(self.found, interval.last_ms, key=lambda each: each.first_ms)
        overlapped = self.found[first:last]
        if overlapped:
            interval = Interval(
                min(interval.first_ms, overlapped[0].first_ms), max(interval.last_ms, overlapped[-1].last_ms)
            )
        self.found[first:last] = [interval]


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """The same batch times as disjoint intervals in order."""
    found: list[Interval] = []
    for each in sorted(intervals):
        if found and each.first_ms <= found[-1].last_ms + 1:
            found[-1] = Interval(found[-1].first_ms, max(found[-1].last_ms, each.last_ms))
        else:
            found.append(each)
    return found


def _change(store: Store[Any], table: str, *, added: Sequence[Interval] = (), removed: Sequence[Interval] = ()) -> None:
    def change(text: str | None) -> str | None:
        intervals = without([*_intervals(text, table), *added], removed)
        return RolledBack(tuple(intervals)).to_text() if intervals else None

    changed(PropertyRegister(calls_of(store), table, ROLLED_BACK), change)


def _intervals(text: str | None, table: str) -> tuple[Interval, ...]:
    return () if text is None else RolledBack.of(text, table).intervals

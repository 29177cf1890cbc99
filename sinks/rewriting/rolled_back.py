"""
The batch times that rollbacks have rolled back from a table: a property of the table.

A replay of another micro-batch into the table would count its events twice. The property is replaced with
compare-and-set, so a rollback and a replay may change it at the same time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.api import Store
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.record import Record
from ingest.durable.register import changed
from sinks.updates.intervals import Interval, without

ROLLED_BACK = "rolled_back"
"""Name of the property."""


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


def _change(store: Store[Any], table: str, *, added: Sequence[Interval] = (), removed: Sequence[Interval] = ()) -> None:
    def change(text: str | None) -> str | None:
        intervals = without([*_intervals(text, table), *added], removed)
        return RolledBack(tuple(intervals)).to_text() if intervals else None

    changed(PropertyRegister(calls_of(store), table, ROLLED_BACK), change)


def _intervals(text: str | None, table: str) -> tuple[Interval, ...]:
    return () if text is None else RolledBack.of(text, table).intervals

"""
A rollback that has begun to delete, as a property of the table until it has ended: which updates it takes back.

A compaction in between would merge what is left of them with other updates, and a merged row cannot be divided. So the
rollback would keep them where rows were merged, and lack them elsewhere.
"""

from dataclasses import dataclass
from typing import Any

from ingest.api import ConflictError, Store
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.record import Record
from ingest.durable.register import changed
from ingest.formats.times import moment
from sinks.updates.intervals import Interval

ROLLING_BACK = "rolling_back"
"""Name of the property."""


class RollbackUnfinishedError(ConflictError):
    """A rollback of the table was interrupted after it had begun to delete; a compaction, or another one, waits."""

    code = "rollback_unfinished"
    remedy = "Run the interrupted rollback again; the message has its interval."

    def __init__(self, table: str, asked: Interval) -> None:
        interval = f"--from {moment(asked.first_ms)} --to {moment(asked.last_ms)}"
        super().__init__(
            f'a rollback of table "{table}" was interrupted, and some of its updates are deleted',
            hint=f"finish it: attr2hbase rollback {table} {interval}",
        )


@dataclass(frozen=True, slots=True)
class UnfinishedRollback(Record, kind="record of the unfinished rollback of table"):
    """
    The value of the property.

    Attributes:
        asked: batch times of the rollback.
        intervals: those of them whose updates it deletes, disjoint and in order.
    """

    asked: Interval
    intervals: tuple[Interval, ...]


def unfinished_rollback(store: Store[Any], table: str) -> UnfinishedRollback | None:
    """
    The rollback of a table that has begun to delete and has not ended.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable.
    """
    text = store.properties(table).get(ROLLING_BACK)
    return None if text is None else UnfinishedRollback.of(text, table)


def refuse_unfinished(store: Store[Any], table: str) -> None:
    """
    Refuse to merge rows while a rollback has not ended.

    Raises:
        RollbackUnfinishedError: one has begun to delete.
        IntegrityError: as `unfinished_rollback`.
        StoreError: as `unfinished_rollback`.
    """
    found = unfinished_rollback(store, table)
    if found is not None:
        raise RollbackUnfinishedError(table, found.asked)


def note_rollback(store: Store[Any], table: str, rollback: UnfinishedRollback | None) -> None:
    """
    Note that a rollback begins to delete, or that none is unfinished any more; durable when this returns.

    Raises:
        StoreError: the store is unavailable; the caller may repeat the call.
    """
    text = None if rollback is None else rollback.to_text()
    changed(PropertyRegister(calls_of(store), table, ROLLING_BACK), lambda _before: text)

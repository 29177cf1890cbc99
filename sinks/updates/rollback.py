"""
The rollback of the updates of an interval, for one logical row.

A merged row cannot be divided, so one that covers update ids outside of the interval stays, and with it all updates of
the micro-batches of which it has some: a replay runs a micro-batch as a whole. The window of a compaction is the
shortest interval that can be rolled back without such rows.

Source: HBaseHUT's RollbackUpdatesMrJob.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sinks.updates.groups import UpdateRow, with_orphans
from sinks.updates.keys import UpdateKey
from sinks.updates.withdrawn import NOTHING, Withdrawn


class Rollback(NamedTuple):
    """
    A rollback of one logical row.

    Attributes:
        deletes: the rows to delete, orphaned ones first.
        straddling: rows with updates of the interval that stay.
        orphaned: number of orphaned ones among the rows to delete; the others are deleted once these are.
    """

    deletes: tuple[UpdateKey, ...]
    straddling: tuple[UpdateKey, ...]
    orphaned: int = 0


def rollback_of(
    keys: Iterable[UpdateKey],
    first: int,
    last: int,
    taken: Sequence[tuple[int, int]],
    withdrawn: Withdrawn = NOTHING,
) -> Rollback:
    """
    The rollback of the updates from one id to another.

    Orphaned updates are deleted first: if a deletion is interrupted, no row that a merged one covered counts again.

    Args:
        keys: of the update rows of one logical row, in order.
        first: first update id of the interval.
        last: last update id of the interval.
        taken: first and last update ids of the parts of the interval whose rows are deleted.
        withdrawn: of the table.
    """
    deletes: dict[bool, list[UpdateKey]] = {True: [], False: []}
    straddling: list[UpdateKey] = []
    for (key, _), is_orphaned in with_orphans((UpdateRow(key, {}) for key in keys), withdrawn):
        if any(begin <= key.start and key.last <= end for begin, end in taken):
            deletes[is_orphaned].append(key)
        elif not is_orphaned and key.start <= last and first <= key.last:
            straddling.append(key)
    return Rollback((*deletes[True], *deletes[False]), tuple(straddling), len(deletes[True]))

"""The updates of micro-batches that are not complete: removed before their events are counted again."""

from collections.abc import Iterable, Sequence
from typing import Any

from ingest.api import ConflictError, Mutation, Store, TimeRange
from ingest.api.driver_feature import StartAfter
from sinks.rewriting.leased_writes import CALL_ROWS, delete_of
from sinks.rewriting.withdrawn_times import withdraw_times
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.intervals import Interval
from sinks.updates.keys import UpdateKey, time_of


def apply_to_updates(store: Store[Any], table: str, row_format: RowFormat, mutations: Iterable[Mutation]) -> None:
    """
    Apply mutations of update rows, up to 1,000 in a call; all are durable when this returns.

    Args:
        store: open for writing.
        table: its name.
        row_format: of the table.
        mutations: their row keys are without a bucket.
    """
    physical_key = row_format.physical_key()

    def apply(found: list[Mutation]) -> None:
        store.apply(table, found if physical_key is None else with_physical_keys(found, physical_key))

    pending: list[Mutation] = []
    for mutation in mutations:
        pending.append(mutation)
        if len(pending) == CALL_ROWS:
            apply(pending)
            pending = []
    if pending:
        apply(pending)


def remove_updates(store: Store[Any], table: str, first_ms: int, last_ms: int) -> None:
    """
    Delete the updates of micro-batches; afterwards their events can be counted again, at later times.

    The batch times are withdrawn first (`sinks.updates.withdrawn`), so updates that a delayed call writes do not count.
    Killed at any point, it can run again.

    Args:
        store: open for writing.
        table: its name; it may not exist.
        first_ms: the first batch time.
        last_ms: the last batch time.

    Raises:
        ConflictError: a merged row has updates of other micro-batches too; nothing is withdrawn.
        IntegrityError: a row is no update row, or the record of the table cannot be read.
        StoreError: the store is unavailable.
    """
    if store.families(table) is None:
        return
    row_format = RowFormat.recorded(store, table)
    keys = _keys(store, table, row_format, TimeRange(first_ms, last_ms + 1))
    _remove(store, table, row_format, keys, Interval(first_ms, last_ms))


def remove_updates_after(store: Store[Any], table: str, committed_ms: int, start_after: StartAfter) -> None:
    """
    The same for the updates of all micro-batches after a time.

    Args:
        store: open for writing.
        table: its name; it may not exist.
        committed_ms: the time.
        start_after: called with the newest batch time of an update, before any is deleted; 0 without updates.

    Raises: as `remove_updates`.
    """
    if store.families(table) is None:
        return
    row_format = RowFormat.recorded(store, table)
    keys = _keys(store, table, row_format, TimeRange(committed_ms + 1))
    last_ms = start_after(max((time_of(key.last) for key in keys), default=0))
    _remove(store, table, row_format, keys, Interval(committed_ms + 1, last_ms))


def _keys(store: Store[Any], table: str, row_format: RowFormat, times: TimeRange) -> list[UpdateKey]:
    # cells have the time of the last update id of their row, and HBase skips files without cells of that time
    keys = [row.key for row in update_rows(store, table, row_format, times=times)]
    if any(time_of(key.start) < times.from_ms for key in keys):
        raise ConflictError(
            f'table "{table}" has updates of a micro-batch that is not complete in merged rows, so they cannot be '
            "rolled back",
            hint="restore the checkpoint and the configuration of its pipeline, and let the micro-batch end",
        )
    return keys


def _remove(
    store: Store[Any], table: str, row_format: RowFormat, keys: Sequence[UpdateKey], interval: Interval
) -> None:
    if interval.first_ms <= interval.last_ms:
        withdraw_times(store, table, interval)
    apply_to_updates(store, table, row_format, map(delete_of, keys))

"""The updates of micro-batches that are not complete: removed before their events are counted again."""

from collections.abc import Callable, Iterable
from typing import Any

from ingest.api import ConflictError, Mutation, Store, TimeRange
from sinks.rewriting.leased_writes import CALL_ROWS, delete_of
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.keys import time_of


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


def remove_updates(
    store: Store[Any],
    table: str,
    first_ms: int,
    last_ms: int | None = None,
    *,
    on_found: Callable[[int], None] = lambda _newest_ms: None,
) -> None:
    """
    Delete the updates of micro-batches; afterwards their events can be counted again.

    Killed at any point, it can run again. The deletes have the times of the rows, so they also hide a row that a
    delayed call writes again, in HBase until the next major compaction. They do not hide a row that was not there yet:
    no process of the former run may write any more.

    Args:
        store: open for writing.
        table: its name; it may not exist.
        first_ms: the first batch time.
        last_ms: the last batch time; None for all that follow.
        on_found: called with the newest batch time of an update, before any is deleted: what is written at this time
            again would be hidden.

    Raises:
        ConflictError: a merged row has updates of other micro-batches too; nothing is deleted.
        IntegrityError: a row is no update row.
    """
    if store.families(table) is None:
        return
    row_format = RowFormat.recorded(store, table)
    # cells have the time of the last update id of their row, and HBase skips files without cells of that time
    times = TimeRange(first_ms) if last_ms is None else TimeRange(first_ms, last_ms + 1)
    keys = [row.key for row in update_rows(store, table, row_format, times=times)]
    if any(time_of(key.start) < first_ms for key in keys):
        raise ConflictError(
            f'table "{table}" has updates of a micro-batch that is not complete in merged rows, so they cannot be '
            "rolled back",
            hint="restore the checkpoint and the configuration of its pipeline, and let the micro-batch end",
        )
    if keys:
        on_found(max(time_of(key.last) for key in keys))
    apply_to_updates(store, table, row_format, map(delete_of, keys))

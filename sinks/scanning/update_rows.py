"""Update rows of a table, as stored: scans and deletes by their keys, with and without buckets."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

from ingest.api import ALL_TIMES, ConflictError, Delete, Mutation, Scan, Store, TimeRange
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_stored_keys
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import update_row
from sinks.scanning.stored_keys import scan_stored
from sinks.updates.groups import UpdateRow
from sinks.updates.keys import UpdateKey, time_of

_DELETES = 1_000  # of one call


def update_rows(
    store: Store[Any],
    table: str,
    row_format: RowFormat,
    start: bytes = b"",
    stop: bytes | None = None,
    times: TimeRange = ALL_TIMES,
) -> Iterator[UpdateRow]:
    """
    The update rows of a range, one bucket after the other, in the order of their keys.

    Whoever iterates must exhaust or close it.

    Args:
        store: open, for reading or writing.
        table: its name.
        row_format: of the table.
        start: first key of update rows, inclusive, without a bucket.
        stop: end of the range, exclusive; None for the end of the table.
        times: of the cells.

    Raises:
        NotFoundError: there is no such table.
        IntegrityError: a row is no update row.
    """
    distribution = Distribution.of(row_format.buckets)
    ranges = [(start, stop)] if distribution is None else distribution.intervals(start, stop)
    for first, end in ranges:
        with closing(scan_stored(store, table, Scan(start=first, stop=end, times=times), distribution)) as found:
            for row in found:
                yield update_row(table, row)


def delete_of(key: UpdateKey) -> Delete:
    """The delete of an update row, whose cells have the batch time of its last start."""
    return Delete(key.encoded(), time_of(key.last))


def apply_to_updates(store: Store[Any], table: str, row_format: RowFormat, mutations: Iterable[Mutation]) -> None:
    """
    Apply mutations of update rows, up to 1,000 in a call; all are durable when this returns.

    Args:
        store: open for writing.
        table: its name.
        row_format: of the table.
        mutations: their row keys are without a bucket.
    """
    stored_key = row_format.stored_key()

    def apply(found: list[Mutation]) -> None:
        store.apply(table, found if stored_key is None else with_stored_keys(found, stored_key))

    pending: list[Mutation] = []
    for mutation in mutations:
        pending.append(mutation)
        if len(pending) == _DELETES:
            apply(pending)
            pending = []
    if pending:
        apply(pending)


def roll_back(store: Store[Any], table: str, first_ms: int, last_ms: int | None = None) -> None:
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

    Raises:
        ConflictError: a merged row has updates of other micro-batches too; nothing is deleted.
        IntegrityError: a row is no update row.
    """
    if store.families(table) is None:
        return
    row_format = RowFormat.recorded(store, table)
    # cells have the time of the last start of their row, and HBase skips files without cells of that time
    times = TimeRange(first_ms) if last_ms is None else TimeRange(first_ms, last_ms + 1)
    keys = [row.key for row in update_rows(store, table, row_format, times=times)]
    if any(time_of(key.start) < first_ms for key in keys):
        raise ConflictError(
            f'table "{table}" has updates of a micro-batch that is not complete in merged rows, so they cannot be '
            "rolled back",
            hint="restore the checkpoint and the configuration of its pipeline, and let the micro-batch end",
        )
    apply_to_updates(store, table, row_format, map(delete_of, keys))

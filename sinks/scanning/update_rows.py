"""The update rows of a table, as stored, with and without buckets."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from ingest.api import ALL_TIMES, Scan, Store, TimeRange
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import update_row
from sinks.scanning.physical_keys import scan_physical
from sinks.updates.groups import UpdateRow


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
        with closing(scan_physical(store, table, Scan(start=first, stop=end, times=times), distribution)) as found:
            for row in found:
                yield update_row(table, row)

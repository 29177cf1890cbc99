"""
The rollback of a table: deletes the updates of an interval of batch times, as `sinks.updates.rollback` plans it.

A micro-batch is taken back from all rows or from none. So a first pass, which deletes nothing, finds the batch times
that merged rows join to others outside of the interval; these stay.

Orphaned updates are deleted first, and durably: if a rollback is interrupted, no row that a merged one covered counts
again. Killed at any point, it can run again. The batch times rolled back are recorded once all deletes are durable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest import failpoint
from ingest.api import MAX_TIME_MS, Store, TimeRange
from ingest.api.notation import shown
from ingest.formats.times import moment
from sinks.rewriting.compaction import SHOWN_ROWS
from sinks.rewriting.leased_writes import CALL_ROWS, LeasedWrites
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_ranges import rows_in_pages
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.groups import by_row
from sinks.updates.intervals import Interval, Spans, without
from sinks.updates.keys import UpdateKey, last_update_id_of, time_of, update_id_of
from sinks.updates.rollback import Rollback, rollback_of
from sinks.updates.withdrawn import NOTHING, Withdrawn


@dataclass(slots=True)
class RollbackCounts:
    """
    What a rollback has done, or would do.

    Attributes:
        logical_rows: those with updates that were deleted.
        deleted: update rows that were deleted, with orphaned ones.
        straddling: rows with updates of the interval that stay.
        examples: of those, up to 20, as text.
        spans: batch times that merged rows with updates of the interval join.
    """

    logical_rows: int = 0
    deleted: int = 0
    straddling: int = 0
    examples: list[str] = field(default_factory=list)
    spans: Spans = field(default_factory=Spans)

    def taken_back(self, interval: Interval) -> list[Interval]:
        """The batch times of the interval that no merged row joins to others outside of it."""
        return without([interval], [each for each in self.spans.found if not _is_within(each, interval)])

    def add(self, found: Rollback) -> None:
        """Count the rollback of a logical row."""
        self.logical_rows += bool(found.deletes)
        self.deleted += len(found.deletes)
        self.straddling += len(found.straddling)
        for key in (*found.deletes[found.orphaned :], *found.straddling):
            if (first := time_of(key.start)) != (last := time_of(key.last)):
                self.spans.add(Interval(first, last))
        for key in found.straddling[: SHOWN_ROWS - len(self.examples)]:
            times = f"from {moment(time_of(key.start))} to {moment(time_of(key.last))}"
            self.examples.append(f"row {shown(key.row)}: updates {times}")


class RangeRollback:
    """
    Rolls ranges of a table back, in one thread.

    Args:
        calls: of the store.
        table: its name.
        row_format: of the table.
        interval: batch times to be rolled back.
        taken: the parts of it whose updates are deleted.
        withdrawn: of the table.
        is_dry_run: count what would be deleted; write nothing.
        check: called with the store before each write; raises if this process may not write any more.

    Attributes:
        counts: of all ranges.
    """

    def __init__(  # noqa: PLR0913 - each used once
        self,
        calls: StoreCalls,
        table: str,
        row_format: RowFormat,
        interval: Interval,
        *,
        taken: Sequence[Interval],
        withdrawn: Withdrawn = NOTHING,
        is_dry_run: bool = False,
        check: Callable[[Store[Any]], None] = lambda _store: None,
    ) -> None:
        self._calls = calls
        self._table = table
        self._first_ms = max(0, interval.first_ms)  # no cell is older
        self._ids = update_id_of(self._first_ms, 0), last_update_id_of(interval.last_ms)
        self._taken = [(update_id_of(max(0, first), 0), last_update_id_of(last)) for first, last in taken]
        self._withdrawn = withdrawn
        self._is_dry_run = is_dry_run
        self._writes = LeasedWrites(calls, table, row_format, check)
        self._distribution = Distribution.of(row_format.buckets)
        self._orphaned: list[UpdateKey] = []
        self._others: list[UpdateKey] = []
        self._after_deletes = failpoint.point("rollback_deleted")
        self.counts = RollbackCounts()

    def run(self, keys: Range, check_running: Callable[[], None] = lambda: None) -> None:
        """
        Roll a range back.

        Args:
            keys: of physical row keys, as `whole_row_ranges` returns it.
            check_running: called before each logical row; raises to end it.

        Raises:
            IntegrityError: a row is no update row.
            StoreError: the store is unavailable; the range can be rolled back again.
        """
        # a row that ends before the interval matters to no other one: what covers a row does not end before it
        times = TimeRange(self._first_ms, MAX_TIME_MS + 1)
        rows = rows_in_pages(self._calls, self._table, keys, self._distribution, times)
        for _, group in by_row(rows):
            check_running()
            found = rollback_of((row.key for row in group), *self._ids, self._taken, self._withdrawn)
            self.counts.add(found)
            self._orphaned += found.deletes[: found.orphaned]
            self._others += found.deletes[found.orphaned :]
            if len(self._orphaned) + len(self._others) >= CALL_ROWS:
                self._carry_out()
        self._carry_out()

    def _carry_out(self) -> None:
        for keys in (self._orphaned, self._others):
            if not self._is_dry_run:
                self._writes.remove(keys, self._after_deletes)
            keys.clear()


def _is_within(interval: Interval, other: Interval) -> bool:
    return other.first_ms <= interval.first_ms and interval.last_ms <= other.last_ms

"""
The rollback of a table: deletes the updates of an interval of batch times, as `sinks.updates.rollback` plans it.

Orphaned updates are deleted first, and durably: if a rollback is interrupted, no row that a merged one covered counts
again. Killed at any point, it can run again. The batch times rolled back are recorded once all deletes are durable.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ingest import failpoint
from ingest.api import MAX_TIME_MS, Store, TimeRange
from ingest.api.notation import shown
from ingest.formats.times import moment
from sinks.rewriting.compaction import SHOWN_ROWS
from sinks.rewriting.leased_writes import CALL_ROWS, LeasedWrites
from sinks.rewriting.rolled_back import Interval, joined, without
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_ranges import rows_in_pages
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.groups import by_row
from sinks.updates.keys import UpdateKey, last_update_id_of, time_of, update_id_of
from sinks.updates.rollback import rollback_of


@dataclass(slots=True)
class RollbackCounts:
    """
    What a rollback has done, or would do.

    Attributes:
        logical_rows: those with updates that were deleted.
        deleted: update rows that were deleted, with orphaned ones.
        straddling: merged rows with updates both inside and outside of the interval, which stay.
        examples: of those, up to 20, as text.
        straddling_times: batch times of the rows that stay; disjoint.
    """

    logical_rows: int = 0
    deleted: int = 0
    straddling: int = 0
    examples: list[str] = field(default_factory=list)
    straddling_times: list[Interval] = field(default_factory=list)

    def rolled_back(self, interval: Interval) -> list[Interval]:
        """The batch times of the interval of which no update is left."""
        return without([interval], self.straddling_times)

    def add_straddling(self, keys: Iterable[UpdateKey]) -> None:
        """Count merged rows that stay."""
        for key in keys:
            self.straddling += 1
            interval = Interval(time_of(key.start), time_of(key.last))
            self.straddling_times = joined([*self.straddling_times, interval])
            if len(self.examples) < SHOWN_ROWS:
                first, last = moment(interval.first_ms), moment(interval.last_ms)
                self.examples.append(f"row {shown(key.row)}: merged updates from {first} to {last}")


class RangeRollback:
    """
    Rolls ranges of a table back, in one thread.

    Args:
        calls: of the store.
        table: its name.
        row_format: of the table.
        interval: batch times whose updates are deleted.
        is_dry_run: count what would be deleted; write nothing.
        check: called with the store before each write; raises if this process may not write any more.

    Attributes:
        counts: of all ranges.
    """

    def __init__(
        self,
        calls: StoreCalls,
        table: str,
        row_format: RowFormat,
        interval: Interval,
        *,
        is_dry_run: bool = False,
        check: Callable[[Store[Any]], None] = lambda _store: None,
    ) -> None:
        self._calls = calls
        self._table = table
        self._interval = interval
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
        first_ms = max(0, self._interval.first_ms)  # no cell is older
        first, last = update_id_of(first_ms, 0), last_update_id_of(self._interval.last_ms)
        # a row that ends before the interval matters to no other one: what covers a row does not end before it
        times = TimeRange(first_ms, MAX_TIME_MS + 1)
        rows = rows_in_pages(self._calls, self._table, keys, self._distribution, times)
        for _, group in by_row(rows):
            check_running()
            found = rollback_of((row.key for row in group), first, last)
            self.counts.logical_rows += bool(found.deletes)
            self.counts.deleted += len(found.deletes)
            self.counts.add_straddling(found.straddling)
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

"""
The compaction of a table: carries out what `sinks.updates.compaction` plans for each logical row.

Merged rows are durable, with the write-ahead log, before anything that they cover is deleted. It can be killed at any
point and run again, and it can run range by range, in any number of processes that have divided the table among them.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from ingest import failpoint
from ingest.api import Disposition, IngestError, Put, Store, WriteRejectedError
from ingest.api.notation import shown
from sinks.rewriting.leased_writes import CALL_ROWS, LeasedWrites
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck
from sinks.rewriting.table_ranges import rows_in_pages
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.compaction import CompactionPart, CompactionRules, compaction_of
from sinks.updates.groups import UpdateRow, by_row
from sinks.updates.keys import UpdateKey, encoded_row, last_update_id_of, rows_of, time_of
from sinks.updates.merging import Merging

CALL_BYTES = 1 << 20
"""Merged rows of one call, but for the last: with that less than the maximum message of a framed Thrift server."""
SLICE_S = 20.0
"""How long a slice takes; a lease is renewed after each."""
SHOWN_ROWS = 20
"""Rows that could not be merged, in a report."""
_EXACT = 100
"""Numbers of update rows up to this one are counted exactly, larger ones with two digits."""


@dataclass(slots=True)
class CompactionCounts:
    """
    What a compaction has done, or would do.

    Attributes:
        logical_rows: those that were read.
        update_rows: update rows that were read.
        written: merged rows that were written.
        replaced: update rows that were deleted, because a merged row covers them.
        unmerged: windows of rows that could not be merged.
        examples: of those, up to 20: the row, the columns and the reason as text.
        by_update_rows: number of update rows -> number of logical rows that had so many; two digits above 100.
    """

    logical_rows: int = 0
    update_rows: int = 0
    written: int = 0
    replaced: int = 0
    unmerged: int = 0
    examples: list[str] = field(default_factory=list)
    by_update_rows: Counter[int] = field(default_factory=Counter)

    def add_logical_row(self, update_rows: int) -> None:
        """Count a logical row."""
        self.logical_rows += 1
        self.update_rows += update_rows
        self.by_update_rows[_rounded(update_rows)] += 1

    def add(self, other: "CompactionCounts") -> None:
        """Add the counts of another range."""
        self.logical_rows += other.logical_rows
        self.update_rows += other.update_rows
        self.written += other.written
        self.replaced += other.replaced
        self.unmerged += other.unmerged
        self.examples = (self.examples + other.examples)[:SHOWN_ROWS]
        self.by_update_rows.update(other.by_update_rows)

    def rows_per_key(self, quantile: float) -> int:
        """A quantile of the number of update rows of a logical row before the compaction; 0 without rows."""
        wanted, passed = quantile * self.logical_rows, 0
        for rows, number in sorted(self.by_update_rows.items()):
            passed += number
            if passed >= wanted:
                return rows
        return 0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as `from_json` reads it."""
        return {
            "logical_rows": self.logical_rows,
            "update_rows": self.update_rows,
            "written": self.written,
            "replaced": self.replaced,
            "unmerged": self.unmerged,
            "examples": self.examples,
            "rows_per_key": {"p50": self.rows_per_key(0.5), "p99": self.rows_per_key(0.99)},
            "by_update_rows": {str(rows): number for rows, number in sorted(self.by_update_rows.items())},
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The counts of what `to_json` returned."""
        others = {name: value for name, value in content.items() if name not in ("rows_per_key", "by_update_rows")}
        by_update_rows = {int(rows): number for rows, number in content["by_update_rows"].items()}
        return cls(**others, by_update_rows=Counter(by_update_rows))


@dataclass(frozen=True, slots=True)
class CompactionTarget:
    """
    The table of a compaction.

    Attributes:
        row_format: of the table.
        rules: which update rows are merged.
        is_dry_run: count what would be done; write nothing.
    """

    table: str
    row_format: RowFormat
    rules: CompactionRules
    is_dry_run: bool = False


def bound_of(committed_ms: int, older_than_ms: int) -> int:
    """
    The bound of a compaction: the update id after those up to a committed position, less a duration.

    What is above the committed position belongs to a micro-batch that may run again.
    """
    return last_update_id_of(max(0, committed_ms - older_than_ms)) + 1


class RangeCompaction:
    """
    Compacts ranges of a table, in one thread; memory is bounded by `CompactionRules` and one call to the store.

    Args:
        calls: of the store.
        target: the table.
        merging: of the table.
        check: called with the store before each write; raises if this process may not write any more.

    Attributes:
        counts: of all ranges.
        reached: where the range that was compacted last is read again after an error: all before is carried out.
    """

    def __init__(
        self,
        calls: StoreCalls,
        target: CompactionTarget,
        merging: Merging,
        *,
        check: Callable[[Store[Any]], None] = lambda _store: None,
    ) -> None:
        self._calls = calls
        self._target = target
        self._merging = merging
        self._writes = LeasedWrites(calls, target.table, target.row_format, check)
        self._distribution = Distribution.of(target.row_format.buckets)
        self._parts: list[CompactionPart] = []
        self._read: list[int] = []  # of logical rows: numbers of update rows, until their parts are carried out
        self._place = b""
        self._mutations = self._bytes = 0
        self._after_writes = failpoint.point("merged_rows_written")
        self._after_deletes = failpoint.point("covered_rows_deleted")
        self.counts = CompactionCounts()
        self.reached = b""

    def run(self, keys: Range, has_time: Callable[[], bool] = lambda: True) -> Range | None:
        """
        Compact a range, or a part of it.

        Args:
            keys: of physical row keys, as `whole_row_ranges` returns it.
            has_time: asked after each call to the store and each logical row.

        Returns:
            What remains of the range; None if all of it is compacted. A row that is not complete is read again.

        Raises:
            IntegrityError: a row is no update row.
            StoreError: the store is unavailable; the range can be compacted again, from `reached` on.
        """
        self.reached = keys[0]
        self._parts.clear()
        self._read.clear()
        self._mutations = self._bytes = 0
        bucket = b"" if self._distribution is None else keys[0][:1]
        rows = rows_in_pages(self._calls, self._target.table, keys, self._distribution)
        for row, group in by_row(rows):
            update_rows, removed = Counter[None](), 0
            self._place = bucket + encoded_row(row)
            for part in compaction_of(_counted(group, update_rows), self._merging, self._target.rules):
                removed += len(part.deletes) - (part.write is not None)
                if self._add(part) and not has_time():
                    # what was replaced is not read again, so each call comes further
                    self.counts.update_rows += removed
                    return self._place, keys[1]
            self._read.append(update_rows.total())
            self._place = bucket + rows_of(row)[1]
            if not has_time():
                self._carry_out()
                return self._place, keys[1]
        self._carry_out()
        return None

    def _add(self, part: CompactionPart) -> bool:
        """Add a part to the next calls; returns whether they were carried out and have replaced rows."""
        if part.unmerged is not None:
            self.counts.unmerged += 1
            row = shown(part.unmerged.row)
            reasons = [f"row {row}, {shown(each.column)}: {each.reason}" for each in part.unmerged.columns]
            self.counts.examples = [*self.counts.examples, *reasons][:SHOWN_ROWS]
            return False
        self._parts.append(part)
        self._mutations += len(part.deletes) + (part.write is not None)
        self._bytes += 0 if part.write is None else _size(part.write)
        if self._mutations < CALL_ROWS and self._bytes < CALL_BYTES:
            return False
        return self._carry_out() and not self._target.is_dry_run

    def _carry_out(self) -> bool:
        """Write the merged rows of all parts; once they are durable, delete what they cover. Whether there was any."""
        parts, self._parts = self._parts, []
        self._mutations = self._bytes = 0
        if parts and not self._target.is_dry_run:
            parts = self._written(parts)
            self._after_writes()
            self._writes.remove([key for part in parts for key in part.deletes])
            self._after_deletes()
        self.counts.written += sum(part.write is not None for part in parts)
        self.counts.replaced += sum(len(part.deletes) for part in parts)
        for update_rows in self._read:
            self.counts.add_logical_row(update_rows)
        self._read.clear()
        self.reached = self._place
        return bool(parts)

    def _written(self, parts: Sequence[CompactionPart]) -> list[CompactionPart]:
        """Write the merged rows; returns the parts without those whose row the store rejects."""
        puts = {index: _put(part.write) for index, part in enumerate(parts) if part.write is not None}
        try:
            self._writes.put([*puts.values()])
        except WriteRejectedError:
            rejected = {index for index, put in puts.items() if not self._accepts(put)}
            return [part for index, part in enumerate(parts) if index not in rejected]
        return [*parts]

    def _accepts(self, put: Put) -> bool:
        """Write one merged row; whether the store has accepted it. If not, the rows that it covers remain."""
        try:
            self._writes.put([put])
        except WriteRejectedError as error:
            row = UpdateKey.decoded(put.row).row
            self.counts.unmerged += 1
            self.counts.examples = [*self.counts.examples, f"row {shown(row)}: {error.message}"][:SHOWN_ROWS]
            return False
        return True


class Timer:
    """Whether a slice, which starts now, has time left."""

    def __init__(self, seconds: float = SLICE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deadline = clock() + seconds

    def __call__(self) -> bool:
        """Whether time is left."""
        return self._clock() < self._deadline


class CompactionSlice(NamedTuple):
    """
    The result of a slice of a compaction.

    Attributes:
        counts: what was done.
        remaining: the ranges, or the rest of them, that are not compacted yet.
        error: why some are not, if the store is unavailable; None if there was no time left.
    """

    counts: CompactionCounts
    remaining: Sequence[Range]
    error: IngestError | None = None


class InProcess:
    """
    Compacts in this process, one range after the other.

    Args:
        calls: of the store.
        merging: of the table.
        seconds: length of a slice.
        is_cancelled: whether a slice must end soon.
    """

    def __init__(
        self,
        calls: StoreCalls,
        merging: Merging,
        seconds: float = SLICE_S,
        *,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._calls = calls
        self._merging = merging
        self._seconds = seconds
        self._is_cancelled = is_cancelled

    def run_slice(self, target: CompactionTarget, check: LeaseCheck, ranges: Sequence[Range]) -> CompactionSlice:
        """Compact as many ranges as there is time for; at least one call to the store is made."""
        compaction = RangeCompaction(self._calls, target, self._merging, check=check)
        timer = Timer(self._seconds)

        def has_time() -> bool:
            return timer() and not self._is_cancelled()

        for index, keys in enumerate(ranges):
            try:
                left = compaction.run(keys, has_time)
            except IngestError as error:
                if error.disposition is not Disposition.RETRY:
                    raise
                rest = (compaction.reached, keys[1])
                return CompactionSlice(compaction.counts, [rest, *ranges[index + 1 :]], error)
            if left is not None or not has_time():
                return CompactionSlice(compaction.counts, [*([] if left is None else [left]), *ranges[index + 1 :]])
        return CompactionSlice(compaction.counts, [])


def _put(row: UpdateRow) -> Put:
    """The merged row with the batch time of its last update, as the update rows that it covers; durable by default."""
    return Put(row.key.encoded(), dict(row.columns), time_of(row.key.last))


def _size(row: UpdateRow) -> int:
    return sum(len(column) + len(value) for column, value in row.columns.items())


def _counted(rows: Iterable[UpdateRow], counter: Counter[None]) -> Iterator[UpdateRow]:
    for row in rows:
        counter[None] += 1
        yield row


def _rounded(number: int) -> int:
    """A number with two digits, rounded down, if it is above 100."""
    if number <= _EXACT:
        return number
    unit: int = 10 ** (len(str(number)) - 2)
    return number // unit * unit

"""
Dumps a range of a table into files of bounded size.

A task writes one file after the other until its time is up, and returns what remains. Where a file ends depends on its
rows alone, so two dumps of the same rows have the same files; only a slow store or a limited rate ends a file earlier.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ingest.api import ConfigError, Disposition, IngestError, Row, Scan, Store, next_key
from ingest.durable.record import Hex, Plain
from sinks.dumps.manifest import DumpedPart, TableFile
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.merged_rows import MergedRows
from sinks.scanning.physical_keys import scan_physical
from sinks.updates.keys import rows_of
from sinks.updates.merging import Merging
from sinks.updates.withdrawn import NOTHING, Withdrawn

FILE_BYTES = 64 << 20
"""Size of the row keys and cells of a file: some seconds of work, and a fraction of it once compressed."""
FILE_S = 30.0
"""Time after which a file ends in any case, so that a task returns soon after its time is up."""
PAGE_ROWS = 1_000
PARTS_OF_RANGE = 100_003
"""Numbers of files that a range has for itself: in 6 TB, or in a month. It is prime, so that the shards differ."""
_CELL_BYTES = 40  # of a cell besides its value, as most have it
_PACED_ROWS = 100
"""Rows after which a limited rate is checked."""


@dataclass(frozen=True, slots=True)
class DumpTarget:
    """
    A table of a dump.

    Attributes:
        rows: row format of the table.
        last: of a table with deferred updates, updates that start after this one are left out: they are above the
            committed position.
        withdrawn: of such a table.
    """

    table: str
    rows: RowFormat
    last: int = 0
    withdrawn: Withdrawn = NOTHING


@dataclass(frozen=True, slots=True)
class DumpRange(Plain):
    """
    A range of physical row keys that is not dumped yet.

    Attributes:
        start: the first key.
        stop: the end, exclusive; None for the end of the table. With buckets, both are in one bucket.
        part: number of its next file among the files of the table.
    """

    table: str
    start: Hex
    stop: Hex | None
    part: int

    @classmethod
    def numbered(cls, table: str, ranges: Iterable[tuple[bytes, bytes | None]]) -> "list[DumpRange]":
        """The ranges of a table, in their order, with room for the numbers of their files."""
        return [cls(table, start, stop, index * PARTS_OF_RANGE) for index, (start, stop) in enumerate(ranges)]

    def after(self, start: bytes) -> "DumpRange":
        """
        The rest of the range once a file was written.

        Raises:
            ConfigError: there is no number for another file.
        """
        part = self.part + 1
        if part % PARTS_OF_RANGE == 0:
            raise ConfigError(
                f'a range of table "{self.table}" has {PARTS_OF_RANGE:,} files, and more rows',
                hint="dump the table in more ranges: --min-ranges N",
            )
        return replace(self, start=start, part=part)


class Limits(NamedTuple):
    """
    Limits of a task.

    Attributes:
        file_bytes: size of the rows after which a file ends.
        file_s: time after which it ends.
        rows_per_s: maximum average rate; None without a limit.
    """

    file_bytes: int = FILE_BYTES
    file_s: float = FILE_S
    rows_per_s: float | None = None


class DumpSlice(NamedTuple):
    """
    The result of a slice.

    Attributes:
        parts: that were dumped; the last one of a range has no file.
        remaining: the ranges, or the rest of them, that are not dumped yet.
        error: why some are not, if the store or the root is unavailable; None if there was no time left.
    """

    parts: Sequence[DumpedPart]
    remaining: Sequence[DumpRange]
    error: IngestError | None = None


Write = Callable[[str, int, Iterable[Row]], TableFile | None]
"""Writes a file: the table, its number among the files of the table, and the rows; None if there are no rows."""


class RangeDump:
    """
    Dumps ranges of the tables of one store.

    Args:
        store: open, for reading or writing.
        targets: the tables, by name.
        mergings: of the tables with deferred updates, by name.
        write: writes a file.
        limits: of files and rate.
        changed: table -> function that is applied to each of its rows.
        clock: monotonic seconds.
        sleep: waits for some seconds.
    """

    def __init__(  # noqa: PLR0913 - the parts of a dump of ranges, each used once
        self,
        store: Store[Any],
        targets: Mapping[str, DumpTarget],
        mergings: Mapping[str, Merging],
        write: Write,
        limits: Limits | None = None,
        *,
        changed: Mapping[str, Callable[[Row], Row]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._targets = targets
        self._mergings = mergings
        self._write = write
        self._limits = limits or Limits()
        self._changed = changed or {}
        self._clock = clock
        self._pace = _Pace(self._limits.rows_per_s, clock, sleep)

    def run_slice(self, ranges: Sequence[DumpRange], has_time: Callable[[], bool]) -> DumpSlice:
        """
        Write files until there is no time left; at least one is written if there are rows.

        Raises:
            IngestError: another error than an unavailable store's or root's.
        """
        parts: list[DumpedPart] = []
        remaining = [*ranges]
        try:
            while remaining:
                keys = remaining[0]
                file, rest = self.next_file(keys)
                if file is not None:
                    parts.append(DumpedPart(keys.table, keys.part, file))
                if rest is None:
                    parts.append(DumpedPart(keys.table, keys.part + (file is not None), None))
                remaining[:1] = [] if rest is None else [rest]
                if not has_time():
                    break
        except IngestError as error:
            if error.disposition is not Disposition.RETRY:
                raise
            return DumpSlice(parts, remaining, error)
        return DumpSlice(parts, remaining)

    def next_file(self, keys: DumpRange) -> tuple[TableFile | None, DumpRange | None]:
        """
        Write the next file of a range; returns it, None if the range has no rows, and what remains of the range.

        Raises:
            IngestError: the store or the root is unavailable, or the table cannot be read.
        """
        target = self._targets[keys.table]
        with closing(self._rows(target, Scan(start=keys.start, stop=keys.stop, page_rows=PAGE_ROWS))) as rows:
            change = self._changed.get(keys.table)
            written = _OneFile(rows if change is None else map(change, rows), self._limits, self._pace, self._clock)
            file = self._write(keys.table, keys.part, written)
        if file is None or written.is_complete:
            return file, None
        return file, keys.after(after_row(target.rows, written.last_key))

    def _rows(self, target: DumpTarget, scan: Scan) -> Generator[Row]:
        if target.rows.updates:
            merging = self._mergings[target.table]
            merged = MergedRows(
                self._store, target.table, target.rows, merging, last=target.last, withdrawn=target.withdrawn
            )
            return merged.rows_in_physical_range(scan)
        return scan_physical(self._store, target.table, scan, Distribution.of(target.rows.buckets))


def remaining_of(target: DumpTarget, keys: DumpRange, parts: Mapping[int, TableFile | None]) -> DumpRange | None:
    """
    What remains of a range; None if it is complete.

    Args:
        target: its table.
        keys: the whole range.
        parts: of the table that are dumped: number -> file, None after the last file of a range.
    """
    done = {number: file for number, file in parts.items() if keys.part <= number < keys.part + PARTS_OF_RANGE}
    if not done:
        return keys
    last = max(done)
    file = done[last]
    return None if file is None else replace(keys, part=last).after(after_row(target.rows, file.last_row))


def after_row(rows: RowFormat, key: bytes) -> bytes:
    """The first physical row key after those of a logical row."""
    after = rows_of(key)[1] if rows.updates else next_key(key)
    distribution = Distribution.of(rows.buckets)
    return after if distribution is None else distribution.bucket(key) + after


class _OneFile:
    """
    The rows of one file, to be read once.

    Attributes:
        last_key: of the last row that was read.
        is_complete: whether there are no more rows.
    """

    def __init__(self, rows: Iterable[Row], limits: Limits, pace: "_Pace", clock: Callable[[], float]) -> None:
        self._rows = rows
        self._limits = limits
        self._pace = pace
        self._clock = clock
        self.last_key = b""
        self.is_complete = False

    def __iter__(self) -> Iterator[Row]:
        size, number, end_s = 0, 0, self._clock() + self._limits.file_s
        for row in self._rows:
            yield row
            self.last_key = row.key
            number += 1
            size += len(row.key) + _CELL_BYTES * len(row.cells) + sum([len(cell.value) for cell in row.cells])
            if number % _PACED_ROWS == 0:
                self._pace.add(_PACED_ROWS)
            if size >= self._limits.file_bytes or (number % _PACED_ROWS == 0 and self._clock() >= end_s):
                return
        self._pace.add(number % _PACED_ROWS)
        self.is_complete = True


class _Pace:
    """Waits so that rows are not read faster than a rate on average."""

    def __init__(self, rows_per_s: float | None, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._rows_per_s = rows_per_s
        self._clock = clock
        self._sleep = sleep
        self._free_s = clock()

    def add(self, rows: int) -> None:
        """Wait until the rows have taken their time."""
        if self._rows_per_s is None:
            return
        now_s = self._clock()
        self._free_s = max(self._free_s, now_s - 1.0) + rows / self._rows_per_s  # up to a second of unused rate counts
        if self._free_s > now_s:
            self._sleep(self._free_s - now_s)

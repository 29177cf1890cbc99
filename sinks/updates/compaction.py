"""
The compaction of one logical row, as values: the merged rows to write, and the rows to delete after that.

Each part replaces neighbouring update rows by one merged row. A compaction can be killed at any point and run again:

- The merged row is durable before the rows that it covers are deleted. Until they are, they are orphaned updates, which
  no read counts and which the next compaction deletes.
- The row just written is never deleted, and a single row is not written again.

Source: HBaseHUT's UpdatesProcessingMrJob and UpdatesProcessingUtil.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sinks.updates.groups import UpdateRow, with_orphans
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging, Unmerged
from sinks.updates.withdrawn import NOTHING, Withdrawn

_MIN_ROWS = 2
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """
    Which update rows are merged.

    Attributes:
        bound: a row that covers this update id or a later one stays as it is.
        window: length of a window, in update ids: rows are merged if all of theirs are in one window; 0 for a single
            window. `update_id_of(ms, 0)` is the length of a duration.
        max_rows: rows that are held in memory; a window with more is compacted in parts.
        max_bytes: their bytes, without the merged ones.
        withdrawn: batch times whose updates are deleted.

    Raises:
        ValueError: one of them is out of range.
    """

    bound: int
    window: int = 0
    max_rows: int = 1_000
    max_bytes: int = 32 * _MIB
    withdrawn: Withdrawn = NOTHING

    def __post_init__(self) -> None:
        if self.window < 0 or self.max_rows < 1 or self.max_bytes < 1:
            raise ValueError(f"out of range: {self}")

    def window_of(self, key: UpdateKey) -> int | None:
        """The number of the window of a row; None if its update ids are in several, so it merges with no other row."""
        if not self.window:
            return 0
        number = key.start // self.window
        return number if key.last // self.window == number else None


class UnmergedRows(NamedTuple):
    """
    Rows of a window that stay as they are, because columns of them cannot be merged.

    Attributes:
        row: the logical row key.
        columns: those columns.
    """

    row: bytes
    columns: tuple[Unmerged, ...]


class CompactionPart(NamedTuple):
    """
    A part of a compaction.

    Attributes:
        write: the merged row; durable before anything in `deletes` is deleted.
        deletes: rows that `write` or a stored row covers, or whose batch times were withdrawn.
        unmerged: rows of a window that could not be merged.
    """

    write: UpdateRow | None = None
    deletes: tuple[UpdateKey, ...] = ()
    unmerged: UnmergedRows | None = None


def compaction_of(rows: Iterable[UpdateRow], merging: Merging, rules: CompactionRules) -> Iterator[CompactionPart]:
    """
    The compaction of one logical row, in parts.

    The parts are carried out in order, each with its write before its deletes. The caller may put several together, of
    this row or of others: all writes, then all deletes. While the parts are read, no more than `max_rows` rows are in
    memory. After all parts have been carried out, another compaction has none but for rows that could not be merged.

    Args:
        rows: of one logical row, in the order of their keys; those from `bound` on may be left out.
        merging: of the table.
        rules: which rows are merged.
    """
    window = _Window(merging, rules, None)
    for row, is_orphaned in with_orphans(rows, rules.withdrawn):
        if row.key.last >= rules.bound:
            continue
        if is_orphaned:
            window.orphaned.append(row.key)
        else:
            number = rules.window_of(row.key)
            if number is None or number != window.number:
                yield from window.end()
                window = _Window(merging, rules, number)
            window.add(row)
        if window.is_full:
            yield from window.parts()
    yield from window.end()


class _Window:
    """
    The rows of a window that have been read.

    Attributes:
        number: of the window; None for a row in several windows.
        orphaned: keys of rows that do not count.
    """

    def __init__(self, merging: Merging, rules: CompactionRules, number: int | None) -> None:
        self.number = number
        self.orphaned: list[UpdateKey] = []
        self._rules = rules
        self._merger = merging.merger()
        self._covered: list[UpdateKey] = []  # the next merged row covers them; the first may be the last merged row
        self._bytes = 0
        self._unmerged: UnmergedRows | None = None

    @property
    def is_full(self) -> bool:
        """Whether it holds as many rows or bytes as it may."""
        held = len(self._covered) + len(self.orphaned)
        return held >= self._rules.max_rows or self._bytes >= self._rules.max_bytes

    def add(self, row: UpdateRow) -> None:
        """Add the next row that is not orphaned."""
        if self._unmerged is not None:
            return
        self._merger.add(row.columns)
        self._covered.append(row.key)
        self._bytes += sum(len(column) + len(update) for column, update in row.columns.items())

    def parts(self) -> Iterator[CompactionPart]:
        """At most one part, for the rows so far; the merged row may merge with rows that follow."""
        write: UpdateRow | None = None
        if len(self._covered) >= _MIN_ROWS:
            write = self._merged()
        deletes, self.orphaned = self.orphaned, []
        if write is not None:
            deletes += self._covered
            self._covered, self._bytes = [write.key], 0
        if deletes:
            yield CompactionPart(write, tuple(deletes))

    def end(self) -> Iterator[CompactionPart]:
        """The last parts."""
        yield from self.parts()
        if self._unmerged is not None:
            yield CompactionPart(unmerged=self._unmerged)

    def _merged(self) -> UpdateRow | None:
        first, last = self._covered[0], self._covered[-1]
        columns, unmerged = self._merger.merged()
        if unmerged:
            self._unmerged = UnmergedRows(first.row, unmerged)
            self._covered.clear()
            self._bytes = 0
            return None
        return UpdateRow(UpdateKey(first.row, first.start, last.last), columns)

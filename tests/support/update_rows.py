"""A table of update rows in memory, with plain numbers as starts."""

from collections.abc import Iterable, Iterator

from ingest.api import Cell, Row
from sinks.updates.compaction import CompactionPart, CompactionRules, compaction_of
from sinks.updates.groups import MergedRow, UpdateRow, by_row, merged_row
from sinks.updates.keys import UpdateKey
from sinks.updates.merging import Merging
from sinks.updates.processors.last_n import LastN
from sinks.updates.processors.sum import Sum
from sinks.updates.rollback import Rollback, rollback_of

SUM = Merging(Sum(Sum.settings_class()()))
LAST_FIVE = Merging(LastN(LastN.settings_class()(n=5)))
VALUE = b"f:v"
FOREVER = 2**63 - 1


class UpdateTable:
    """The update rows of a table: physical row key -> columns."""

    def __init__(self, merging: Merging = SUM) -> None:
        self.merging = merging
        self.stored: dict[bytes, dict[bytes, bytes]] = {}

    @classmethod
    def of(cls, *rows: tuple[int, int, object], merging: Merging = SUM) -> "UpdateTable":
        """A table with one logical row; a row is start, end and value of its only column, as stored."""
        table = cls(merging)
        for start, end, value in rows:
            table.stored[UpdateKey(b"k", start, end).encoded()] = {VALUE: str(value).encode()}
        return table

    def add(self, row: bytes, start: int, columns: dict[bytes, bytes]) -> None:
        """Write values as one update."""
        self.stored[UpdateKey(row, start).encoded()] = self.merging.updates(columns)

    def rows(self) -> list[UpdateRow]:
        """All update rows in the order of their keys, as a store reads them."""
        return [
            UpdateRow.of(Row(key, tuple(Cell(*column.split(b":", 1), 1, value) for column, value in columns.items())))
            for key, columns in sorted(self.stored.items())
        ]

    def read(self) -> dict[bytes, MergedRow]:
        """Logical row key -> merged row."""
        return {row: merged_row(rows, self.merging) for row, rows in by_row(self.rows())}

    def values(self) -> dict[bytes, dict[bytes, bytes]]:
        """Logical row key -> column -> value."""
        return {row: found.columns for row, found in self.read().items()}

    def parts(self, rules: CompactionRules) -> list[CompactionPart]:
        """The compaction of all logical rows."""
        return [part for _, rows in by_row(self.rows()) for part in compaction_of(rows, self.merging, rules)]

    def compact(self, rules: CompactionRules | None = None, *, calls: int | None = None) -> None:
        """Compact all logical rows; `calls` is the number of writes and deletes before a crash."""
        left = calls
        for put, key in self.calls(self.parts(rules or CompactionRules(FOREVER))):
            if left == 0:
                return
            left = None if left is None else left - 1
            if put is None:
                del self.stored[key.encoded()]
            else:
                self.stored[key.encoded()] = dict(put.columns)

    def calls(self, parts: Iterable[CompactionPart]) -> Iterator[tuple[UpdateRow | None, UpdateKey]]:
        """The calls to the store that carry parts out: the merged row, or None to delete, and the key."""
        for part in parts:
            if part.write is not None:
                yield part.write, part.write.key
            for key in part.deletes:
                yield None, key

    def roll_back(self, first: int, last: int, *, calls: int | None = None) -> Rollback:
        """Roll back all logical rows; `calls` is the number of deletes before a crash."""
        deletes, left = [], []
        for _, rows in by_row(self.rows()):
            found = rollback_of([row.key for row in rows], first, last, [(first, last)])
            deletes += found.deletes
            left += found.straddling
        for key in deletes[:calls]:
            del self.stored[key.encoded()]
        return Rollback(tuple(deletes), tuple(left))

    def intervals(self) -> list[tuple[int, int]]:
        """Start and end of all rows."""
        return [(row.key.start, row.key.end) for row in self.rows()]

    def contents(self) -> list[tuple[int, int, object]]:
        """Start, end and value of all rows, as for `of`."""
        return [(row.key.start, row.key.end, int(row.columns[VALUE])) for row in self.rows()]

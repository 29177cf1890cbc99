"""A table with deferred updates in a memory store that checks each delete, and can fail at any call."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from ingest.api import Capabilities, Delete, FamilySpec, Mutation, Put, StoreUnavailableError, TableSpec
from ingest.service.rewriting.table_group import TableGroup
from sinks.memory import MemoryStore
from sinks.owning.committed_position import COMMITTED, CommittedPosition
from sinks.rewriting.store_calls import StoreCalls
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.mutations import with_physical_keys
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.scanning.update_rows import update_rows
from sinks.updates.groups import by_row, merged_row
from sinks.updates.keys import UpdateKey, time_of
from sinks.updates.merging import Merging
from sinks.writing.retry import store_retry
from tests.support.update_rows import SUM

TABLE = "counters"
SPLITS = (b"c", b"m\x00\x00\x00", b"t")


class KilledError(Exception):
    """The process ends here."""


class UpdatedStore(MemoryStore):
    """
    Refuses to delete an update row that no other stored row covers.

    Attributes:
        calls_left: number of writing calls before one fails with `error`; None for no end.
        calls: names of the writing calls.
    """

    def __init__(self, *, is_shared: bool = False) -> None:
        super().__init__()
        self.capabilities = Capabilities(
            written_by_driver=not is_shared, creates_families=True, creates_tables=not is_shared
        )
        self.calls_left: int | None = None
        self.error: Exception = KilledError()
        self.calls: list[str] = []
        self.checks_deletes = True

    def describe_table(self, name: str) -> TableSpec | None:
        found = super().describe_table(name)
        return None if found is None else replace(found, splits=() if found.buckets else SPLITS)

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        self._call("apply")
        super().apply(table, mutations)

    def remove_rows(self, table: str, deletes: Sequence[Delete]) -> None:
        self._call("remove_rows")
        if self.checks_deletes:
            self._check(table, deletes)
        super().apply(table, deletes)

    def _call(self, name: str) -> None:
        if self.calls_left is not None:
            if not self.calls_left:
                raise self.error
            self.calls_left -= 1
        self.calls.append(name)

    def _check(self, table: str, deletes: Sequence[Delete]) -> None:
        rows = RowFormat.recorded(self, table)
        physical_key = rows.physical_key() or (lambda key: key)
        deleted = {delete.row for delete in deletes}
        remaining = [
            row.key for row in update_rows(self, table, rows) if physical_key(row.key.encoded()) not in deleted
        ]
        for delete in deletes:
            key = UpdateKey.decoded(delete.row if rows.buckets is None else delete.row[1:])
            assert any(
                other.row == key.row and other.start <= key.start and key.last <= other.last for other in remaining
            ), f"{key} is deleted, and no row covers it"


class UpdateWriter:
    """The table of an `UpdatedStore`."""

    def __init__(self, merging: Merging = SUM, *, buckets: int | None = None, is_shared: bool = False) -> None:
        self.merging = merging
        self.store = UpdatedStore(is_shared=is_shared)
        self.store.open()
        splits = SPLITS if buckets is None else Distribution(buckets).splits()
        self.store.ensure_table(TableSpec(TABLE, (FamilySpec(b"f"), FamilySpec(b"g")), splits, buckets))
        self.store.set_property(TABLE, UPDATES, None, '{"processor": "sum"}')
        self.rows = RowFormat.recorded(self.store, TABLE)
        self.calls = StoreCalls(lambda: nullcontext(self.store), store_retry(sleep=lambda _seconds: None))

    def add(self, row: bytes, start: int, columns: Mapping[bytes, bytes], end: int = 0) -> None:
        """Write an update row, of values or, with an end, of stored updates."""
        updates = dict(columns) if end else self.merging.updates(columns)
        put = Put(UpdateKey(row, start, end).encoded(), updates, time_of(end or start))
        physical_key = self.rows.physical_key()
        MemoryStore.apply(self.store, TABLE, [put] if physical_key is None else with_physical_keys([put], physical_key))

    def commit(self, time_ms: int, table: str = TABLE) -> None:
        """Move the committed position of a table."""
        before = self.store.properties(table).get(COMMITTED)
        self.store.set_property(table, COMMITTED, before, CommittedPosition(time_ms, {}).to_text())

    def group(self, *others: str, replay: Path = Path("no-replay")) -> TableGroup:
        """The table and others of one pipeline, in the same store."""
        return TableGroup("hits", {"s": [TABLE, *others]}, {"s": self.calls}, replay)

    def values(self) -> dict[bytes, dict[bytes, bytes]]:
        """Logical row key -> column -> value, as a read returns them."""
        found = {}
        for row, rows in by_row(update_rows(self.store, TABLE, self.rows)):
            merged = merged_row(rows, self.merging)
            assert merged is not None
            found[row] = merged.columns
        return found

    def intervals(self, row: bytes = b"k") -> list[tuple[int, int]]:
        """Start and end of the update rows of a logical row."""
        return [(key.start, key.end) for key, _ in update_rows(self.store, TABLE, self.rows) if key.row == row]

    def update_keys(self) -> set[UpdateKey]:
        """The keys of all update rows."""
        return {row.key for row in update_rows(self.store, TABLE, self.rows)}


def unavailable() -> StoreUnavailableError:
    """The error of a store that does not answer."""
    return StoreUnavailableError("no answer")

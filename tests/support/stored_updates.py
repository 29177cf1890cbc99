"""Tables with deferred updates in stores: written, compacted, and changed between the pages of a scan."""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any, Self

from ingest.api import FamilySpec, Mutation, Put, Row, Scan, ScanCounts, Store, TableSpec
from sinks.rewriting.incomplete_updates import apply_to_updates, delete_of, update_rows
from sinks.rowkeys.row_format import UPDATES, RowFormat
from sinks.updates.compaction import CompactionRules, compaction_of
from sinks.updates.groups import by_row
from sinks.updates.keys import UpdateKey, time_of, update_id_of
from sinks.updates.merging import Merging
from tests.support.update_rows import FOREVER, SUM


def create(store: Store[Any], table: str, *, buckets: int | None = None, splits: tuple[bytes, ...] = ()) -> None:
    """A table with the families f and g, whose record has deferred updates."""
    assert store.set_property(table, UPDATES, None, '{"processor": "sum"}')
    store.ensure_table(TableSpec(table, (FamilySpec(b"f"), FamilySpec(b"g")), splits, buckets))


def add(
    store: Store[Any], table: str, row: bytes, time_ms: int, values: Mapping[bytes, bytes], merging: Merging = SUM
) -> None:
    """Write one update row."""
    apply_to_updates(store, table, RowFormat.recorded(store, table), [update(row, time_ms, values, merging)])


def update(row: bytes, time_ms: int, values: Mapping[bytes, bytes], merging: Merging = SUM) -> Put:
    """An update row."""
    return Put(UpdateKey(row, update_id_of(time_ms, 0)).encoded(), merging.updates(values), time_ms)


def compact(
    store: Store[Any],
    table: str,
    merging: Merging = SUM,
    rules: CompactionRules | None = None,
    *,
    calls: int | None = None,
) -> None:
    """Compact all logical rows; `calls` is the number of writes and deletes before a crash."""
    rows = RowFormat.recorded(store, table)
    with closing(update_rows(store, table, rows)) as stored:
        groups = by_row(list(stored))
    chosen = rules or CompactionRules(FOREVER)
    parts = [part for _, found in groups for part in compaction_of(found, merging, chosen)]
    mutations: list[Mutation] = []
    for part in parts:
        if part.write is not None:
            key, columns = part.write
            mutations.append(Put(key.encoded(), dict(columns), time_of(key.last)))
        mutations += map(delete_of, part.deletes)
    for mutation in mutations[:calls]:
        apply_to_updates(store, table, rows, [mutation])


class BetweenPages:
    """
    Does something before each further page of the scans of a store; as a context manager, until its end.

    Attributes:
        action: what it does; scans within it are not counted.
        pages: number of pages before which it was done.
    """

    def __init__(self, store: Store[Any], action: Callable[[], None] = lambda: None) -> None:
        self.action = action
        self.pages = 0
        self._store = store
        self._scan = store.scan
        self._is_busy = False
        store.scan = self._watched  # type: ignore[method-assign] # only of this object

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        del self._store.scan  # type: ignore[method-assign] # that of the class remains

    def _watched(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        with closing(self._scan(table, scan, counts)) as rows:
            for number, row in enumerate(rows, start=1):
                yield row
                if number % scan.page_rows == 0 and not self._is_busy:
                    self._is_busy = True
                    self.action()
                    self.pages += 1
                    self._is_busy = False

"""The embedded store: HBase's rules on one folder of RocksDB."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self, cast

from rocksdict import WriteBatch

from ingest.api import (
    ALL_TIMES,
    BucketsDifferError,
    Capabilities,
    Delete,
    FamilySpec,
    FileStore,
    FrozenView,
    Mutation,
    NotFoundError,
    Put,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    TableSpec,
    TimeRange,
    WriteRejectedError,
    split_column,
)
from ingest.api.notation import shown
from ingest.api.properties import check_property, with_property
from ingest.api.replacement import replace_as_only_writer
from ingest.clock import now_ms
from sinks.rocksdb import table_file, views
from sinks.rocksdb.database import Database
from sinks.rocksdb.expiry import NEVER, ExpiryIndex
from sinks.rocksdb.keys import encode_text
from sinks.rocksdb.open_table import OpenTable
from sinks.rocksdb.reading import Cursor, Part, ReadPlan, last_row, page_of, row_at
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.sweep import DELETE_KEPT_MS, GarbageEstimate, RetentionRule, count_superseded, slice_of
from sinks.rocksdb.table_file import Metadata
from sinks.rocksdb.tables import TableRecord, column_family, estimate_key, strongest
from sinks.rocksdb.writing import batch_of, remove_rows
from sinks.rowkeys.fuzzy import RemainingRange


class RocksDBStore(FileStore[RocksDBSettings]):
    """
    Tables in a folder, one column family of RocksDB for each table.

    One process writes: RocksDB's lock excludes a second writer, and the file OWNER beside it names the first. Other
    processes can read at the same time; a read returns all writes that were acknowledged before it.

    A write is atomic, and is rejected as a whole if one mutation is rejected. With the WAL on, it ends with one sync
    (`sync: true`). Without WAL it is flushed to a file before it is acknowledged; a write with both kinds of mutations
    uses the WAL.

    Cells that no read returns are removed in slices, after writes.

    Args:
        read_only: for a reader while another process writes.
        clock_ms: the current time, for the age of cells.
    """

    kind = "rocksdb"
    capabilities = Capabilities(
        written_by_driver=True, creates_families=True, creates_tables=True, deletes_versions=True, freezes=True
    )

    def __init__(
        self, settings: RocksDBSettings, *, read_only: bool = False, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        super().__init__(settings)
        self._database = Database(Path(settings.path), sync=settings.sync, read_only=read_only)
        self._clock_ms = clock_ms
        self._frozen: views.Frozen | None = None
        self._generation = -1
        self._open_tables: dict[str, OpenTable] = {}
        self._estimates: dict[str, GarbageEstimate] = {}

    @classmethod
    def reader(cls, settings: RocksDBSettings) -> Self:
        """A reader while another process writes."""
        return cls(settings, read_only=True)

    def open(self) -> None:
        """Lock the folder, or start to follow its writer."""
        if self._database.read_only and (frozen := views.frozen(self._database.path)) is not None:
            frozen.check()
            self._frozen, self._clock_ms = frozen, lambda: frozen.at_ms
        self._database.open()
        if not self._database.read_only:
            views.remove_others(self._database.path)

    def close(self) -> None:
        """Release the folder."""
        # handles keep RocksDB open, so they are released first
        self._release_tables()
        self._estimates.clear()
        self._database.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Write mutations atomically, then sweep a slice of the table if due."""
        found = self._open_table(table)
        batch, logged, cells = batch_of(mutations, found, self._clock_ms())
        self._count(found, cells, found.estimate.sample_of(mutations))
        record = found.estimate.record()
        if logged:
            batch.put(estimate_key(table), record)
        self._write(table, batch, logged=logged)
        if not logged:
            # only the column family of the table is flushed, and the estimate is in another one
            with self._releasing_on_error():
                self._database.put_unsynced(estimate_key(table), record)
        self._sweep_if_due(found)

    def remove_rows(self, table: str, deletes: Sequence[Delete]) -> None:
        """Remove all keys of the rows, with earlier deletes of them, so that a read does not pass them."""
        found = self._open_table(table)
        batch = WriteBatch(raw_mode=True)
        with self._releasing_on_error():
            removed = self._database.guarded(lambda: remove_rows(batch, found, [delete.row for delete in deletes]))
        found.estimate.remove(removed)
        self._save_estimate(found, batch)

    def flush_removed(self, table: str) -> None:
        """Write the removals to a file: RocksDB merges files that consist mostly of removals, see `table_options`."""
        with self._releasing_on_error():
            self._database.flush(table)

    def file_compression(self, table: str) -> str:
        """The strongest compression of the families: a file has cells of all of them."""
        record = self._database.current().records.get(table)
        if record is None:
            raise NotFoundError(f'there is no table "{table}"')
        return strongest(record.families.values())

    def write_file(self, path: str, puts: Sequence[Put], compression: str = "none") -> bytes:
        """Write an SST file of RocksDB."""
        return table_file.write(path, puts, compression).packed()

    def ingest_file(self, table: str, path: str, metadata: bytes) -> None:
        """Ingest the file into the table through a hard link, so that it can be ingested again."""
        found = self._open_table(table)
        cells, named, samples = Metadata.of(metadata)
        unknown = named.difference(found.specs)
        if unknown:
            raise WriteRejectedError(
                f'there is no family {shown(*sorted(unknown))} in table "{table}"',
                hint="restart the service: the events are checked again against the families that exist",
            )
        self._count(found, cells, samples)
        with self._releasing_on_error():
            self._database.ingest(table, Path(path))
        self._save_estimate(found)
        with self._releasing_on_error():
            self._database.merge_small_files(table)
        self._sweep_if_due(found)

    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row as it is now."""
        return self._database.guarded(lambda: row_at(self._plan(table, columns, versions, times), row))

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range, page by page; each page is consistent in itself."""
        remaining, counts = RemainingRange(scan), counts or ScanCounts()
        counts.seeks += not remaining.is_empty
        wanted = scan.limit
        while wanted is None or wanted > 0:
            rows = scan.page_rows if wanted is None else min(wanted, scan.page_rows)
            counts.views += 1
            page = self._page(table, scan, remaining, rows, counts)
            yield from page
            if remaining.is_empty:
                return
            wanted = None if wanted is None else wanted - len(page)

    def freeze(self) -> FrozenView[RocksDBSettings]:
        """A checkpoint of RocksDB, which has hard links to the files of the store."""
        at_ms = self._clock_ms()
        with self._releasing_on_error():
            root = self._database.writable().root
            folder = self._database.guarded(lambda: views.create(root, self._database.path, at_ms))
        settings = self.settings.model_copy(update={"path": str(folder)})
        return FrozenView(settings, at_ms, lambda: views.remove(folder))

    def ensure_table(self, spec: TableSpec) -> None:
        """Create the table and its families if they are missing."""
        existing = self._database.writable().records.get(spec.name)
        known = {} if existing is None else existing.families
        wanted = TableRecord({family.name: family for family in spec.families} | known, spec.buckets)
        if existing is not None and existing.buckets != spec.buckets and self._has_rows(spec.name):
            raise BucketsDifferError(spec.name, spec.buckets, existing.buckets)
        if existing != wanted:
            with self._releasing_on_error():
                self._database.record_table(spec.name, wanted)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Change the options of a family; existing files get the new compression when they are compacted."""
        record = self._database.writable().records.get(table)
        if record is None or family.name not in record.families:
            raise SchemaError(f'there is no family {shown(family.name)} in table "{table}"')
        found = self._open_table(table)
        # cells may expire earlier; recorded first, so that a sweep finds them after a crash in between
        found.estimate.expiry = ExpiryIndex(0, self._last_row(found))
        self._save_estimate(found)
        with self._releasing_on_error():
            self._database.record_table(table, replace(record, families=record.families | {family.name: family}))

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families, as they were declared; the store ignores bloom filters."""
        record = self._database.current().records.get(name)
        if record is None:
            return None
        families = tuple(spec for _, spec in sorted(record.families.items()))
        return TableSpec(name, families, buckets=record.buckets)

    def buckets(self, table: str) -> int | None:
        """The number of buckets in the table's record."""
        record = self._database.current().records.get(table)
        return None if record is None else record.buckets

    def record_buckets(self, table: str, buckets: int | None) -> None:
        """Record the number of buckets of a table with rows, or remove the record."""
        record = self._database.writable().records.get(table)
        if record is None:
            raise NotFoundError(f'there is no table "{table}"')
        if buckets is not None and record.buckets not in {None, buckets}:
            raise BucketsDifferError(table, buckets, record.buckets)
        with self._releasing_on_error():
            self._database.record_table(table, replace(record, buckets=buckets))

    def properties(self, table: str) -> Mapping[str, str]:
        """The properties of the table."""
        return self._database.properties(table)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """Replace the value of a property if it is the one before; always with a sync."""
        check_property(name, before, value)
        self._database.writable()
        with self._releasing_on_error():
            present = self._database.properties(table)
            changed = with_property(present, name, before, value)
            if changed is not None and changed != present:
                self._database.record_properties(table, changed)
        return changed is not None

    def replace_cell(self, table: str, row: bytes, column: bytes, before: bytes | None, value: bytes) -> bool:
        """Replace the value of a cell if it is the one before; no other process writes."""
        self._database.writable()
        return replace_as_only_writer(self, table, row, column, before, value, self._clock_ms())

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        record = self._database.current().records.get(table)
        return None if record is None else frozenset(record.families)

    def tables(self) -> tuple[str, ...]:
        """Names of all tables."""
        return tuple(sorted(self._database.current().records))

    def _count(self, table: OpenTable, cells: int, samples: Sequence[Mutation]) -> None:
        """Add mutations that are about to be written to the table's estimate."""
        estimate = table.estimate
        estimate.count(cells, samples, table.specs)
        with self._releasing_on_error():
            estimate.superseded += self._database.guarded(
                lambda: count_superseded(samples, table.cursor(), table.specs, estimate.skipped)
            )

    def _has_rows(self, table: str) -> bool:
        """Whether the table has any cell or delete, visible or not."""
        return self._last_row(self._open_table(table)) != b""

    def _last_row(self, table: OpenTable) -> bytes:
        with self._releasing_on_error():
            return self._database.guarded(lambda: last_row(table.cursor()))

    def _sweep_if_due(self, table: OpenTable) -> None:
        if table.estimate.resume is None:
            table.estimate.start_if_due(ttl_s=table.shortest_ttl_s, now_ms=self._clock_ms())
        if table.estimate.resume is not None:
            self._sweep(table)

    def _sweep(self, table: OpenTable) -> int:
        estimate = table.estimate
        now = self._clock_ms()
        batch = WriteBatch(raw_mode=True)
        removed = 0
        span = estimate.next_span(now)
        if span is None:
            estimate.end()
        else:
            retention = {encode_text(name): _retention(spec, now) for name, spec in table.specs.items()}
            handle = table.handle
            with self._releasing_on_error():
                done = self._database.guarded(
                    lambda: slice_of(
                        table.cursor(), retention, span, estimate.slice_keys, lambda key: batch.delete(key, handle)
                    )
                )
            estimate.add_slice(span[0], done, now)
            removed = done.removed
        self._save_estimate(table, batch)
        return removed

    def _save_estimate(self, table: OpenTable, batch: WriteBatch | None = None) -> None:
        """Write the estimate of a table, together with a batch."""
        batch = batch or WriteBatch(raw_mode=True)
        batch.put(estimate_key(table.name), table.estimate.record())
        self._write(table.name, batch, logged=True)

    def _write(self, table: str, batch: WriteBatch, *, logged: bool) -> None:
        with self._releasing_on_error():
            self._database.write(table, batch, logged=logged)

    @contextmanager
    def _releasing_on_error(self) -> Iterator[None]:
        """After an error the database is reopened, which requires that all handles are released."""
        try:
            yield
        except BaseException:
            self._release_tables()
            # it is unknown which estimates were written
            self._estimates.clear()
            raise

    def _page(self, table: str, scan: Scan, remaining: RemainingRange, rows: int, counts: ScanCounts) -> list[Row]:
        """The next rows, without an open cursor, which would keep RocksDB open while the caller uses the rows."""
        page = self._database.guarded(
            lambda: page_of(self._plan(table, scan.columns, scan.versions, scan.times), remaining, rows, counts)
        )
        if self._frozen is not None:
            self._frozen.check()
        return page

    def _plan(self, table: str, columns: Sequence[bytes] | None, versions: int, times: TimeRange) -> ReadPlan:
        opened = self._database.current()
        record = opened.records.get(table)
        if record is None:
            raise NotFoundError(f'there is no table "{table}"')
        specs = record.families
        wanted: dict[bytes, frozenset[bytes] | None] = {}
        for family, qualifier in [(name, None) for name in specs] if columns is None else map(split_column, columns):
            known = wanted.get(family, frozenset())
            wanted[family] = None if known is None or qualifier is None else known | {qualifier}
        now = self._clock_ms()
        parts = [
            Part.of(specs[name], wanted[name], versions, times, now) for name in sorted(wanted.keys() & specs.keys())
        ]
        return ReadPlan(cast("Cursor", opened.column_families[column_family(table)].iter()), parts)

    def _open_table(self, name: str) -> OpenTable:
        opened = self._database.writable()
        if self._generation != self._database.generation:
            self._release_tables()
            self._generation = self._database.generation
        found = self._open_tables.get(name)
        if found is None:
            estimate = self._estimates.get(name)
            if estimate is None:
                estimate = GarbageEstimate.of(opened.root.get(estimate_key(name)), self._clock_ms())
            found = self._open_tables[name] = OpenTable(opened, name, estimate)
            if name not in self._estimates:
                estimate.expiry.last_row = self._last_row(found)
                self._estimates[name] = estimate
        return found

    def _release_tables(self) -> None:
        for table in self._open_tables.values():
            table.release()
        self._open_tables.clear()
        self._generation = -1


def _retention(spec: FamilySpec, now: int) -> RetentionRule:
    ttl_ms = NEVER if spec.ttl_s is None else spec.ttl_s * 1000
    oldest_ms = -1 if spec.ttl_s is None else now - ttl_ms
    return RetentionRule(spec.versions, oldest_ms, now - DELETE_KEPT_MS, ttl_ms)

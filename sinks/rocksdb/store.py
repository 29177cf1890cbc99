"""The embedded store: HBase's rules on one folder of RocksDB."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast

from rocksdict import WriteBatch

from ingest.api import (
    Capabilities,
    FamilySpec,
    FileStore,
    Mutation,
    NotFoundError,
    Put,
    Row,
    Scan,
    SchemaError,
    TableSpec,
    WriteRejectedError,
    split_column,
)
from ingest.api.notation import shown
from ingest.clock import now_ms
from sinks.rocksdb import table_file
from sinks.rocksdb.database import Database
from sinks.rocksdb.expiry import NEVER, ExpiryIndex
from sinks.rocksdb.keys import encode_text
from sinks.rocksdb.open_table import OpenTable
from sinks.rocksdb.reading import Cursor, Part, Question, last_row, page_of, row_at
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.sweep import DELETE_KEPT_MS, GarbageEstimate, RetentionRule, count_superseded, slice_of
from sinks.rocksdb.table_file import Note
from sinks.rocksdb.tables import column_family, gauge_key, strongest
from sinks.rocksdb.writing import batch_of


class RocksDBStore(FileStore[RocksDBSettings]):
    """
    Tables in a folder, one column family of RocksDB for each table.

    One process writes; RocksDB's own lock keeps a second writer out, and the file OWNER beside it names the writer. Any
    number of other processes read at the same time: each read sees all writes that were acknowledged before it.

    Durable: with the WAL on, a write ends with one sync (`sync: true`). One without WAL is in a file of its own before
    it is acknowledged; one that mixes both is written with the WAL. So a killed process leaves no torn row either way.
    A write is atomic, and is refused as a whole if one mutation is refused.

    Cells that no read returns any more are removed in slices, after writes.

    Args:
        read_only: for a reader beside the writer.
        clock_ms: the current time, for the age of cells.
    """

    kind = "rocksdb"
    capabilities = Capabilities(written_by_driver=True, creates_families=True, creates_tables=True)

    def __init__(
        self, settings: RocksDBSettings, *, read_only: bool = False, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        super().__init__(settings)
        self._database = Database(Path(settings.path), sync=settings.sync, read_only=read_only)
        self._clock_ms = clock_ms
        self._generation = -1
        self._open_tables: dict[str, OpenTable] = {}
        self._gauges: dict[str, GarbageEstimate] = {}

    @classmethod
    def reader(cls, settings: RocksDBSettings) -> Self:
        """A reader beside the writer."""
        return cls(settings, read_only=True)

    def open(self) -> None:
        """Lock the folder, or start to follow its writer."""
        self._database.open()

    def close(self) -> None:
        """Release the folder."""
        # handles keep RocksDB open, so they are dropped first
        self._forget()
        self._gauges.clear()
        self._database.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Write mutations atomically, then sweep a slice of the table if that is due."""
        found = self._open_table(table)
        batch, logged, cells = batch_of(mutations, found, self._clock_ms())
        self._count(found, cells, found.gauge.sample_of(mutations))
        gauge = found.gauge.record()
        if logged:
            batch.put(gauge_key(table), gauge)
        self._write(table, batch, logged=logged)
        if not logged:
            # without the log only the table is flushed, which does not hold the estimate
            with self._forgetting():
                self._database.remember(gauge_key(table), gauge)
        self._look_after(found)

    def file_compression(self, table: str) -> str:
        """The strongest compression of the families: a file holds all of them."""
        specs = self._database.current().records.get(table)
        if specs is None:
            raise NotFoundError(f'there is no table "{table}"')
        return strongest(specs.values())

    def write_file(self, path: str, puts: Sequence[Put], compression: str = "none") -> bytes:
        """A sorted table of RocksDB."""
        return table_file.write(path, puts, compression).packed()

    def ingest_file(self, table: str, path: str, note: bytes) -> None:
        """Ingest the file into the table through a hard link, so that it can be ingested again."""
        found = self._open_table(table)
        cells, named, samples = Note.of(note)
        unknown = named.difference(found.specs)
        if unknown:
            raise WriteRejectedError(
                f'there is no family {shown(*sorted(unknown))} in table "{table}"',
                hint="restart the service: the events are checked again against the families that exist",
            )
        self._count(found, cells, samples)
        with self._forgetting():
            self._database.take(table, Path(path))
        self._remember(found)
        with self._forgetting():
            self._database.join_neighbours(table)
        self._look_after(found)

    def get(self, table: str, row: bytes, *, columns: Sequence[bytes] | None = None, versions: int = 1) -> Row | None:
        """One row as it is now."""
        return self._database.guarded(lambda: row_at(self._question(table, columns, versions), row))

    def scan(self, table: str, scan: Scan) -> Iterator[Row]:
        """Rows of a range, page by page; each page is consistent in itself."""
        start, stop = scan.bounds()
        left = scan.limit
        while left is None or left > 0:
            page = self._page(table, scan, (start, stop), left)
            yield from page
            if not page:
                return
            left = None if left is None else left - len(page)
            if scan.reverse:
                stop = page[-1].key
            else:
                start = page[-1].key + b"\0"

    def ensure_table(self, spec: TableSpec) -> None:
        """Create the table and its families if they are missing."""
        existing = self._database.writable().records.get(spec.name)
        missing = {family.name: family for family in spec.families if family.name not in (existing or {})}
        if existing is None or missing:
            with self._forgetting():
                self._database.add_families(spec.name, list(missing.values()))

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Give a family other options; existing files get the new compression when they are compacted."""
        if family.name not in self._database.writable().records.get(table, {}):
            raise SchemaError(f'there is no family {shown(family.name)} in table "{table}"')
        found = self._open_table(table)
        # cells may expire sooner now; recorded first, since after a crash in between no sweep would look for them
        found.gauge.expiry = ExpiryIndex(0, self._last_row(found))
        self._remember(found)
        with self._forgetting():
            self._database.change_family(table, family)

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families, as they were declared; bloom filters are ignored here."""
        specs = self._database.current().records.get(name)
        return None if specs is None else TableSpec(name, tuple(spec for _, spec in sorted(specs.items())))

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        specs = self._database.current().records.get(table)
        return None if specs is None else frozenset(specs)

    def tables(self) -> tuple[str, ...]:
        """Names of all tables."""
        return tuple(sorted(self._database.current().records))

    def _count(self, table: OpenTable, cells: int, samples: Sequence[Mutation]) -> None:
        """Count mutations that are about to be written in the table's estimate."""
        gauge = table.gauge
        gauge.count(cells, samples, table.specs)
        with self._forgetting():
            gauge.superseded += self._database.guarded(
                lambda: count_superseded(samples, table.cursor(), table.specs, gauge.passed)
            )

    def _last_row(self, table: OpenTable) -> bytes:
        with self._forgetting():
            return self._database.guarded(lambda: last_row(table.cursor()))

    def _look_after(self, table: OpenTable) -> None:
        if table.gauge.resume is None:
            table.gauge.start_if_due(ttl_s=table.shortest_ttl_s, now_ms=self._clock_ms())
        if table.gauge.resume is not None:
            self._sweep(table)

    def _sweep(self, table: OpenTable) -> int:
        gauge = table.gauge
        now = self._clock_ms()
        batch = WriteBatch(raw_mode=True)
        removed = 0
        span = gauge.next_span(now)
        if span is None:
            gauge.ended()
        else:
            kept = {encode_text(name): _kept(spec, now) for name, spec in table.specs.items()}
            handle = table.handle
            with self._forgetting():
                done = self._database.guarded(
                    lambda: slice_of(
                        table.cursor(), kept, span, gauge.slice_keys, lambda key: batch.delete(key, handle)
                    )
                )
            gauge.went_on(span[0], done, now)
            removed = done.removed
        self._remember(table, batch)
        return removed

    def _remember(self, table: OpenTable, batch: WriteBatch | None = None) -> None:
        """Write the estimate of a table, with the batch that is written."""
        batch = batch or WriteBatch(raw_mode=True)
        batch.put(gauge_key(table.name), table.gauge.record())
        self._write(table.name, batch, logged=True)

    def _write(self, table: str, batch: WriteBatch, *, logged: bool) -> None:
        with self._forgetting():
            self._database.write(table, batch, logged=logged)

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """After an error the database is opened again, which fails while a handle keeps it open."""
        try:
            yield
        except BaseException:
            self._forget()
            # it is not known either which part of the estimate was written
            self._gauges.clear()
            raise

    def _page(self, table: str, scan: Scan, bounds: tuple[bytes, bytes | None], left: int | None) -> list[Row]:
        """The next rows. The cursors end with the call: they would keep RocksDB open while the caller uses the rows."""
        wanted = scan.page_rows if left is None else min(left, scan.page_rows)
        return self._database.guarded(
            lambda: page_of(self._question(table, scan.columns, scan.versions), bounds, wanted, reverse=scan.reverse)
        )

    def _question(self, table: str, columns: Sequence[bytes] | None, versions: int) -> Question:
        opened = self._database.current()
        specs = opened.records.get(table)
        if specs is None:
            raise NotFoundError(f'there is no table "{table}"')
        wanted: dict[bytes, frozenset[bytes] | None] = {}
        for family, qualifier in [(name, None) for name in specs] if columns is None else map(split_column, columns):
            known = wanted.get(family, frozenset())
            wanted[family] = None if known is None or qualifier is None else known | {qualifier}
        now = self._clock_ms()
        parts = [
            Part(
                spec=specs[name],
                text=encode_text(name),
                qualifiers=wanted[name],
                oldest_ms=_oldest_ms(specs[name], now),
                versions=min(versions, specs[name].versions),
            )
            for name in sorted(wanted.keys() & specs.keys())
        ]
        return Question(cast("Cursor", opened.column_families[column_family(table)].iter()), parts)

    def _open_table(self, name: str) -> OpenTable:
        opened = self._database.writable()
        if self._generation != self._database.generation:
            self._forget()
            self._generation = self._database.generation
        found = self._open_tables.get(name)
        if found is None:
            gauge = self._gauges.get(name) or GarbageEstimate.of(opened.root.get(gauge_key(name)), self._clock_ms())
            found = self._open_tables[name] = OpenTable(opened, name, gauge)
            if name not in self._gauges:
                gauge.expiry.top = self._last_row(found)
                self._gauges[name] = gauge
        return found

    def _forget(self) -> None:
        for table in self._open_tables.values():
            table.let_go()
        self._open_tables.clear()
        self._generation = -1


def _kept(spec: FamilySpec, now: int) -> RetentionRule:
    ttl_ms = NEVER if spec.ttl_s is None else spec.ttl_s * 1000
    return RetentionRule(spec.versions, _oldest_ms(spec, now), now - DELETE_KEPT_MS, ttl_ms)


def _oldest_ms(spec: FamilySpec, now: int) -> int:
    return -1 if spec.ttl_s is None else now - spec.ttl_s * 1000

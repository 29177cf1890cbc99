"""The reference store: HBase's rules on plain dictionaries, for tests, `attr2hbase test` and `attr2hbase explain`."""

from bisect import bisect_left, insort
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ingest.api import (
    ALL_TIMES,
    BucketsDifferError,
    Capabilities,
    Cell,
    Delete,
    FamilySpec,
    LifecycleError,
    Mutation,
    NoTableError,
    NotFoundError,
    Put,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    Store,
    StoreSettings,
    TableSpec,
    TimeRange,
    WriteRejectedError,
    rejection_reason,
    split_column,
)
from ingest.api.notation import shown
from ingest.api.properties import check_property, with_property
from ingest.api.replacement import replace_as_only_writer
from ingest.clock import now_ms
from sinks.rowkeys.fuzzy import RemainingRange


class MemorySettings(StoreSettings):
    """Options of the memory store: none; its content is lost with the process."""

    @property
    def cell_ttl_refusal(self) -> None:
        """None: it follows HBase's rules."""
        return


@dataclass(slots=True)
class _Column:
    """
    Versions of one column, time -> value, the time of its newest delete, and the times of exact ones.

    Attributes:
        expire_ms: time -> when the version expires, of those with a time to live of their own.
    """

    versions: dict[int, bytes] = field(default_factory=dict)
    expire_ms: dict[int, int] = field(default_factory=dict)
    deleted_ms: int = -1
    exact_ms: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _RowData:
    """Shape: columns: family -> qualifier -> column; deleted_ms: family -> newest delete of it."""

    columns: dict[bytes, dict[bytes, _Column]] = field(default_factory=dict)
    deleted_ms: dict[bytes, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Table:
    """Rows, their keys in byte order, the families, and the number of buckets."""

    buckets: int | None = None
    families: dict[bytes, FamilySpec] = field(default_factory=dict)
    rows: dict[bytes, _RowData] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)

    def row(self, key: bytes) -> _RowData:
        """The row, created if it is missing."""
        data = self.rows.get(key)
        if data is None:
            data = self.rows[key] = _RowData()
            insort(self.keys, key)
        return data


class MemoryStore(Store[MemorySettings]):
    """
    Tables in memory that follow HBase's rules exactly.

    Tests compare the other stores with this one. The durability of rows has no effect. The tables survive `close`, so a
    second `open` finds them.

    Args:
        clock_ms: the current time, for the age of cells.
    """

    kind = "memory"
    capabilities = Capabilities(
        written_by_driver=True, creates_families=True, creates_tables=True, deletes_versions=True
    )

    def __init__(self, settings: MemorySettings | None = None, *, clock_ms: Callable[[], int] = now_ms) -> None:
        super().__init__(settings or MemorySettings())
        self._clock_ms = clock_ms
        self._tables: dict[str, _Table] = {}
        self._properties: dict[str, Mapping[str, str]] = {}
        self._is_open = False

    def open(self) -> None:
        """Allow calls; there is nothing to connect to."""
        self._is_open = True

    def close(self) -> None:
        """Refuse further calls."""
        self._is_open = False

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Write all mutations, or none if one is rejected."""
        self._check_open()
        found = self._tables.get(table)
        if found is None:
            raise NoTableError(f'there is no table "{table}"')
        refused = {
            index: reason for index, one in enumerate(mutations) if (reason := rejection_reason(one, found.families))
        }
        if refused:
            raise WriteRejectedError(next(iter(refused.values())), indexes=sorted(refused))
        for mutation in mutations:
            if isinstance(mutation, Put):
                _put(found.row(mutation.row), mutation)
            else:
                _delete(found.row(mutation.row), mutation, found.families)

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
        wanted = None if columns is None else tuple(columns)
        return self._visible(self._table(table), row, Scan(columns=wanted, versions=versions, times=times))

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range, page by page; each page is consistent in itself."""
        found, counts = self._table(table), counts or ScanCounts()
        rows = islice(self._rows(found, scan, counts), scan.limit)
        page_rows, has_more = max(1, scan.page_rows), True
        while has_more:
            counts.views += 1
            page = list(islice(rows, page_rows))
            yield from page
            has_more = len(page) == page_rows

    def ensure_table(self, spec: TableSpec) -> None:
        """Create the table and its families if they are missing."""
        self._check_open()
        found = self._tables.setdefault(spec.name, _Table(spec.buckets))
        if found.buckets != spec.buckets:
            if found.rows:
                raise BucketsDifferError(spec.name, spec.buckets, found.buckets)
            found.buckets = spec.buckets
        for family in spec.families:
            found.families.setdefault(family.name, family)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Change the options of a family."""
        self._check_open()
        found = self._tables.get(table)
        if found is None or family.name not in found.families:
            raise SchemaError(f'there is no family {shown(family.name)} in table "{table}"')
        found.families[family.name] = family

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families, as they were declared."""
        self._check_open()
        found = self._tables.get(name)
        if found is None:
            return None
        return TableSpec(name, tuple(spec for _, spec in sorted(found.families.items())), buckets=found.buckets)

    def buckets(self, table: str) -> int | None:
        """The number of buckets of the table."""
        self._check_open()
        found = self._tables.get(table)
        return None if found is None else found.buckets

    def record_buckets(self, table: str, buckets: int | None) -> None:
        """Record the number of buckets of a table with rows, or remove the record."""
        found = self._table(table)
        if buckets is not None and found.buckets not in {None, buckets}:
            raise BucketsDifferError(table, buckets, found.buckets)
        found.buckets = buckets

    def properties(self, table: str) -> Mapping[str, str]:
        """The properties of the table."""
        self._check_open()
        return self._properties.get(table, {})

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """Replace the value of a property if it is the one before."""
        check_property(name, before, value)
        changed = with_property(self.properties(table), name, before, value)
        if changed is not None:
            self._properties[table] = changed
        return changed is not None

    def replace_cell(self, table: str, row: bytes, column: bytes, before: bytes | None, value: bytes) -> bool:
        """Replace the value of a cell if it is the one before."""
        return replace_as_only_writer(self, table, row, column, before, value, self._clock_ms())

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        self._check_open()
        found = self._tables.get(table)
        return None if found is None else frozenset(found.families)

    def tables(self) -> tuple[str, ...]:
        """Names of all tables."""
        self._check_open()
        return tuple(sorted(self._tables))

    def _rows(self, found: _Table, scan: Scan, counts: ScanCounts) -> Generator[Row]:
        remaining = RemainingRange(scan)
        counts.seeks += not remaining.is_empty
        while not remaining.is_empty:
            low = bisect_left(found.keys, remaining.start)
            high = len(found.keys) if remaining.stop is None else bisect_left(found.keys, remaining.stop)
            if low == high:
                return
            key = found.keys[high - 1 if scan.reverse else low]
            if not remaining.take(key):
                counts.touch(key)
                counts.seeks += not remaining.is_empty
                continue
            row = self._visible(found, key, scan)
            counts.touch(key, row.cells if row else ())
            if row is not None:
                yield row

    def _visible(self, table: _Table, key: bytes, scan: Scan) -> Row | None:
        """The cells of a row that a scan selects."""
        data = table.rows.get(key)
        if data is None:
            return None
        wanted = None if scan.columns is None else [split_column(column) for column in scan.columns]
        now, to_ms = self._clock_ms(), scan.times.to_ms
        cells = []
        for family in sorted(data.columns):
            spec = table.families[family]
            oldest = scan.times.from_ms if spec.ttl_s is None else max(scan.times.from_ms, now - spec.ttl_s * 1000)
            hidden_by_family = data.deleted_ms.get(family, -1)
            for qualifier, column in sorted(data.columns[family].items()):
                if wanted is not None and (family, None) not in wanted and (family, qualifier) not in wanted:
                    continue
                hidden = max(hidden_by_family, column.deleted_ms)
                gone = column.exact_ms
                if column.expire_ms:
                    gone = gone | {at for at, end_ms in column.expire_ms.items() if end_ms < now}
                newest = [at for at in column.versions if at > hidden and at not in gone and oldest <= at < to_ms]
                newest.sort(reverse=True)
                cells += [
                    Cell(family, qualifier, at, column.versions[at])
                    for at in newest[: min(scan.versions, spec.versions)]
                ]
        return Row(key, tuple(cells)) if cells else None

    def _table(self, name: str) -> _Table:
        self._check_open()
        found = self._tables.get(name)
        if found is None:
            raise NotFoundError(f'there is no table "{name}"')
        return found

    def _check_open(self) -> None:
        if not self._is_open:
            raise LifecycleError("the memory store is not open")


def _put(data: _RowData, put: Put) -> None:
    for column, value in put.columns.items():
        family, _, qualifier = column.partition(b":")
        found = data.columns.setdefault(family, {}).setdefault(qualifier, _Column())
        found.versions[put.timestamp_ms] = value
        found.expire_ms.pop(put.timestamp_ms, None)
        if put.ttl_ms is not None:
            found.expire_ms[put.timestamp_ms] = put.timestamp_ms + put.ttl_ms


def _delete(data: _RowData, delete: Delete, families: dict[bytes, FamilySpec]) -> None:
    if delete.family is None:
        # as in HBase, a row delete is a marker for each current family of the table
        for family in families:
            data.deleted_ms[family] = max(delete.timestamp_ms, data.deleted_ms.get(family, -1))
    elif delete.qualifier is None:
        data.deleted_ms[delete.family] = max(delete.timestamp_ms, data.deleted_ms.get(delete.family, -1))
    else:
        column = data.columns.setdefault(delete.family, {}).setdefault(delete.qualifier, _Column())
        if delete.exact:
            column.exact_ms.add(delete.timestamp_ms)
        else:
            column.deleted_ms = max(column.deleted_ms, delete.timestamp_ms)

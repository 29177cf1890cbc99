"""HBase as a store."""

import contextlib
from collections.abc import Generator, Sequence

from ingest.api import (
    BucketsDifferError,
    Capabilities,
    FamilySpec,
    Mutation,
    NoTableError,
    NotFoundError,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    Store,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    TableSpec,
    WriteRejectedError,
)
from ingest.api.notation import shown
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.encoding import Call, Encoder
from sinks.hbase.thrift.message import METHOD
from sinks.hbase.thrift.reading import Reader
from sinks.hbase.thrift.records import RECORDS, TableRecords
from sinks.hbase.thrift.schema import Thrift2, create_table, shell_alter, shell_change, shell_create
from sinks.hbase.thrift.thrift1 import AlreadyExists

_DIAGNOSIS_S = 5.0
"""Time-out of the call that finds the reason of a failed write; a healthy server answers at once."""


class HBaseStore(Store[HBaseSettings]):
    """
    Tables of an HBase cluster, through its Thrift server.

    A put is atomic; a delete and a put of one row are two calls, so a reader may see the state between them. After a
    time-out the outcome is unknown: HBase may execute the call later.

    If HBase checks permissions, the user of the Thrift server needs R, W and C on the tables; C to list their families.
    If there is a table `attr2hbase`, which holds the table records of salted tables, the user needs R on it; the
    user of `ingest table apply` also needs W, and the right to create it. Missing permissions, and a table that is
    missing, disabled, read only or over its space quota, block the pipeline until an operator acts; no event fails.
    """

    kind = "hbase"

    def __init__(self, settings: HBaseSettings) -> None:
        super().__init__(settings)
        self.capabilities = Capabilities(
            written_by_driver=False,
            creates_families=settings.thrift2 is not None,
            creates_tables=False,
        )
        self._connection = Connection(settings)
        self._reader = Reader(self._connection)
        self._records = TableRecords(self._connection)
        self._thrift2 = None if settings.thrift2 is None else Thrift2(settings, settings.thrift2)
        self._encoder = Encoder(settings)

    def open(self) -> None:
        """Connect to the Thrift server."""
        self._connection.open()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Send the mutations in as few calls as their timestamps and WAL flags allow."""
        calls = self._encoder.calls(table, mutations, lambda: self._families_to_delete(table))
        self._connection.cache_regions(table, [mutation.row for mutation in mutations])
        for call in calls:
            try:
                self._send(table, call)
            except WriteRejectedError as error:
                refused = list(call.indexes) if len(call.indexes) == 1 else None
                raise WriteRejectedError(
                    error.message, indexes=refused, code=error.code, hint=error.hint
                ) from error.__cause__
            except StoreUnavailableError as error:
                raise self._disabled(table) or error from error.__cause__

    def get(self, table: str, row: bytes, *, columns: Sequence[bytes] | None = None, versions: int = 1) -> Row | None:
        """One row; several versions take one more call for each column."""
        return self._reader.get(table, row, columns, versions)

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range; several versions take one more call for each column of a row."""
        return self._reader.scan(table, scan, counts or ScanCounts())

    def ensure_table(self, spec: TableSpec) -> None:
        """Create what is missing; families of a live table and split points need `thrift2`."""
        if _has_records(spec.name):
            raise SchemaError(f'"{RECORDS}" is the table of records of this product', hint="choose another name")
        known = self.families(spec.name)
        recorded = self._records.buckets(spec.name)
        if spec.buckets != recorded:
            if known is not None and self._has_rows(spec.name):
                raise BucketsDifferError(spec.name, spec.buckets, recorded)
            # before the table exists, so that no row is written without it
            self._records.set_buckets(spec.name, spec.buckets)
        if known is None:
            self._create(spec)
            return
        missing = [family for family in spec.families if family.name not in known]
        if not missing:
            return
        if self._thrift2 is None:
            names = shown(*(family.name for family in missing))
            raise _by_hand(
                f'no family {names} in table "{spec.name}", and the Thrift server cannot add one',
                shell_alter(spec.name, missing),
            )
        for family in missing:
            try:
                self._thrift2.add_family(spec.name, family)
            except SchemaError:
                if family.name not in (self.families(spec.name) or ()):
                    raise  # else another client has added it

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Alter a family of a live table; needs `thrift2`."""
        if self._thrift2 is None:
            raise _by_hand(
                f'family {shown(family.name)} of table "{table}" differs, and the Thrift server cannot alter it',
                shell_change(table, family),
            )
        try:
            self._thrift2.change_family(table, family)
        except StoreRefusedError as error:
            if self.families(table) is None:
                raise SchemaError(error.message, hint=error.hint) from error.__cause__
            raise

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families and its split points."""
        try:
            families = self._reader.described(name)
            return TableSpec(name, families, self._reader.splits(name), self._records.buckets(name))
        except NotFoundError:
            return None

    def buckets(self, table: str) -> int | None:
        """The number of buckets in the table's record."""
        return self._records.buckets(table)

    def record_buckets(self, table: str, buckets: int) -> None:
        """Record the number of buckets of a table with rows."""
        if self.families(table) is None:
            raise NotFoundError(f'there is no table "{table}"')
        found = self._records.buckets(table)
        if found not in {None, buckets}:
            raise BucketsDifferError(table, buckets, found)
        self._records.set_buckets(table, buckets)

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        if _has_records(table):
            return None  # no event may change a record
        try:
            return self._reader.families(table)
        except NotFoundError:
            return None

    def tables(self) -> tuple[str, ...]:
        """Names of all tables but that of the records."""
        names = self._connection.call(lambda client: client.getTableNames())
        return tuple(sorted(name.decode() for name in names if name != RECORDS.encode()))

    def _has_rows(self, table: str) -> bool:
        with contextlib.closing(self._reader.scan(table, Scan(limit=1), ScanCounts())) as rows:
            return next(rows, None) is not None

    def _send(self, table: str, call: Call) -> None:
        self._connection.call(lambda client: client.send(METHOD, call.message), table=table)

    def _families_to_delete(self, table: str) -> tuple[bytes, ...]:
        families = self.families(table)
        if families is None:
            raise NoTableError(f'there is no table "{table}"')
        return tuple(sorted(families))

    def _disabled(self, table: str) -> StoreRefusedError | None:
        """The reason why a write got no answer, if the table is disabled: HBase waits for its regions."""
        connection = Connection(self.settings.with_timeout(_DIAGNOSIS_S))
        try:
            connection.open()
            enabled = connection.call(lambda client: client.isTableEnabled(table.encode()), table=table)
        except StoreError:
            return None
        finally:
            connection.close()
        if enabled:
            return None
        return StoreRefusedError(f'table "{table}" is disabled', hint=f"enable '{table}' in the hbase shell")

    def _create(self, spec: TableSpec) -> None:
        if spec.splits and self._thrift2 is None:
            raise _by_hand(
                f'table "{spec.name}" has split points, and the Thrift server cannot create them', shell_create(spec)
            )
        if not spec.families:
            raise SchemaError(f'table "{spec.name}" has no family, and HBase creates no table without one')
        try:
            if spec.splits and self._thrift2 is not None:
                self._thrift2.create_table(spec)
            else:
                create_table(self._connection, spec)
        except WriteRejectedError as error:
            raise SchemaError(error.message, hint=error.hint) from error.__cause__
        except StoreError as error:
            if not isinstance(error.__cause__, AlreadyExists):
                raise
            self.ensure_table(spec)  # another client has created it


def _has_records(table: str) -> bool:
    return table.removeprefix("default:") == RECORDS


def _by_hand(message: str, command: str) -> SchemaError:
    return SchemaError(
        message, hint=f"give the store `thrift2`, or type into the hbase shell: {command}", command=command
    )

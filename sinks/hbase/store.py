"""HBase as a store."""

import contextlib
from collections.abc import Generator, Mapping, Sequence

from ingest.api import (
    ALL_TIMES,
    BucketsDifferError,
    BusyWait,
    Capabilities,
    Durability,
    FamilySpec,
    IngestError,
    Mutation,
    NotFoundError,
    Row,
    Scan,
    ScanCounts,
    SchemaError,
    Store,
    StoredRegion,
    TableSpec,
    TimeRange,
    WriteRejectedError,
)
from ingest.api.notation import shown
from ingest.api.properties import check_property
from ingest.api.replacement import check_replacement
from sinks.hbase.client import HBaseClient, TableExistsError
from sinks.hbase.errors import Kind, error_of_kind
from sinks.hbase.records import RECORDS, TableRecords
from sinks.hbase.settings import HBaseSettings

_REFUSES_REPLICATED = 3
"""First version that refuses rows of replicated families without the write-ahead log; others do not replicate them."""


class HBaseStore(Store[HBaseSettings]):
    """
    Tables of an HBase cluster, through a Thrift server or with HBase's native RPC.

    A put is atomic. A delete and a put of one row are two calls, so a reader may see the state between them. After a
    time-out the outcome is unknown: HBase may execute the call later.

    If HBase checks permissions, the user needs R, W and C on the tables; C to list their families. With a Thrift server
    this is the server's user. If there is a table `attr2hbase`, which holds the table records of salted tables and of
    tables with properties, the user needs R on it. A user that writes a record, as `attr2hbase table apply` does, also
    needs W, and the right to create it. Missing permissions, and a table that is missing, disabled, read only or over
    its space quota, block the pipeline until an operator acts; no event fails.
    """

    kind = "hbase"

    def __init__(self, settings: HBaseSettings) -> None:
        super().__init__(settings)
        self.capabilities = Capabilities(
            written_by_driver=False,
            creates_families=settings.creates_families,
            creates_tables=False,
            deletes_versions=settings.deletes_versions,
        )
        self._client = _client(settings)
        self._records = TableRecords(self._client)

    def open(self) -> None:
        """Connect to the cluster."""
        self._client.open()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Send the mutations in as few calls as the protocol allows."""
        self._client.apply(table, mutations)

    def region_starts(self, table: str) -> Sequence[bytes]:
        """The starts of the regions but the first."""
        return self._client.splits(table)

    def take_busy_waits(self) -> list[BusyWait]:
        """Those of the client of HBase's native RPC; a Thrift server waits itself."""
        return self._client.take_busy_waits()

    def get(
        self,
        table: str,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row."""
        return self._client.get(table, row, columns, versions, times)

    def scan(self, table: str, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range."""
        return self._client.scan(table, scan, counts or ScanCounts())

    def ensure_table(self, spec: TableSpec) -> None:
        """Create what is missing; through a Thrift server, families of a live table and split points need `thrift2`."""
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
        elif missing := [family for family in spec.families if family.name not in known]:
            self._client.add_families(spec.name, missing)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """Alter a family of a live table; through a Thrift server, this needs `thrift2`."""
        self._client.change_family(table, family)

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families and its split points."""
        try:
            families = self._client.families(name)
            return TableSpec(name, families, self._client.splits(name), self._records.buckets(name))
        except NotFoundError:
            return None

    def buckets(self, table: str) -> int | None:
        """The number of buckets in the table's record."""
        return self._records.buckets(table)

    def record_buckets(self, table: str, buckets: int | None) -> None:
        """Record the number of buckets of a table with rows, or remove the record."""
        if self.families(table) is None:
            raise NotFoundError(f'there is no table "{table}"')
        found = self._records.buckets(table)
        if buckets is not None and found not in {None, buckets}:
            raise BucketsDifferError(table, buckets, found)
        self._records.set_buckets(table, buckets)

    def properties(self, table: str) -> Mapping[str, str]:
        """The properties in the table's record; one call."""
        return self._records.properties(table)

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """The number of buckets and the properties in the table's record; one call."""
        return self._records.record(table)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """Replace the value of a property if it is the one before: a check-and-put, after a read if there was none."""
        check_property(name, before, value)
        return self._records.set_property(table, name, before, value)

    def replace_cell(self, table: str, row: bytes, column: bytes, before: bytes | None, value: bytes) -> bool:
        """Replace the value of a cell if it is the one before; one call, a check-and-put, if nothing competes."""
        check_replacement(before, value)
        if self._client.replace(table, row, column, before=before, value=value):
            return True
        # an earlier attempt, whose answer was lost, may have written it
        return self._client.values(table, row, column).get(column) == value

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        if _has_records(table):
            return None  # no event may change a record
        try:
            return frozenset(family.name for family in self._client.families(table))
        except NotFoundError:
            return None

    def tables(self) -> tuple[str, ...]:
        """Names of all tables but that of the records."""
        return tuple(sorted(name for name in self._client.table_names() if name != RECORDS))

    @property
    def connected_by(self) -> str:
        """A Thrift server, or HBase's native RPC."""
        return self._client.protocol

    def regions(self, table: str) -> tuple[StoredRegion, ...] | None:
        """The regions of a table; a Thrift server does not report their sizes."""
        return self._client.regions(table)

    def server_version(self) -> str | None:
        """The version of the master; a Thrift server does not say it."""
        return self._client.version()

    def refusal_of(self, table: str, family: bytes, durability: Durability) -> IngestError | None:
        """That of HBase 3 for a replicated family and `skip`; unknown through a Thrift server."""
        if durability is not Durability.SKIP or family not in self._client.replicated_families(table):
            return None
        major = (self._client.version() or "").partition(".")[0]
        if not major.isdecimal() or int(major) < _REFUSES_REPLICATED:
            return None
        return error_of_kind(Kind.REPLICATED, table, f"family {shown(family)}")

    def _has_rows(self, table: str) -> bool:
        with contextlib.closing(self._client.scan(table, Scan(limit=1), ScanCounts())) as rows:
            return next(rows, None) is not None

    def _create(self, spec: TableSpec) -> None:
        if not spec.families:
            raise SchemaError(f'table "{spec.name}" has no family, and HBase creates no table without one')
        try:
            self._client.create_table(spec)
        except WriteRejectedError as error:
            raise SchemaError(error.message, hint=error.hint) from error.__cause__
        except TableExistsError:
            self.ensure_table(spec)  # another client has created it


def _client(settings: HBaseSettings) -> HBaseClient:
    """The client that the settings name; the other one is not imported."""
    if settings.bootstrap_servers is not None:
        from sinks.hbase.rpc.client import RpcClient

        return RpcClient(settings)
    from sinks.hbase.thrift.client import ThriftClient

    return ThriftClient(settings)


def _has_records(table: str) -> bool:
    return table.removeprefix("default:") == RECORDS

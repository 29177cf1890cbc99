"""HBase as a store: what both protocols share."""

import contextlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from ingest.api import (
    BucketsDifferError,
    Capabilities,
    FamilySpec,
    NotFoundError,
    Scan,
    SchemaError,
    Store,
    TableSpec,
    WriteRejectedError,
)
from ingest.api.properties import check_property
from ingest.api.replacement import check_replacement
from sinks.hbase.errors import TableExistsError
from sinks.hbase.records import RECORDS, TableRecords
from sinks.hbase.settings import HBaseSettings


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
            mixes_puts=settings.is_native,
            call_s=settings.timeout,
        )
        self._records = TableRecords(self)

    @classmethod
    def of(cls, settings: HBaseSettings) -> "HBaseStore":
        """The store of the protocol that the settings name; the package of the other one is not imported."""
        if settings.is_native:
            from sinks.hbase.rpc.store import RpcStore

            return RpcStore(settings)
        from sinks.hbase.thrift.store import ThriftStore

        return ThriftStore(settings)

    # of each protocol, beside the abstract methods of `Store`

    @abstractmethod
    def table_names(self) -> Sequence[str]:
        """Names of all tables of users, also that of the records."""

    @abstractmethod
    def family_specs(self, table: str) -> tuple[FamilySpec, ...]:
        """
        A table's families, by name.

        Raises:
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def create_table(self, spec: TableSpec) -> None:
        """
        Create a table with its split points.

        Raises:
            TableExistsError: there is one with this name.
            SchemaError: this store cannot create it.
        """

    @abstractmethod
    def add_family(self, table: str, family: FamilySpec) -> None:
        """
        Add a family to a live table.

        Raises:
            SchemaError: there is no such table, there is such a family, or this store cannot add it.
        """

    @abstractmethod
    def values(self, table: str, row: bytes, column: bytes) -> Mapping[bytes, bytes]:
        """
        The value of a cell, or those of a family: column -> value; none if there is no such cell or no such table.

        Raises:
            NoFamilyError: the table lacks the family.
        """

    @abstractmethod
    def replace(self, table: str, row: bytes, column: bytes, *, before: bytes | None, value: bytes) -> bool:
        """
        Write a cell if its value is still the one before; returns whether the last attempt has written it.

        False may also mean that an earlier attempt, whose answer was lost, has written it: read the cell then.

        Args:
            table: that exists.
            row: the row key.
            column: the cell.
            before: the expected value; None for no cell.
            value: the new value, with the server's time.

        Raises:
            StoreError: as `apply`.
        """

    # of both protocols

    def ensure_table(self, spec: TableSpec) -> None:
        """Create what is missing; through a Thrift server, families of a live table and split points need `thrift2`."""
        if _has_records(spec.name):
            raise SchemaError(f'"{RECORDS}" is the table of records of this product', hint="choose another name")
        known = self.families(spec.name)
        recorded = self.buckets(spec.name)
        if spec.buckets != recorded:
            if known is not None and self._has_rows(spec.name):
                raise BucketsDifferError(spec.name, spec.buckets, recorded)
            # before the table exists, so that no row is written without it
            self._records.set_buckets(spec.name, spec.buckets)
        if known is None:
            self._create(spec)
        elif missing := [family for family in spec.families if family.name not in known]:
            self.add_families(spec.name, missing)

    def add_families(self, table: str, families: Sequence[FamilySpec]) -> None:
        """
        Add families to a live table; one that another client adds meanwhile stays as it is.

        Raises:
            SchemaError: this store cannot add them.
        """
        for family in families:
            try:
                self.add_family(table, family)
            except SchemaError:
                if family.name not in (self.families(table) or ()):
                    raise  # else another client has added it

    def describe_table(self, name: str) -> TableSpec | None:
        """The table's families and its split points."""
        try:
            families = self.family_specs(name)
            return TableSpec(name, families, tuple(self.region_starts(name)), self.buckets(name))
        except NotFoundError:
            return None

    def families(self, table: str) -> frozenset[bytes] | None:
        """Names of the table's families."""
        if _has_records(table):
            return None  # no event may change a record
        try:
            return frozenset(family.name for family in self.family_specs(table))
        except NotFoundError:
            return None

    def tables(self) -> tuple[str, ...]:
        """Names of all tables but that of the records."""
        return tuple(sorted(name for name in self.table_names() if name != RECORDS))

    def replace_cell(self, table: str, row: bytes, column: bytes, before: bytes | None, value: bytes) -> bool:
        """Replace the value of a cell if it is the one before; one call, a check-and-put, if nothing competes."""
        check_replacement(before, value)
        if self.replace(table, row, column, before=before, value=value):
            return True
        # an earlier attempt, whose answer was lost, may have written it
        return self.values(table, row, column).get(column) == value

    def buckets(self, table: str) -> int | None:
        """The number of buckets in the table's record."""
        return self._records.buckets(table)

    def record_buckets(self, table: str, buckets: int | None) -> None:
        """Record the number of buckets of a table with rows, or remove the record."""
        if self.families(table) is None:
            raise NotFoundError(f'there is no table "{table}"')
        found = self.buckets(table)
        if buckets is not None and found not in {None, buckets}:
            raise BucketsDifferError(table, buckets, found)
        self._records.set_buckets(table, buckets)

    def properties(self, table: str) -> Mapping[str, str]:
        """The properties in the table's record; one call."""
        return self.record(table)[1]

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """The number of buckets and the properties in the table's record; one call."""
        return self._records.record(table)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """Replace the value of a property if it is the one before: a check-and-put, after a read if there was none."""
        check_property(name, before, value)
        return self._records.set_property(table, name, before, value)

    def _has_rows(self, table: str) -> bool:
        with contextlib.closing(self.scan(table, Scan(limit=1))) as rows:
            return next(rows, None) is not None

    def _create(self, spec: TableSpec) -> None:
        if not spec.families:
            raise SchemaError(f'table "{spec.name}" has no family, and HBase creates no table without one')
        try:
            self.create_table(spec)
        except WriteRejectedError as error:
            raise SchemaError(error.message, hint=error.hint) from error.__cause__
        except TableExistsError:
            self.ensure_table(spec)  # another client has created it


def _has_records(table: str) -> bool:
    return table.removeprefix("default:") == RECORDS

"""
What the product records of tables in HBase, beside their schema: one row for each in a small table of its own.

A table without buckets needs no row, and a cluster without such tables needs no table of records.
"""

from ingest.api import (
    BucketsDifferError,
    FamilySpec,
    IntegrityError,
    NotFoundError,
    StoreError,
    StoreRefusedError,
    TableSpec,
)
from ingest.api.notation import shown
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.errors import rule_for, text_of
from sinks.hbase.thrift.schema import create_table
from sinks.hbase.thrift.thrift1 import AlreadyExists, HBaseIOError, ThriftMutation

RECORDS = "attr2hbase"
"""The table of records; its row keys are names of tables."""
_FAMILY = b"t"
_BUCKETS = b"t:buckets"


def buckets_of(table: str, value: bytes | None) -> int | None:
    """
    The number of buckets in the cell of a record; None for a table without buckets.

    Raises:
        IntegrityError: it is no number: another version wrote it.
    """
    if not value:
        return None
    if not value.isdigit():
        raise IntegrityError(
            f'the record of table "{table}" in table "{RECORDS}" is {shown(value)}, this version reads a number',
            hint="use the version that wrote it, or a later one",
        )
    return int(value)


class TableRecords:
    """The records of the tables of one cluster, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._has_table = False

    def buckets(self, table: str) -> int | None:
        """
        The number of buckets of a table; None if its row keys are stored as they are.

        Raises:
            IntegrityError: another version wrote the record.
        """
        return buckets_of(table, self._value(table))

    def set_buckets(self, table: str, buckets: int | None) -> None:
        """
        Record the number of buckets of a table; its caller knows that it fits the rows.

        Raises:
            BucketsDifferError: another client has recorded another number meanwhile.
        """
        self._create()
        before = self._value(table)
        wanted = b"" if buckets is None else b"%d" % buckets
        if wanted == (before or b""):
            return
        mutation = ThriftMutation(column=_BUCKETS, value=wanted, writeToWAL=True)
        was_put = self._connection.call(
            lambda client: client.checkAndPut(RECORDS.encode(), _row_of(table), _BUCKETS, before, mutation, {}),
            table=RECORDS,
        )
        if not was_put and (found := self.buckets(table)) != buckets:
            raise BucketsDifferError(table, buckets, found)

    def _value(self, table: str) -> bytes | None:
        if not self._has_table:
            # a get from a missing table would leave a stack trace in the server's log
            regions = self._connection.read(RECORDS, "getTableRegions", RECORDS.encode())
            self._has_table = bool(regions)
        if not self._has_table:
            return None
        try:
            cells = self._connection.read(RECORDS, "get", RECORDS.encode(), _row_of(table), _BUCKETS, {})
        except NotFoundError:
            self._has_table = False
            return None
        except StoreRefusedError as error:
            raise _without_family(error) or error from error.__cause__
        return cells[0].value if cells else None

    def _create(self) -> None:
        try:
            create_table(self._connection, TableSpec(RECORDS, (FamilySpec(_FAMILY),)))
        except StoreError as error:
            # the next read finds out whether an existing table is ours
            if not isinstance(error.__cause__, AlreadyExists):
                raise


def _without_family(error: StoreRefusedError) -> StoreRefusedError | None:
    """The error of a read, if it failed because a table of this name has another purpose."""
    if not isinstance(error.__cause__, HBaseIOError) or rule_for(text_of(error.__cause__), RECORDS).name != "no_family":
        return None
    return StoreRefusedError(
        f'table "{RECORDS}" has no family "{_FAMILY.decode()}": it is not a table of table records',
        hint=f'table records need the name "{RECORDS}": clone a snapshot of the table under another name, then drop it',
    )


def _row_of(table: str) -> bytes:
    """The row of a table's record: `default:t` and `t` are one table."""
    return table.removeprefix("default:").encode()

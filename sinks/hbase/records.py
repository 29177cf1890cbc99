"""
What the product records of tables in HBase, beside their schema: one row for each in a small table of its own.

A table without buckets needs no row, and a cluster without such tables needs no table of records.
"""

from ingest.api import BucketsDifferError, FamilySpec, NotFoundError, StoreError, TableSpec
from sinks.hbase.connection import Connection
from sinks.hbase.errors import read_error
from sinks.hbase.schema import create_table
from sinks.hbase.thrift1 import AlreadyExists, ThriftMutation

RECORDS = "attr2hbase"
"""The table of records; its row keys are names of tables."""
_FAMILY = b"t"
_BUCKETS = b"t:buckets"


class TableRecords:
    """The records of the tables of one cluster, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._has_table = False

    def buckets(self, table: str) -> int | None:
        """The number of buckets of a table; None if its row keys are stored as they are."""
        value = self._value(table)
        return int(value) if value else None

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
            regions = self._connection.call(lambda client: client.getTableRegions(RECORDS.encode()), table=RECORDS)
            self._has_table = bool(regions)
        if not self._has_table:
            return None
        try:
            cells = self._connection.call(
                lambda client: client.get(RECORDS.encode(), _row_of(table), _BUCKETS, {}), table=RECORDS
            )
        except StoreError as error:
            if isinstance(read_error(error), NotFoundError):
                self._has_table = False
                return None
            raise
        return cells[0].value if cells else None

    def _create(self) -> None:
        try:
            create_table(self._connection, TableSpec(RECORDS, (FamilySpec(_FAMILY),)))
        except StoreError as error:
            if not isinstance(error.__cause__, AlreadyExists):
                raise


def _row_of(table: str) -> bytes:
    """The row of a table's record: `default:t` and `t` are one table."""
    return table.removeprefix("default:").encode()

"""
What the product records of tables in HBase, beside their schema: one row for each in a small table of its own.

A table without buckets needs no row, and a cluster without such tables needs no table of records.
"""

import contextlib

from ingest.api import BucketsDifferError, FamilySpec, IntegrityError, StoreRefusedError, TableSpec
from ingest.api.notation import shown
from sinks.hbase.client import HBaseClient, NoFamilyError, TableExistsError

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
    """The records of the tables of one cluster."""

    def __init__(self, client: HBaseClient) -> None:
        self._client = client

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
        with contextlib.suppress(TableExistsError):  # the next read finds out whether an existing table is ours
            self._client.create_table(TableSpec(RECORDS, (FamilySpec(_FAMILY),)))
        before = self._value(table)
        wanted = b"" if buckets is None else b"%d" % buckets
        if wanted == (before or b""):
            return
        was_written = self._client.replace(RECORDS, _row_of(table), _BUCKETS, before=before, value=wanted)
        if not was_written and (found := self.buckets(table)) != buckets:
            raise BucketsDifferError(table, buckets, found)

    def _value(self, table: str) -> bytes | None:
        try:
            return self._client.value(RECORDS, _row_of(table), _BUCKETS)
        except NoFamilyError as error:
            raise StoreRefusedError(
                f'table "{RECORDS}" has no family "{_FAMILY.decode()}": it is not a table of table records',
                hint=f'table records need the name "{RECORDS}": clone a snapshot of the table under another name, '
                "then drop it",
            ) from error


def _row_of(table: str) -> bytes:
    """The row of a table's record: `default:t` and `t` are one table."""
    return table.removeprefix("default:").encode()

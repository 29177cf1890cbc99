"""
What the product records of tables in HBase, beside their schema: one row for each in a small table of its own.

The row has a cell for the number of buckets and one for each property, `t:NAME`. A cell is never deleted: an empty one
stands for no value. A table without buckets and properties needs no row, and a cluster without such tables needs no
table of records.
"""

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ingest.api import BucketsDifferError, FamilySpec, IntegrityError, NoTableError, StoreRefusedError, TableSpec
from ingest.api.notation import shown, shown_start
from ingest.api.properties import BUCKETS
from sinks.hbase.errors import NoFamilyError, TableExistsError

if TYPE_CHECKING:
    from sinks.hbase.store import HBaseStore

RECORDS = "attr2hbase"
"""The table of records; its row keys are names of tables."""
_FAMILY = b"t"
_ANOTHER_VERSION = "use the version that wrote it, or a later one"


def buckets_of(table: str, value: bytes) -> int | None:
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
            hint=_ANOTHER_VERSION,
        )
    return int(value)


class TableRecords:
    """
    The records of the tables of one cluster.

    Args:
        store: the cluster; records need `values`, `replace` and `create_table` of it.
    """

    def __init__(self, store: "HBaseStore") -> None:
        self._store = store

    def buckets(self, table: str) -> int | None:
        """
        The number of buckets of a table; None if its row keys are stored as they are.

        Raises:
            IntegrityError: another version wrote the record.
        """
        return buckets_of(table, self._value(table, BUCKETS))

    def set_buckets(self, table: str, buckets: int | None) -> None:
        """
        Record the number of buckets of a table; its caller knows that it fits the rows.

        Raises:
            BucketsDifferError: another client has recorded another number meanwhile.
        """
        before = self._value(table, BUCKETS)
        if not self._replace(table, BUCKETS, before, b"" if buckets is None else b"%d" % buckets):
            raise BucketsDifferError(table, buckets, self.buckets(table))

    def record(self, table: str) -> tuple[int | None, Mapping[str, str]]:
        """
        The number of buckets and the properties of a table, as `Store.record`.

        Raises:
            IntegrityError: another version wrote the record.
        """
        found = dict(self._values(table, _FAMILY))
        buckets = buckets_of(table, found.pop(_column(BUCKETS), b""))
        return buckets, dict(_property_of(table, column, value) for column, value in found.items() if value)

    def set_property(self, table: str, name: str, before: str | None, value: str | None) -> bool:
        """Replace the value of a property if it is the one before; as `Store.set_property`."""
        return self._replace(table, name, (before or "").encode(), (value or "").encode())

    def _replace(self, table: str, name: str, before: bytes, value: bytes) -> bool:
        """
        Write a value if the present one is the one before, or the new one; empty is no value.

        Returns:
            Whether the record now has the value.
        """
        if before and before != value:
            # one call in nearly all cases: a mark is moved with every micro-batch
            with contextlib.suppress(NoTableError, NoFamilyError):
                if self._store.replace(RECORDS, _row_of(table), _column(name), before=before, value=value):
                    return True
            # an earlier attempt, whose answer was lost, may have written it
            return self._value(table, name) == value
        cell = self._cell(table, name)
        if (cell or b"") == value:
            return True
        if (cell or b"") != before:
            return False
        if self._put(table, name, cell, value):
            return True
        return self._value(table, name) == value  # as above

    def _put(self, table: str, name: str, cell: bytes | None, value: bytes) -> bool:
        """Replace a cell in the table of records, which the first record creates."""
        row, column = _row_of(table), _column(name)
        try:
            return self._store.replace(RECORDS, row, column, before=cell, value=value)
        except NoTableError:
            with contextlib.suppress(TableExistsError):  # another client has created it
                self._store.create_table(TableSpec(RECORDS, (FamilySpec(_FAMILY),)))
        return self._store.replace(RECORDS, row, column, before=cell, value=value)

    def _value(self, table: str, name: str) -> bytes:
        """The value in a cell; empty for none."""
        return self._cell(table, name) or b""

    def _cell(self, table: str, name: str) -> bytes | None:
        return self._values(table, _column(name)).get(_column(name))

    def _values(self, table: str, column: bytes) -> Mapping[bytes, bytes]:
        try:
            return self._store.values(RECORDS, _row_of(table), column)
        except NoFamilyError as error:
            raise StoreRefusedError(
                f'table "{RECORDS}" has no family "{_FAMILY.decode()}": it is not a table of table records',
                hint=f'table records need the name "{RECORDS}": clone a snapshot of the table under another name, '
                "then drop it",
            ) from error


def _row_of(table: str) -> bytes:
    """The row of a table's record: `default:t` and `t` are one table."""
    return table.removeprefix("default:").encode()


def _column(name: str) -> bytes:
    return _FAMILY + b":" + name.encode()


def _property_of(table: str, column: bytes, value: bytes) -> tuple[str, str]:
    """Name and value of the property in a cell."""
    try:
        return column.removeprefix(_FAMILY + b":").decode(), value.decode()
    except UnicodeDecodeError as error:
        raise IntegrityError(
            f'cell {shown(column)} of the record of table "{table}" in table "{RECORDS}" is {shown_start(value)}, '
            "this version reads text",
            hint=_ANOTHER_VERSION,
        ) from error

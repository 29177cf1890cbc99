"""A table of an open database, and the estimate of its garbage."""

from typing import cast

from rocksdict import ColumnFamily, Rdict

from ingest.api import LifecycleError, NoTableError
from sinks.rocksdb.database import Opened
from sinks.rocksdb.keys import cell_column
from sinks.rocksdb.reading import Cursor
from sinks.rocksdb.sweep import GarbageEstimate
from sinks.rocksdb.tables import column_family

MAX_PREPARED = 50_000
"""Columns whose key parts are kept; those of further columns are encoded again each time."""


class OpenTable:
    """
    One table, ready for writes until its families change or the database is opened again.

    Attributes:
        specs: family -> its specification.
        shortest_ttl_s: the shortest time to live of a family, None when all live for ever.
        gauge: estimate of the cells that no read returns.

    Raises:
        NoTableError: there is no such table.
    """

    def __init__(self, opened: Opened, name: str, gauge: GarbageEstimate) -> None:
        if name not in opened.records:
            raise NoTableError(f'there is no table "{name}"')
        self.name = name
        self.specs = opened.records[name]
        lives = [spec.ttl_s for spec in self.specs.values() if spec.ttl_s is not None]
        self.shortest_ttl_s = min(lives, default=None)
        self.gauge = gauge
        self._prepared: dict[bytes, bytes] = {}
        place = column_family(name)
        self._handles: tuple[ColumnFamily, Rdict] | None = (
            opened.root.get_column_family_handle(place),
            opened.column_families[place],
        )

    @property
    def handle(self) -> ColumnFamily:
        """Where RocksDB keeps the table."""
        return self._held()[0]

    def let_go(self) -> None:
        """Drop all handles: the folder stays locked while one exists, even in a traceback."""
        self._handles = None

    def cursor(self) -> Cursor:
        """An iterator over the table; it keeps the database open while it exists."""
        return cast("Cursor", self._held()[1].iter())

    def prepared(self) -> dict[bytes, bytes]:
        """Column -> what stands between row and time in its key; filled by `prepare`."""
        if len(self._prepared) > MAX_PREPARED:
            self._prepared = {}
        return self._prepared

    def prepare(self, column: bytes) -> bytes:
        """
        The same for a new column.

        Raises:
            KeyError: there is no such family, or no colon.
        """
        family, colon, _ = column.partition(b":")
        if not colon or family not in self.specs:
            raise KeyError(column)
        found = self._prepared[column] = cell_column(column)
        return found

    def _held(self) -> tuple[ColumnFamily, Rdict]:
        if self._handles is None:
            raise LifecycleError("a table of the rocksdb store is used after it was closed")
        return self._handles

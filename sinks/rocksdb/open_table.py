"""A table of an open database, with its garbage estimate."""

from typing import cast

from rocksdict import ColumnFamily, Rdict

from ingest.api import LifecycleError, NoTableError
from sinks.rocksdb.database import Opened
from sinks.rocksdb.keys import cell_column
from sinks.rocksdb.reading import Cursor
from sinks.rocksdb.sweep import GarbageEstimate
from sinks.rocksdb.tables import column_family

MAX_CACHED_COLUMNS = 50_000
"""Maximum number of columns with cached key parts."""


class OpenTable:
    """
    One table, open for writes until its families change or the database is reopened.

    Attributes:
        specs: family -> its specification.
        shortest_ttl_s: the shortest time to live of a family; None if no cells expire.
        estimate: of the cells that no read returns.

    Raises:
        NoTableError: there is no such table.
    """

    def __init__(self, opened: Opened, name: str, estimate: GarbageEstimate) -> None:
        if name not in opened.records:
            raise NoTableError(f'there is no table "{name}"')
        self.name = name
        self.specs = opened.records[name].families
        lives = [spec.ttl_s for spec in self.specs.values() if spec.ttl_s is not None]
        self.shortest_ttl_s = min(lives, default=None)
        self.estimate = estimate
        self._prepared: dict[bytes, bytes] = {}
        place = column_family(name)
        self._handles: tuple[ColumnFamily, Rdict] | None = (
            opened.root.get_column_family_handle(place),
            opened.column_families[place],
        )

    @property
    def handle(self) -> ColumnFamily:
        """The column family of the table."""
        return self._open_handles()[0]

    def release(self) -> None:
        """Drop all handles: the folder stays locked while one exists, even in a traceback."""
        self._handles = None

    def cursor(self) -> Cursor:
        """An iterator over the table; it keeps the database open while it exists."""
        return cast("Cursor", self._open_handles()[1].iter())

    def prepared(self) -> dict[bytes, bytes]:
        """Column -> the part of its keys between row and time; `prepare` adds to it."""
        if len(self._prepared) > MAX_CACHED_COLUMNS:
            self._prepared = {}
        return self._prepared

    def prepare(self, column: bytes) -> bytes:
        """
        Add a column; returns the part of its keys.

        Raises:
            KeyError: the table has no such family, or the column has no colon.
        """
        family, colon, _ = column.partition(b":")
        if not colon or family not in self.specs:
            raise KeyError(column)
        found = self._prepared[column] = cell_column(column)
        return found

    def _open_handles(self) -> tuple[ColumnFamily, Rdict]:
        if self._handles is None:
            raise LifecycleError("a table of the rocksdb store is used after close")
        return self._handles

"""The families of a store's tables that a worker knows, and missing ones that events named."""

from collections.abc import Callable, Mapping
from typing import Protocol

from ingest.api import Put

MAX_AGE_S = 60.0
"""How long the families of a table are cached, within a flush cycle, when a family is missing."""
MAX_VALID_COLUMNS = 100_000
"""Maximum number of cached columns of a table."""
MAX_VALID_BYTES = 16 << 20
"""Maximum size of the names of these columns: events name them."""


class HasFamilies(Protocol):
    """What has tables: a store, or the mutator of one."""

    def families(self, table: str) -> frozenset[bytes] | None:
        """As `Store.families`."""


class KnownFamilies:
    """
    Caches the families of one store's tables, as far as the mutations of a flush cycle need them.

    Called by one thread, which starts each flush cycle with the families that the driver knows.

    Args:
        store: that has the tables.
        clock: monotonic seconds.

    Attributes:
        valid_columns: table -> columns whose families are known to exist.
        needed: table -> missing families that events of this flush cycle named; an empty set if only the table is
            missing.
    """

    def __init__(self, store: HasFamilies, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._read_at: dict[str, float] = {}
        self._at_limit: frozenset[str] = frozenset()
        self.valid_columns: dict[str, set[bytes]] = {}
        self._valid_bytes: dict[str, int] = {}  # table -> bytes of its columns; more than that, if columns repeat
        self.needed: dict[str, set[bytes]] = {}

    def begin(self, known: Mapping[str, frozenset[bytes]], at_limit: frozenset[str]) -> None:
        """
        Start a flush cycle.

        Args:
            known: table -> families that exist.
            at_limit: tables that may not get further families.
        """
        # a missing family may have been created since: by the driver for another worker, or by an operator
        self._read_at.clear()
        self._at_limit = at_limit
        self.needed = {}
        for table, names in known.items():
            if not names <= (self._known.get(table) or frozenset()):
                self._known[table] = names | (self._known.get(table) or frozenset())

    def of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
        """
        The families of a table, read from the store if a wanted one is unknown; None if there is no such table.

        Raises:
            StoreError: the store does not answer.
        """
        known = self._known.get(table)
        if known is not None and wanted <= known:
            return known
        now = self._clock()
        read_at = self._read_at.get(table)
        if read_at is None or now - read_at >= MAX_AGE_S:
            found = self._store.families(table)
            self._read_at[table] = now
            # the driver may have created families that this connection does not see yet
            if found is not None:
                known = found | (known or frozenset())
            self._known[table] = known
        return known

    def add_valid(self, table: str, put: Put) -> None:
        """Cache the columns of a put whose families exist, so they are not checked again."""
        columns = self.valid_columns.setdefault(table, set())
        size = sum(map(len, put.columns))
        if len(columns) > MAX_VALID_COLUMNS or self._valid_bytes.get(table, 0) + size > MAX_VALID_BYTES:
            columns.clear()
            self._valid_bytes[table] = 0
        if size <= MAX_VALID_BYTES:
            columns.update(put.columns)
            self._valid_bytes[table] = self._valid_bytes.get(table, 0) + size

    def is_at_limit(self, table: str) -> bool:
        """Whether a table may not get further families in this flush cycle."""
        return table in self._at_limit

    def need(self, table: str, families: set[bytes]) -> None:
        """Add families, or only a table, that must be created before the batch runs again."""
        self.needed.setdefault(table, set()).update(families)

    def invalidate(self) -> None:
        """Clear the cache: an error may mean that it is out of date."""
        self._known.clear()
        self._read_at.clear()
        self.valid_columns.clear()
        self._valid_bytes.clear()

"""Families of a store's tables that a worker knows, and missing ones that its events named."""

from collections.abc import Callable, Mapping

from ingest.api import Put, StoreError

ASK_AGAIN_S = 60.0
"""How long a table's list of families is reused, within a flush cycle, when a family is missing."""
MAX_KNOWN_COLUMNS = 100_000
"""Columns of a table remembered as good; with more columns than this, each further one has its family looked up."""


class KnownFamilies:
    """
    The families of one store's tables, as far as the mutations of a flush cycle need them.

    Called by one thread, which starts each flush cycle with the families that the driver knows.

    Args:
        ask: the families of a table as the store has them, None for no table; may raise a StoreError.
        clock: monotonic seconds.

    Attributes:
        good: table -> columns whose families are known to exist.
        needed: table -> families that events of this flush cycle named and that must be created first; an empty set
            stands for the table alone.
    """

    def __init__(self, ask: Callable[[str], frozenset[bytes] | None], clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._asked_at: dict[str, float] = {}
        self._at_limit: frozenset[str] = frozenset()
        self.good: dict[str, set[bytes]] = {}
        self.needed: dict[str, set[bytes]] = {}

    def begin(self, known: Mapping[str, frozenset[bytes]], at_limit: frozenset[str]) -> None:
        """
        Start a flush cycle.

        Args:
            known: table -> families that exist.
            at_limit: tables that may not get further families.
        """
        # a missing family may have been created meanwhile: by the driver, for another worker, or by an operator
        self._asked_at.clear()
        self._at_limit = at_limit
        self.needed = {}
        for table, names in known.items():
            if not names <= (self._known.get(table) or frozenset()):
                self._known[table] = names | (self._known.get(table) or frozenset())

    def of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
        """
        The families of a table, read from the store if one of those wanted is unknown; None for no table.

        Raises:
            StoreError: the store does not answer.
        """
        known = self._known.get(table)
        if known is not None and wanted <= known:
            return known
        now = self._clock()
        asked_at = self._asked_at.get(table)
        if asked_at is None or now - asked_at >= ASK_AGAIN_S:
            try:
                found = self._ask(table)
            except StoreError:
                self.forget()
                raise
            self._asked_at[table] = now
            # the driver may just have created families that this connection does not see yet
            if found is not None:
                known = found | (known or frozenset())
            self._known[table] = known
        return known

    def remember(self, table: str, put: Put) -> None:
        """Columns of a put whose families exist: they are not checked again."""
        good = self.good.setdefault(table, set())
        if len(good) > MAX_KNOWN_COLUMNS:
            good.clear()
        good.update(put.columns)

    def is_at_limit(self, table: str) -> bool:
        """Whether a table may not get further families in this flush cycle."""
        return table in self._at_limit

    def need(self, table: str, families: set[bytes]) -> None:
        """Note families, or a table alone, that must be created before the batch runs again."""
        self.needed.setdefault(table, set()).update(families)

    def forget(self) -> None:
        """Forget the tables: an error may mean that their known families are out of date."""
        self._known.clear()
        self._asked_at.clear()
        self.good.clear()

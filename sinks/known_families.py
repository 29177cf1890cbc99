"""What a worker knows of the families of a store's tables, and which ones it met that are not there."""

from collections.abc import Callable, Mapping

from ingest.api import Put, StoreError

ASK_AGAIN_S = 60.0
"""How long a store's answer about the families of a table holds, within one round, when a family is missing in it."""
MAX_KNOWN_COLUMNS = 100_000
"""Columns of a table remembered as good; data that makes more columns than this pays for a look at each family."""


class KnownFamilies:
    """
    The families of one store's tables, as far as the mutations of a round need them.

    Called by one thread, which begins each round with what the driver knows.

    Args:
        store_name: name of the store in the configuration.
        ask: the families of a table as the store has them, None for no table; may raise a StoreError.
        clock: monotonic seconds.

    Attributes:
        good: table -> columns whose families are known to exist.
        needed: (store, table) -> families this round met and that must be made first; an empty set stands for a table
            alone.
    """

    def __init__(
        self, store_name: str, ask: Callable[[str], frozenset[bytes] | None], clock: Callable[[], float]
    ) -> None:
        self._store_name = store_name
        self._ask = ask
        self._clock = clock
        self._known: dict[str, frozenset[bytes] | None] = {}
        self._asked_at: dict[str, float] = {}
        self._closed: frozenset[tuple[str, str]] = frozenset()
        self.good: dict[str, set[bytes]] = {}
        self.needed: dict[tuple[str, str], set[bytes]] = {}

    def begin(self, known: Mapping[tuple[str, str], frozenset[bytes]], closed: frozenset[tuple[str, str]]) -> None:
        """
        Start a round.

        Args:
            known: (store, table) -> families that exist.
            closed: (store, table) that may not get further families.
        """
        # what was missing may have been made meanwhile: by the driver, for another worker, or by an operator
        self._asked_at.clear()
        self._closed = closed
        self.needed = {}
        for (store, table), names in known.items():
            if store == self._store_name and not names <= (self._known.get(table) or frozenset()):
                self._known[table] = names | (self._known.get(table) or frozenset())

    def of(self, table: str, wanted: set[bytes]) -> frozenset[bytes] | None:
        """
        The families of a table, asked for when one of those that are wanted is not known; None for no table.

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
            # what the driver made a moment ago may be newer than what this store's connection knows
            if found is not None:
                known = found | (known or frozenset())
            self._known[table] = known
        return known

    def remember(self, table: str, put: Put) -> None:
        """Columns of a put whose families exist: they need not be looked at again."""
        good = self.good.setdefault(table, set())
        if len(good) > MAX_KNOWN_COLUMNS:
            good.clear()
        good.update(put.columns)

    def is_closed(self, table: str) -> bool:
        """Whether a table may not get further families in this round."""
        return (self._store_name, table) in self._closed

    def need(self, table: str, families: set[bytes]) -> None:
        """Note families, or a table alone, that must be made before the round is run again."""
        self.needed.setdefault((self._store_name, table), set()).update(families)

    def forget(self) -> None:
        """After an error what was known about tables may be what was wrong."""
        self._known.clear()
        self._asked_at.clear()
        self.good.clear()

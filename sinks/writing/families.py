"""Families that events name: created by the driver alone, up to a limit."""

from collections.abc import Iterable, Mapping

from ingest.api import FamilySpec, FileStore, TableSpec
from sinks.writing.driver_store import DriverStore


class FamilyRegistry:
    """
    Which families exist in a store that the driver writes or alters, and the creation of missing ones for a pipeline.

    The limit counts the table's families that the configuration does not declare, so it holds after a restart without a
    stored count. Called by the thread of the query.

    Args:
        store: of the driver.
        declared: table -> the table as the configuration declares it.
        limits: table -> how many undeclared families the table may have; None stands for all other tables.
        own: table -> families that sinks name in their options, None for every table; they are created before all
            others and do not count.
    """

    def __init__(
        self,
        store: DriverStore,
        declared: Mapping[str, TableSpec],
        limits: Mapping[str | None, int],
        own: Mapping[str | None, frozenset[bytes]],
    ) -> None:
        self._store = store
        self._declared = declared
        self._limits = limits
        self._own = own
        self._at_limit: set[str] = set()

    def known(self) -> dict[str, frozenset[bytes]]:
        """
        Families of every table of a store that only the driver may write; tasks cannot ask it themselves.

        Raises:
            StoreError: the store does not answer.
        """
        if not self._store.capabilities.written_by_driver:
            return {}
        with self._store.held() as store:
            return {table: store.families(table) or frozenset() for table in store.tables()}

    def compressions(self) -> dict[str, str]:
        """
        Compression of the files that tasks stage for a table, for tables with compression.

        Raises:
            StoreError: the store does not answer.
        """
        if not self._store.capabilities.written_by_driver:
            return {}
        with self._store.held() as store:
            if not isinstance(store, FileStore):
                return {}
            found = {table: store.file_compression(table) for table in store.tables()}
        return {table: compression for table, compression in found.items() if compression != "none"}

    def at_limit(self) -> frozenset[str]:
        """Tables whose limit is reached: tasks refuse further families there."""
        return frozenset(self._at_limit)

    def create(self, table: str, names: Iterable[bytes]) -> None:
        """
        Create the table and as many families as the limit allows, in byte order; if some remain, the table is at its
        limit.

        Raises:
            StoreError: the store did not do it.
        """
        spec = self._declared.get(table, TableSpec(table))
        declared = {family.name for family in spec.families}
        own = self._own.get(table, frozenset()) | self._own.get(None, frozenset())
        limit = self._limits.get(table, self._limits.get(None, 0))
        # one exclusive use for count and creation: the pipelines of a service together stay below the limit
        with self._store.held() as held:
            existing = held.families(table) or frozenset()
            missing = set(names) - existing - declared
            asked = sorted(missing - own)
            room = max(0, limit - len(existing - declared - own))
            created = tuple(FamilySpec(name) for name in [*sorted(missing & own), *asked[:room]])
            held.ensure_table(TableSpec(table, spec.families + created, spec.splits))
        if len(asked) > room:
            self._at_limit.add(table)

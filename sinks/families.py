"""Families that events ask for: made by the driver alone, and only so many."""

from collections.abc import Iterable, Mapping

from ingest.api import FamilySpec, FileStore, TableSpec
from ingest.receipt import Receipt
from sinks.driver_store import DriverStore


class FamilyRegistry:
    """
    Which families exist in the stores of a pipeline, and the making of missing ones.

    The limit counts families of a table that the configuration does not declare, so it holds over restarts without a
    count of our own. Called by the thread of the query.

    Args:
        stores: those of the pipeline that the driver has, by name.
        declared: (store, table) -> the table as the configuration declares it.
        limits: (store, table) -> how many undeclared families the table may have; no table stands for all others.
        own: (store, table) -> families that sinks name in their options, no table for every one; they are made before
            all others and do not count.
    """

    def __init__(
        self,
        stores: Mapping[str, DriverStore],
        declared: Mapping[tuple[str, str], TableSpec],
        limits: Mapping[tuple[str, str | None], int],
        own: Mapping[tuple[str, str | None], frozenset[bytes]],
    ) -> None:
        self._stores = stores
        self._declared = declared
        self._limits = limits
        self._own = own
        self._closed: set[tuple[str, str]] = set()

    def known(self) -> dict[tuple[str, str], frozenset[bytes]]:
        """
        Families of every table in stores that only the driver may write; tasks can not ask those themselves.

        Raises:
            StoreError: a store does not tell.
        """
        known: dict[tuple[str, str], frozenset[bytes]] = {}
        for name, one in self._stores.items():
            if one.capabilities.written_by_driver:
                with one.held() as store:
                    known |= {(name, table): store.families(table) or frozenset() for table in store.tables()}
        return known

    def compressions(self) -> dict[tuple[str, str], str]:
        """
        How the files that tasks make for a table are compressed, for tables where they are.

        Raises:
            StoreError: a store does not tell.
        """
        found: dict[tuple[str, str], str] = {}
        for name, one in self._stores.items():
            if one.capabilities.written_by_driver:
                with one.held() as store:
                    if isinstance(store, FileStore):
                        found |= {(name, table): store.file_compression(table) for table in store.tables()}
        return {place: compression for place, compression in found.items() if compression != "none"}

    def closed(self) -> frozenset[tuple[str, str]]:
        """(store, table) pairs whose limit is reached: tasks refuse further families there."""
        return frozenset(self._closed)

    def create_needed(self, receipts: Iterable[Receipt]) -> None:
        """
        Make what the tasks of an attempt ask for together, as far as the limits allow.

        Raises:
            StoreError: a store did not do it.
        """
        needed: dict[tuple[str, str], set[bytes]] = {}
        for receipt in receipts:
            for place, names in receipt.needs_families.items():
                needed.setdefault(place, set()).update(names)
        for (store, table), names in sorted(needed.items()):
            self.create(store, table, names)

    def create(self, store: str, table: str, names: Iterable[bytes]) -> None:
        """
        Make the table and as many families as the limit allows, in byte order; close the table when some are left.

        Raises:
            StoreError: the store did not do it.
        """
        spec = self._declared.get((store, table), TableSpec(table))
        declared = {family.name for family in spec.families}
        own = self._own.get((store, table), frozenset()) | self._own.get((store, None), frozenset())
        limit = self._limits.get((store, table), self._limits.get((store, None), 0))
        # one holder from the count to the making: the pipelines of a service together stay below the limit
        with self._stores[store].held() as held:
            existing = held.families(table) or frozenset()
            missing = set(names) - existing - declared
            asked = sorted(missing - own)
            room = max(0, limit - len(existing - declared - own))
            made = tuple(FamilySpec(name) for name in [*sorted(missing & own), *asked[:room]])
            held.ensure_table(TableSpec(table, spec.families + made, spec.splits))
        if len(asked) > room:
            self._closed.add((store, table))

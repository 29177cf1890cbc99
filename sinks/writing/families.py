"""Creates the families that events name, on the driver and up to a limit."""

from collections.abc import Iterable, Mapping

from ingest.api import FamilySpec, FileStore, TableSpec
from sinks.rowkeys.row_format import RowFormat
from sinks.table_records import UNDECLARED, record_updates
from sinks.writing.driver_store import DriverStore
from sinks.writing.staging import PLAIN, FileFormat


class FamilyRegistry:
    """
    The families of a store that the driver writes or alters; creates missing ones for a pipeline.

    The limit applies to the families that the table has and the configuration does not declare, so a restart needs no
    stored count. Called by the thread of the query.

    Args:
        store: of the driver.
        declared: table -> the table as the configuration declares it.
        limits: table -> maximum number of undeclared families; the key None stands for all other tables.
        own: table -> families that sinks name in their options; the key None stands for every table. They are created
            first and do not count.
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
        Table -> families, for a store that only the driver may write, since tasks cannot read it; else empty.

        Raises:
            StoreError: the store does not answer.
        """
        if not self._store.capabilities.written_by_driver:
            return {}
        with self._store.held() as store:
            return {table: store.families(table) or frozenset() for table in store.tables()}

    def formats(self) -> dict[str, FileFormat]:
        """
        Table -> format of the files that tasks stage for it, for tables that do not have the plain one.

        Raises:
            StoreError: the store does not answer.
        """
        if not self._store.capabilities.written_by_driver:
            return {}
        with self._store.held() as store:
            found = {
                table: FileFormat(
                    store.file_compression(table) if isinstance(store, FileStore) else "none",
                    RowFormat.recorded(store, table),
                    tuple(sorted(UNDECLARED.keys() & store.properties(table).keys())),
                )
                for table in store.tables()
            }
        return {table: file_format for table, file_format in found.items() if file_format != PLAIN}

    def at_limit(self) -> frozenset[str]:
        """Tables whose limit is reached: tasks refuse further families there."""
        return frozenset(self._at_limit)

    def create(self, table: str, names: Iterable[bytes]) -> None:
        """
        Create the table and as many families as the limit allows, in byte order; if some remain, the table is at its
        limit.

        Raises:
            StoreError: the store could not create them.
        """
        spec = self._declared.get(table, TableSpec(table))
        declared = {family.name for family in spec.families}
        own = self._own.get(table, frozenset()) | self._own.get(None, frozenset())
        limit = self._limits.get(table, self._limits.get(None, 0))
        # one lock for count and creation: all pipelines of a service together stay below the limit
        with self._store.held() as store:
            found = store.families(table)
            existing = found or frozenset()
            missing = set(names) - existing - declared
            requested = sorted(missing - own)
            available = max(0, limit - len(existing - declared - own))
            created = tuple(FamilySpec(name) for name in [*sorted(missing & own), *requested[:available]])
            # only `table apply` changes the buckets of a table that exists
            is_created = found is None and table in self._declared
            if is_created:
                record_updates(store, spec)
            buckets = spec.buckets if is_created else store.buckets(table)
            store.ensure_table(TableSpec(table, spec.families + created, spec.splits, buckets))
        if len(requested) > available:
            self._at_limit.add(table)

"""The committer of all sinks of a pipeline that write to one store: what does not depend on who writes to it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ingest.api import Batch, Committer, TableSpec
from ingest.api.driver_feature import PreparedFeatures, StoreFeatures
from ingest.api.table_writer import RejectedRows
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult

NO_FEATURES = StoreFeatures()


class StoreCommitter(Committer):
    """
    Creates families, passes refused rows to the next attempt, and prepares the features of the tables.

    The tasks make their rows durable, so there is nothing to commit.

    Args:
        store: of the driver; None if it opens none.
        families: of the same store; None if no families are created, as without a store.
        declared: table -> its declaration in the configuration, for the tables of this store.
        features: the half on the driver of the features of the tables.
    """

    def __init__(
        self,
        store: DriverStore | None = None,
        families: FamilyRegistry | None = None,
        *,
        declared: Mapping[str, TableSpec] = MappingProxyType({}),
        features: StoreFeatures = NO_FEATURES,
    ) -> None:
        self._store = store
        self._families = families
        self._features = features
        self._formats = {name: RowFormat(spec.buckets, spec.updates) for name, spec in declared.items()}

    def recover(self) -> None:
        """
        Open the store of the driver.

        Its first opening runs `prepare` of `DriverStore`. For a store that only the driver may write, the service
        creates the declared tables there and removes files that an earlier process staged.
        """
        if self._store is not None:
            self._store.open()

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        """Create the families that tasks need, and prepare the features; returns what the tasks need to know."""
        return self._prepared(batch, requests).packed()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Do nothing: what the tasks wrote is durable."""

    def _prepared(self, batch: Batch, requests: Sequence[bytes]) -> Prepared:
        refused: RejectedRows = {}
        needed: dict[str, set[bytes]] = {}
        for request in map(StoreResult.unpacked, requests):
            refused.update(request.refused)
            for table, names in request.needs_families.items():
                needed.setdefault(table, set()).update(names)
        messages, times_ms = self._prepared_features(batch)
        known = Prepared(refused=refused, declared=self._formats, features=messages, times_ms=times_ms)
        families = self._families
        if families is None:
            return known
        for table, names in sorted(needed.items()):
            families.create(table, names)
        return replace(known, families=families.known(), formats=families.formats(), at_limit=families.at_limit())

    def _prepared_features(self, batch: Batch) -> PreparedFeatures:
        return self._features.prepare(batch.time_ms)

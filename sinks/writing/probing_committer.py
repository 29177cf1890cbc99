"""The committer of a store that tasks write to: it probes the store while a batch is blocked."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from ingest.api import Batch, BucketsDifferError, Disposition, StoreError, TableSpec, UpdatesDifferError
from ingest.api.driver_feature import PreparedFeatures, StoreFeatures
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import unpacked_probe
from sinks.writing.sending import Sender
from sinks.writing.store_committer import NO_FEATURES, StoreCommitter
from sinks.writing.target import Target

CHECK_S = 10.0
"""Time-out of a call that checks a table at the start."""


class ProbingCommitter(StoreCommitter):
    """
    Checks the declared tables at each start, and probes the store, through connections as those of the tasks.

    Args:
        new_sender: creates a connection; it belongs to the committer.
        store: of the driver; None if it opens none.
        families: as in `StoreCommitter`.
        declared: as in `StoreCommitter`.
        features: as in `StoreCommitter`.
    """

    def __init__(
        self,
        new_sender: Callable[[], Sender],
        store: DriverStore | None = None,
        families: FamilyRegistry | None = None,
        *,
        declared: Mapping[str, TableSpec] = MappingProxyType({}),
        features: StoreFeatures = NO_FEATURES,
    ) -> None:
        super().__init__(store, families, declared=declared, features=features)
        self._new_sender = new_sender
        self._declared = tuple(declared.values())
        self._tables = CycleTables(self._formats)
        self._sender: Sender | None = None

    def recover(self) -> None:
        """
        Open the store of the driver, and refuse tables whose row format is not the declared one.

        The store may be unavailable for the check: the tasks compare the formats too.

        Raises:
            BucketsDifferError: a table has another number of buckets.
            UpdatesDifferError: a table has other deferred updates.
        """
        super().recover()
        if self._declared:
            sender = self._new_sender()
            try:
                sender.begin(CHECK_S)
                for spec in self._declared:
                    sender.call(partial(_check_format, spec))
            except StoreError as error:
                if error.disposition is not Disposition.RETRY:
                    raise
            finally:
                sender.close()

    def probe(self, payload: bytes, timeout_s: float) -> None:
        """Send rows of the blocked batch, with their own times; without rows, read the families of the table."""
        sender = self._sender = self._sender or self._new_sender()
        table, mutations = unpacked_probe(payload)
        try:
            sender.begin(timeout_s, self._tables)
            if mutations:
                sender.submit(Chunk(table, mutations))
            else:
                sender.call(lambda store: store.families(table))
            sender.wait()
        finally:
            sender.take_results()

    def stop_probe(self) -> None:
        """Close the connection for probes; the next probe opens another."""
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.close()

    def close(self) -> None:
        """Close the connection for probes; the service closes the driver's store."""
        self.stop_probe()

    def _prepared_features(self, batch: Batch) -> PreparedFeatures:
        prepared = super()._prepared_features(batch)
        # without new times: the attempt that is blocked may have written the rows of a probe
        self._tables = CycleTables(self._formats, batch.time_ms, prepared.times_ms, prepared.messages)
        return prepared


def _check_format(spec: TableSpec, store: Target) -> None:
    """A table that does not exist gets the declared number of buckets when it is created."""
    found = RowFormat.recorded(store, spec.name)
    if found == RowFormat(spec.buckets, spec.updates) or store.families(spec.name) is None:
        return
    if found.buckets != spec.buckets:
        raise BucketsDifferError(spec.name, spec.buckets, found.buckets)
    raise UpdatesDifferError(spec.name, spec.updates, found.updates)

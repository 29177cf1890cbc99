"""The committer of all sinks of a pipeline that write to one store."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ingest.api import Batch, BucketsDifferError, Committer, Disposition, StoreError, TableSpec, UpdatesDifferError
from ingest.api.driver_feature import PreparedFeatures, StoreFeatures
from ingest.api.table_writer import RejectedRows
from sinks.rowkeys.row_format import RowFormat
from sinks.writing.apply_staged import apply_staged
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult, unpacked_probe
from sinks.writing.sending import Sender
from sinks.writing.target import Target

NO_FEATURES = StoreFeatures()
CHECK_S = 10.0
"""Time-out of a call that checks a table at the start."""


class StoreCommitter(Committer):
    """
    Creates families, passes rejected rows to the next attempt, and applies staged files.

    Args:
        store: of the driver; None if tasks write and no families are created.
        families: of the same store; None if `store` is None.
        incoming: folder for the staged files of this pipeline only; None if tasks write to the store themselves.
        sender: creates a connection for probes, for a store that tasks write to; else None.
        declared: table -> its declaration in the configuration, for the tables of this store.
        features: the half on the driver of the features of the tables.
    """

    def __init__(
        self,
        store: DriverStore | None = None,
        families: FamilyRegistry | None = None,
        incoming: Path | None = None,
        sender: Callable[[], Sender] | None = None,
        declared: Mapping[str, TableSpec] = MappingProxyType({}),
        features: StoreFeatures = NO_FEATURES,
    ) -> None:
        self._features = features
        self._store = store
        self._families = families
        self._incoming = incoming
        self._new_sender = sender
        self._sender: Sender | None = None
        self._batch_time_ms: int | None = None
        self._declared = tuple(declared.values())
        self._prepared = PreparedFeatures()
        self._formats = {name: RowFormat(spec.buckets, spec.updates) for name, spec in declared.items()}

    def recover(self) -> None:
        """
        Open the store of the driver, and refuse tables whose row format is not the declared one.

        Its first opening runs `prepare` of `DriverStore`. For a store that only the driver may write, the service
        creates the declared tables there and removes files that an earlier process staged. A store that tasks write to
        may be unavailable: the tasks compare the numbers too.
        """
        if self._store is not None:
            self._store.open()
        if self._declared and self._new_sender is not None:
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

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        """Create the families that tasks need, and prepare the features; returns what the tasks need to know."""
        self._batch_time_ms = batch.time_ms
        refused: RejectedRows = {}
        needed: dict[str, set[bytes]] = {}
        for request in map(StoreResult.unpacked, requests):
            refused.update(request.refused)
            for table, names in request.needs_families.items():
                needed.setdefault(table, set()).update(names)
        if self._incoming is not None:
            self._remove_all_but(batch.attempt)
        folder = "" if self._incoming is None else str(self._incoming / batch.attempt)
        self._prepared = self._features.prepare(batch.time_ms)
        known = Prepared(
            folder,
            refused=refused,
            declared=self._formats,
            features=self._prepared.messages,
            times_ms=self._prepared.times_ms,
        )
        if self._families is None:
            return known.packed()
        for table, names in sorted(needed.items()):
            self._families.create(table, names)
        families = self._families
        return replace(
            known, families=families.known(), formats=families.formats(), at_limit=families.at_limit()
        ).packed()

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Apply the staged files in the order of the tasks, then remove them."""
        if self._incoming is None or self._store is None:
            return
        staged = [result.staged for result in map(StoreResult.unpacked, results) if result.staged is not None]
        if staged:
            with self._store.held() as store:
                apply_staged(store, staged)
        self._remove_staged(batch)

    def abort(self, batch: Batch) -> None:
        """Remove the staged files of an attempt."""
        self._remove_staged(batch)

    def probe(self, payload: bytes, timeout_s: float) -> None:
        """Send rows of the blocked batch, with their own times; without rows, read the families of the table."""
        if self._new_sender is None:
            return
        sender = self._sender = self._sender or self._new_sender()
        table, mutations = unpacked_probe(payload)
        try:
            messages, times_ms = self._prepared
            sender.begin(timeout_s, CycleTables.of_probe(self._formats, self._batch_time_ms, times_ms, messages))
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

    def _remove_staged(self, batch: Batch) -> None:
        if self._incoming is not None:
            shutil.rmtree(self._incoming / batch.attempt, ignore_errors=True)

    def _remove_all_but(self, attempt: str) -> None:
        """A task that outlives its job may create its folder again after the abort of its attempt."""
        if self._incoming is not None and self._incoming.is_dir():
            for path in self._incoming.iterdir():
                if path.name != attempt:
                    shutil.rmtree(path, ignore_errors=True)


def _check_format(spec: TableSpec, store: Target) -> None:
    """A table that does not exist gets the declared number of buckets when it is created."""
    found = RowFormat.recorded(store, spec.name)
    if found == RowFormat(spec.buckets, spec.updates) or store.families(spec.name) is None:
        return
    if found.buckets != spec.buckets:
        raise BucketsDifferError(spec.name, spec.buckets, found.buckets)
    raise UpdatesDifferError(spec.name, spec.updates, found.updates)

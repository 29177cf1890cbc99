"""The committer of a store that only the driver writes: it applies what the tasks have staged."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ingest.api import Batch, TableSpec
from ingest.api.driver_feature import StoreFeatures
from sinks.writing.apply_staged import apply_staged
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult
from sinks.writing.store_committer import NO_FEATURES, StoreCommitter


class StagedCommitter(StoreCommitter):
    """
    Applies the files that the tasks of an attempt have staged, each attempt in a folder of its own.

    Args:
        store: of the driver.
        families: of the same store.
        incoming: folder for the staged files of this pipeline only.
        declared: as in `StoreCommitter`.
        features: as in `StoreCommitter`.
    """

    def __init__(
        self,
        store: DriverStore,
        families: FamilyRegistry,
        incoming: Path,
        *,
        declared: Mapping[str, TableSpec] = MappingProxyType({}),
        features: StoreFeatures = NO_FEATURES,
    ) -> None:
        super().__init__(store, families, declared=declared, features=features)
        self._written = store
        self._incoming = incoming

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Apply the staged files in the order of the tasks, then remove them."""
        staged = [result.staged for result in map(StoreResult.unpacked, results) if result.staged is not None]
        if staged:
            with self._written.held() as store:
                apply_staged(store, staged)
        self._remove_staged(batch)

    def abort(self, batch: Batch) -> None:
        """Remove the staged files of an attempt."""
        self._remove_staged(batch)

    def _prepared(self, batch: Batch, requests: Sequence[bytes]) -> Prepared:
        # first, so that files of an earlier attempt do not stay if a feature or the store fails
        self._remove_all_but(batch.attempt)
        return replace(super()._prepared(batch, requests), folder=str(self._incoming / batch.attempt))

    def _remove_staged(self, batch: Batch) -> None:
        shutil.rmtree(self._incoming / batch.attempt, ignore_errors=True)

    def _remove_all_but(self, attempt: str) -> None:
        """A task that outlives its job may create its folder again after the abort of its attempt."""
        if self._incoming.is_dir():
            for path in self._incoming.iterdir():
                if path.name != attempt:
                    shutil.rmtree(path, ignore_errors=True)

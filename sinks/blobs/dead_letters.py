"""
Keeps large values of records for dead letters: puts them into a blob store, with references of the dead letters.

The driver pins the blobs when all tasks of an attempt have succeeded: an attempt that is given up leaves no
reference, and the sweep deletes what its tasks have stored. The dead letters are published after that.
"""

import base64
import os
import shutil
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from ingest.api import (
    Batch,
    Committer,
    NotFoundError,
    SinkResult,
    Store,
    TaskSink,
    TaskSpec,
    WriteCounts,
)
from ingest.api.table_feature import DeadLetterPlace
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobGoneError
from sinks.blobs.large_values import LargeValueBlobs
from sinks.blobs.staging import StagedBlobs, store_staged
from sinks.writing.driver_store import DriverStore


class DeadLetterSink(TaskSink):
    """
    Keeps values of records for the dead letters of a task; as `ingest.dead_letters.blobs.DeadLetterBlobs`.

    Attributes:
        table: name of the table that has the blob store.
        threshold: larger values are kept, in bytes.
    """

    def __init__(self, place: DeadLetterPlace) -> None:
        self.table = place.table
        self.threshold = place.planned.threshold

    @abstractmethod
    def keep(self, value: bytes, reference: bytes) -> str:
        """Keep a value; returns the id of the blob, in hex digits."""


class StagedDeadLetters(DeadLetterSink):
    """Keeps values for a store that only the driver may write: stages them in files."""

    def __init__(self, place: DeadLetterPlace) -> None:
        super().__init__(place)
        self._path = ""
        self._staged: StagedBlobs | None = None
        self._is_empty = True

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:  # noqa: ARG002 - the driver counts
        """Remove what an earlier attempt of the task has staged."""
        self._path = str(Path(os.fsdecode(prepared)) / str(spec.task_id))
        self._staged = StagedBlobs(self._path)
        self._is_empty = True

    def keep(self, value: bytes, reference: bytes) -> str:
        """As `DeadLetterBlobs.keep`."""
        assert self._staged is not None  # noqa: S101 - for mypy: begin was called
        self._is_empty = False
        return self._staged.add(self.table, value, reference).hex()

    def flush(self) -> SinkResult:
        """The path of what is staged."""
        return SinkResult(b"" if self._is_empty else os.fsencode(self._path))

    def close(self) -> None:
        """Do nothing: the driver removes the files of an attempt."""


class StoredDeadLetters(DeadLetterSink):
    """
    Keeps values in a store that several processes may write.

    Args:
        place: of the pipeline.
        store: of the task, not yet open.
    """

    def __init__(self, place: DeadLetterPlace, store: Store[Any]) -> None:
        super().__init__(place)
        self._store = DriverStore(store)
        self._blobs = LargeValueBlobs(store, {place.table: place.planned})
        self._kept: list[tuple[str, str]] = []
        self._counts = WriteCounts()

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:  # noqa: ARG002 - needs neither
        """Forget the values of an earlier attempt."""
        self._kept = []
        self._counts = counts

    def keep(self, value: bytes, reference: bytes) -> str:
        """As `DeadLetterBlobs.keep`; the committer pins the blob."""
        with self._store.held():
            stored = self._blobs.put(self.table, value)
        blob = stored.id.hex()
        self._kept.append((blob, base64.b64encode(reference).decode()))
        self._counts.counted.update(stored.counted(self.table))
        return blob

    def flush(self) -> SinkResult:
        """Blobs and references, for the committer."""
        return SinkResult(orjson.dumps(self._kept) if self._kept else b"")

    def close(self) -> None:
        """Close the store."""
        self._store.close()


class StagedDeadLetterCommitter(Committer):
    """
    Stores and pins the values that the tasks have staged.

    Args:
        place: of the pipeline.
        store: of the driver.
        incoming: folder for the files of this committer only.
        on_counted: called with what was stored, as `WriteCounts.counted`.
    """

    def __init__(
        self,
        place: DeadLetterPlace,
        store: DriverStore,
        incoming: Path,
        on_counted: Callable[[Counter[tuple[str, str]]], None] = lambda _counted: None,
    ) -> None:
        self._place = place
        self._store = store
        self._incoming = incoming
        self._on_counted = on_counted

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:  # noqa: ARG002 - there are none
        """The folder of the attempt; a task that outlived an earlier one may have left files."""
        if self._incoming.is_dir():
            for path in self._incoming.iterdir():
                if path.name != batch.attempt:
                    shutil.rmtree(path, ignore_errors=True)
        return os.fsencode(self._incoming / batch.attempt)

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Store and pin the values, then remove their files."""
        files = [os.fsdecode(result) for result in results if result]
        if not files:
            return
        with self._store.held() as store:
            self._on_counted(store_staged(store, files, {self._place.table: self._place.planned}))
        self.abort(batch)

    def abort(self, batch: Batch) -> None:
        """Remove the files of an attempt."""
        shutil.rmtree(self._incoming / batch.attempt, ignore_errors=True)


class StoredDeadLetterCommitter(Committer):
    """
    Pins the values that the tasks have stored.

    Args:
        place: of the pipeline.
        store: of this committer, which closes it.
    """

    def __init__(self, place: DeadLetterPlace, store: DriverStore) -> None:
        self._place = place
        self._store = store

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:  # noqa: ARG002 - the references are the same in each one
        """
        Pin the values.

        Raises:
            BlobGoneError: the attempt lasted longer than `sweep_after`.
            StoreError: the store is unavailable.
        """
        kept = [each for result in results if result for each in orjson.loads(result)]
        if not kept:
            return
        with self._store.held() as store:
            blobs = BlobStore(store, self._place.planned.name, self._place.planned.options)
            for blob, reference in kept:
                try:
                    blobs.pin(bytes.fromhex(blob), base64.b64decode(reference))
                except NotFoundError as error:
                    hint = "start the pipeline again: the micro-batch runs again and stores it"
                    raise BlobGoneError(error.message, hint=hint) from error

    def close(self) -> None:
        """Close the store."""
        self._store.close()

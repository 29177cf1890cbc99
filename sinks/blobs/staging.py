"""
Moves large values of rows that tasks stage for the driver: the tasks write them to files, and the driver stores them.

Beside the staged file of a task is a folder with its name and `.blobs`: a file for each content, named by its SHA-256,
and the file `references`, a line of JSON for each cell.
"""

import base64
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ingest.api import Batch, Committer, IntegrityError, Mutation, Store
from ingest.durable import file_errors, make_folder, open_private
from sinks.blobs.large_values import LargeValueBlobs, LargeValues
from sinks.blobs.moving import with_pointers
from sinks.blobs.pointers import Pointer, cell_reference
from sinks.writing.driver_store import DriverStore
from sinks.writing.messages import StoreResult
from sinks.writing.staging import StagingWriter
from sinks.writing.target import Target, TargetLayer

_REFERENCES = "references"


class _Staged(NamedTuple):
    """A large value of a cell that a task has staged."""

    table: str
    blob: str
    reference: str


class StagedBlobs:
    """
    The large values that a task stages, with their references.

    Args:
        path: of the staged file of the task, which need not exist; what an earlier attempt has left is removed.
    """

    def __init__(self, path: str) -> None:
        self._folder = _folder_of(path)
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, table: str, value: bytes, reference: bytes) -> bytes:
        """Stage a value for the blob store of a table; returns the id of the blob."""
        blob = hashlib.sha256(value).digest()
        staged = _Staged(table, blob.hex(), base64.b64encode(reference).decode())
        path = self._folder / staged.blob
        with file_errors(path):
            make_folder(self._folder)
            if not path.exists():
                with open_private(path, "wb") as file:
                    file.write(value)
            with open_private(self._folder / _REFERENCES, "ab") as file:
                file.write(orjson.dumps(staged._asdict()) + b"\n")
        return blob


class BlobStagingWriter(TargetLayer):
    """
    Stages the rows of a task with pointers in place of large values.

    Args:
        target: writes the rows to the file of the task.
        tables: name of a table -> which of its values are moved.
        staging: of the task; the large values are beside its file.
    """

    def __init__(self, target: Target, tables: Mapping[str, LargeValues], staging: StagingWriter) -> None:
        super().__init__(target)
        self._staging = staging
        self._tables = tables
        self._staged: StagedBlobs | None = None
        self._file = 0

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """Write mutations, with pointers in place of large values; those of an earlier attempt are removed first."""
        if self._staged is None or self._file != self._staging.file_number:
            self._staged = StagedBlobs(str(self._staging.path))
            self._file = self._staging.file_number
        staged, rule = self._staged, self._tables.get(table)

        def stage(row: bytes, column: bytes, value: bytes) -> Pointer:
            return Pointer(staged.add(table, value, cell_reference(row, column)), len(value))

        self.target.apply(table, mutations if rule is None else with_pointers(mutations, rule.threshold, stage))


class BlobCommitter(Committer):
    """
    Stores the large values that the tasks have staged, before the rows with their pointers are applied.

    Args:
        committer: of the same store.
        store: of the driver.
        tables: name of a table -> which of its values are moved.
        on_counted: called with what was stored, as `WriteCounts.counted`.
    """

    def __init__(
        self,
        committer: Committer,
        store: DriverStore,
        tables: Mapping[str, LargeValues],
        on_counted: Callable[[Counter[tuple[str, str]]], None] = lambda _counted: None,
    ) -> None:
        self._on_counted = on_counted
        self._committer = committer
        self._store = store
        self._tables = tables

    def recover(self) -> None:
        """
        As the committer's; also checks the options of the blob stores.

        Raises:
            BlobsDifferError: blobs were stored with other options.
        """
        self._committer.recover()
        with self._store.held() as store:
            LargeValueBlobs(store, self._tables).check()

    def prepare(self, batch: Batch, requests: Sequence[bytes]) -> bytes:
        """As the committer's."""
        return self._committer.prepare(batch, requests)

    def commit(self, batch: Batch, results: Sequence[bytes]) -> None:
        """Store the large values of the attempt and the references of their cells, then commit the rows."""
        files = [result.staged.path for result in map(StoreResult.unpacked, results) if result.staged is not None]
        with self._store.held() as store:
            self._on_counted(store_staged(store, files, self._tables))
            # no sweep of this process comes between a reference and its pointer, however long this takes
            self._committer.commit(batch, results)

    def abort(self, batch: Batch) -> None:
        """As the committer's."""
        self._committer.abort(batch)

    def probe(self, payload: bytes, timeout_s: float) -> None:
        """As the committer's."""
        self._committer.probe(payload, timeout_s)

    def stop_probe(self) -> None:
        """As the committer's."""
        self._committer.stop_probe()

    def close(self) -> None:
        """As the committer's."""
        self._committer.close()


def store_staged(
    store: Store[Any], files: Iterable[str], tables: Mapping[str, LargeValues]
) -> Counter[tuple[str, str]]:
    """
    Store the large values that tasks have staged; may be repeated. Returns what was stored, as `WriteCounts.counted`.

    Args:
        store: open for writing.
        files: the staged files of the tasks.
        tables: name of a table -> which of its values are moved.

    Raises:
        IntegrityError: a file is damaged.
        StoreError: the store is unavailable.
    """
    blobs = LargeValueBlobs(store, tables)
    counted: Counter[tuple[str, str]] = Counter()
    for path, staged in chain.from_iterable(map(_staged_beside, files)):
        with file_errors(path):
            content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != staged.blob:
            raise IntegrityError(f"the staged file {path} is damaged", hint="check the disk; the batch runs again")
        stored = blobs.put(staged.table, content, base64.b64decode(staged.reference))
        counted.update(stored.counted(staged.table))
    return counted


def _folder_of(path: str) -> Path:
    """The folder with the large values of a staged file."""
    return Path(f"{path}.blobs")


def _staged_beside(path: str) -> Iterator[tuple[Path, _Staged]]:
    """The large values of a staged file, each with the file that has it."""
    references = _folder_of(path) / _REFERENCES
    if references.exists():
        with file_errors(references), references.open("rb") as lines:
            for line in lines:
                staged = _Staged(**orjson.loads(line))
                yield references.with_name(staged.blob), staged

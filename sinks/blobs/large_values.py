"""Large values of the tables of a pipeline, each stored in the blob store of its table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import NoTableError, NotFoundError, Store
from ingest.clock import now_ms
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.writing import StoredBlob


@dataclass(frozen=True, slots=True)
class LargeValues:
    """
    Which values of a table are moved, and where to.

    Attributes:
        name: of the blob store.
        options: of the blob store.
        threshold: larger values are moved, in bytes.
    """

    name: str
    options: BlobOptions
    threshold: int


class LargeValueBlobs:
    """
    Stores large values; each blob store is prepared before its first value.

    Args:
        store: open for writing at each call.
        tables: name of a table -> where its values are moved to.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self, store: Store[Any], tables: Mapping[str, LargeValues], *, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._store = store
        self._tables = tables
        self._clock_ms = clock_ms
        self._prepared: dict[str, BlobStore] = {}

    def check(self) -> None:
        """
        Compare the options and the owners of the blob stores with those that are recorded; writes nothing.

        Raises:
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: a blob store belongs to another table.
            BlobsElsewhereError: a table has another blob store.
            StoreError: the store is unavailable.
        """
        for table in self._tables:
            self._of(table).check()

    def put(self, table: str, value: bytes, reference: bytes | None = None) -> StoredBlob:
        """
        Store a value of a table; may be repeated.

        Args:
            table: name of the table.
            value: of a cell or a record.
            reference: of the cell or of the dead letter; None if the blob is pinned later.

        Raises:
            NoTableError: a table of the blob store does not exist; the pipeline is blocked until it does, as by its own
                table.
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: the blob store belongs to another table.
            BlobsElsewhereError: the table has another blob store.
            StoreError: the store is unavailable.
        """
        try:
            blobs = self._prepared.get(table)
            if blobs is None:
                blobs = self._of(table)
                blobs.prepare()
                self._prepared[table] = blobs
            return blobs.put_bytes(value) if reference is None else blobs.put_value(value, reference)
        except NotFoundError as error:
            self.clear()
            raise NoTableError(error.message) from error

    def clear(self) -> None:
        """Prepare the blob stores again, as after the store was closed."""
        self._prepared.clear()

    def _of(self, table: str) -> BlobStore:
        values = self._tables[table]
        return BlobStore(self._store, values.name, values.options, owner=table, clock_ms=self._clock_ms)

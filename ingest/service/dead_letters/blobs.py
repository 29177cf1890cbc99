"""The blobs of dead letters, in the blob stores of a configuration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Self

from ingest.api import ConfigError, ConflictError, NotFoundError, Record
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import DeadLetterQueue, Entry, Keeps, keeps_none
from ingest.dead_letters.replay_batches import Values
from ingest.durable import private_files
from ingest.plan.stores import unopened_store
from ingest.service.dead_letters.unread import RecordsAgain
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.declared import blobs_in, table_with_blobs
from sinks.writing.driver_store import DriverStore


class OpenDeadLetterBlobs:
    """
    Reads and releases the blobs of dead letters; in a block, which closes the stores that it has opened.

    Each store is opened for writing when it is first used.

    Args:
        configuration: declares the tables.
        catalog: of the configuration.
        stores: of the caller, by name; the others are opened here.
    """

    def __init__(
        self,
        configuration: Configuration,
        catalog: Catalog,
        stores: Mapping[str, DriverStore] = MappingProxyType({}),
    ) -> None:
        self._configuration = configuration
        self._catalog = catalog
        self._stores = dict(stores)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    def keep(self, entry: Entry) -> bool:
        """
        Make sure that the blob of a dead letter stays until it is released; False if it cannot be read any more.

        A dead letter that was replayed before has no reference any more. It gets one, because it may fail again now.

        Raises:
            ConflictError: another process writes a store that only one process may write.
            StoreError: the store is unavailable.
        """
        letter = entry.dead_letter
        if letter.blob is None:
            return True
        blob = bytes.fromhex(letter.blob.id)
        try:
            with self._held(letter.blob.table) as blobs:
                if entry.is_replayed:
                    blobs.pin(blob, letter.blob_reference)
                return blobs.stat(blob).is_readable
        except (ConfigError, NotFoundError):
            return False  # swept, or the file declares no such blob store any more

    def read(self, blob: DeadLetterBlob) -> bytes:
        """
        The value of a record.

        Raises:
            ConfigError: the table has no blob store any more.
            NotFoundError: there is no such blob.
            BlobCorruptError: it is damaged.
            ConflictError: as `keep`.
            StoreError: the store is unavailable.
        """
        with self._held(blob.table) as blobs, blobs.open(bytes.fromhex(blob.id)) as reader:
            return reader.readall()

    def refer(self, dead_letters: Iterable[DeadLetter]) -> None:
        """
        Make sure that the blobs of dead letters stay, before they are published; may be repeated.

        Raises:
            ConflictError: another process writes a store that only one process may write.
            NotFoundError: there is no such blob any more.
            StoreError: the store is unavailable.
        """
        for blob, reference in _blobs_of(dead_letters):
            with self._held(blob.table) as blobs:
                blobs.pin(bytes.fromhex(blob.id), reference)

    def check(self, dead_letters: Iterable[DeadLetter]) -> None:
        """
        Check that the blobs of dead letters can be released, before anything is changed.

        Raises:
            ConflictError: another process writes a store that only one process may write.
            BlobsElsewhereError: a table has another blob store than the file declares.
            StoreError: the store is unavailable.
        """
        for table in sorted({blob.table for blob, _ in _blobs_of(dead_letters)}):
            try:
                with self._held(table) as blobs:
                    blobs.check_owner()
            except (ConfigError, NotFoundError):
                continue  # the file declares no such blob store any more
            except ConflictError as error:
                raise ConflictError(
                    f'large dead letters are in the blob store of table "{table}": {error.message}',
                    hint="stop the service first: only one process may write this store",
                ) from error

    def release(self, dead_letters: Iterable[DeadLetter]) -> None:
        """
        Remove the references of dead letters that need no replay any more; may be repeated.

        The sweep deletes a blob that nothing else refers to, `sweep_after` later.

        Raises:
            ConflictError: as `check`.
            StoreError: the store is unavailable; the references of some stay.
        """
        for blob, reference in _blobs_of(dead_letters):
            try:
                with self._held(blob.table) as blobs:
                    blobs.unpin(bytes.fromhex(blob.id), reference)
            except (ConfigError, NotFoundError):
                continue  # released before, or the file declares no such blob store any more

    @contextmanager
    def _held(self, table: str) -> Iterator[BlobStore]:
        declared = table_with_blobs(self._configuration.tables, table)
        store = self._stores.get(declared.store)
        if store is None:
            store = DriverStore(unopened_store(self._configuration.stores[declared.store], self._catalog))
            self._opened.callback(store.close)
            self._stores[declared.store] = store
        with private_files(), store.held() as opened:
            yield blobs_in(opened, declared)


class RecordsWithValues:
    """
    Records whose values their dead letters do not have; each value is read when its record is reached, and not kept.

    Args:
        records: without these values; in the order of the source, if they are places.
        values: place of a record -> where its value is.
        blobs: reads those that are in blob stores.
        read_again: reads those that are still in the source.
    """

    def __init__(
        self, records: Iterable[Record], values: Values, blobs: OpenDeadLetterBlobs, read_again: RecordsAgain
    ) -> None:
        self._records = records
        self._values = values
        self._blobs = blobs
        self._read_again = read_again

    def __iter__(self) -> Iterator[Record]:
        for (topic, partition), records in groupby(self._records, itemgetter(0, 1)):
            places: list[tuple[Record, PlaceRange]] = []
            for record in records:
                match self._values.get(record.place):
                    case None:
                        yield record
                    case PlaceRange() as span:
                        places.append((record, span))
                    case blob:
                        yield record._replace(value=self._blobs.read(blob))
            if places:
                yield from self._read_again(topic, partition, places)


class DeadLetterPublication:
    """
    Publishes the dead letters of micro-batches that run again, and releases the blobs of those that they replace.

    A process that is killed in between leaves a reference that nothing needs; `attr2hbase admin blob check` finds it.

    Args:
        queue: of the pipeline.
        blobs: of its dead letters.
        keeps: as in `DeadLetterQueue.publish`.
    """

    def __init__(self, queue: DeadLetterQueue, blobs: OpenDeadLetterBlobs, keeps: Keeps = keeps_none) -> None:
        self._queue = queue
        self._blobs = blobs
        self._keeps = keeps
        self._replaced: list[DeadLetter] = []

    def __call__(self, dead_letters: Sequence[bytes], batch_id: int, batch_time_ms: int) -> None:
        """
        As `DeadLetterQueue.publish`; a call that failed may be repeated.

        Raises:
            ConflictError: as `OpenDeadLetterBlobs.release`.
            StoreError: as `OpenDeadLetterBlobs.release`.
        """
        # kept until they are released: a repeated call of `publish` does not return them again
        self._replaced += self._queue.publish(dead_letters, batch_id, batch_time_ms, self._keeps)
        self._blobs.release(self._replaced)
        self._replaced.clear()


def _blobs_of(dead_letters: Iterable[DeadLetter]) -> Iterator[tuple[DeadLetterBlob, bytes]]:
    """The blobs of dead letters, each with its reference."""
    for dead_letter in dead_letters:
        if dead_letter.blob is not None:
            yield dead_letter.blob, dead_letter.blob_reference

"""Pointers that are copied into another table: the blob store of that table must have their blobs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ingest.api import Mutation, NotFoundError, Put, Store
from ingest.clock import now_ms
from sinks.blobs.blob_options import PIN_AGAIN_MS, BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobMissingError
from sinks.blobs.pointers import Pointer, cell_reference
from sinks.blobs.tables import BLOCK_KEY_BYTES, CHECKSUM, DATA
from sinks.rowkeys.row_format import RowFormat


class CopiedPointers:
    """
    Pins the blobs of the pointers that are written to a table, with the references of its cells.

    Its row keys may be stored in other buckets than those of the source, so the references of the source do not keep
    the blobs.

    Args:
        table: that is written.
        name: of its blob store; None if it has none.
        options: of the blob store.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self, table: str, name: str | None, options: BlobOptions, *, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._table = table
        self._name = name
        self._options = options
        self._clock_ms = clock_ms
        self._physical_key: Callable[[bytes], bytes] | None = None
        self._is_known = False

    @contextmanager
    def pinned(
        self, mutations: Sequence[Mutation], call: Callable[[Callable[[Store[Any]], None]], None]
    ) -> Iterator[None]:
        """
        Surrounds the write of mutations: pins the blobs of their pointers before it.

        After a write that took `PIN_AGAIN_MS` or longer it pins them again: a sweep may have dropped the
        references before the pointers arrived, and finds the pointers from now on.

        Args:
            mutations: with logical row keys.
            call: calls a function with the open store, and may repeat it.

        Raises:
            BlobMissingError: the table has no blob store, or that does not have a blob; also after the write, if a
                sweep has deleted a blob meanwhile.
            BlobsDifferError: blobs were stored with other options.
            BlobsOfOtherTableError: the blob store belongs to another table.
            BlobsElsewhereError: the table has another blob store.
            NoTableError: a table of the blob store is missing, and the store does not create it at the first write.
        """
        pointers = list(self._pointers(mutations))
        if not pointers:
            yield
            return

        def pin(store: Store[Any]) -> None:
            for row, column, pointer in pointers:
                self._pin(store, row, column, pointer)

        begun_ms = self._clock_ms()
        call(pin)
        yield
        if self._clock_ms() - begun_ms >= PIN_AGAIN_MS:
            call(pin)

    def _pointers(self, mutations: Iterable[Mutation]) -> Iterator[tuple[bytes, bytes, Pointer]]:
        """Row key, column and pointer of each cell that has one."""
        for mutation in mutations:
            if isinstance(mutation, Put) and not self._is_block(mutation):
                for column, value in mutation.columns.items():
                    pointer = Pointer.of_value(value)
                    if pointer is not None:
                        yield mutation.row, column, pointer

    def _is_block(self, put: Put) -> bool:
        """Whether a row is one of blocks, whose bytes are no value and may look like a pointer."""
        is_block = len(put.row) == BLOCK_KEY_BYTES and put.columns.keys() == {DATA, CHECKSUM}
        return is_block and self._name is None

    def _pin(self, store: Store[Any], row: bytes, column: bytes, pointer: Pointer) -> None:
        if self._name is None:
            raise BlobMissingError(
                f'a cell of table "{self._table}" would point to blob {pointer.blob.hex()}, and the table has no '
                "blob store",
                hint="declare `blobs` of the table, and load the tables of the blob store first",
            )
        if not self._is_known:
            self._physical_key = RowFormat.recorded(store, self._table).physical_key()
            self._blobs(store, self._name).prepare()
            self._is_known = True
        physical = row if self._physical_key is None else self._physical_key(row)
        try:
            self._blobs(store, self._name).pin_cell(pointer.blob, cell_reference(physical, column))
        except NotFoundError as error:
            raise BlobMissingError(
                f'a cell of table "{self._table}" would point to blob {pointer.blob.hex()}, which the blob store '
                f'"{self._name}" does not have',
                hint=f'load "{self._name}_meta" and "{self._name}_value" of the same dump first',
            ) from error

    def _blobs(self, store: Store[Any], name: str) -> BlobStore:
        return BlobStore(store, name, self._options, owner=self._table, clock_ms=self._clock_ms)

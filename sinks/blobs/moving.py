"""Moves large values of the rows that a task writes into a blob store, and writes pointers in their place."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ingest.api import Mutation, Put, Store, WriteRejectedError
from ingest.clock import now_ms
from sinks.blobs.blob_options import PIN_AGAIN_MS
from sinks.blobs.large_values import LargeValueBlobs, LargeValues
from sinks.blobs.pointers import Pointer, cell_reference, is_large
from sinks.writing.target import TargetLayer, store_below


class BlobMovingStore(TargetLayer):
    """
    A store that several processes may write, for the tasks and probes of a pipeline.

    A blob is durable and has the reference of its cell before the pointer is written; after a call that lasted for
    `PIN_AGAIN_MS` or longer, it has a new one. A call that is repeated, or a micro-batch that runs again, stores
    nothing twice and writes the same pointer.

    Args:
        store: not yet open.
        tables: name of a table -> which of its values are moved.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self,
        store: Store[Any],
        tables: Mapping[str, LargeValues],
        *,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        super().__init__(store)
        self._counted: Counter[tuple[str, str]] = Counter()
        self._tables = tables
        self._clock_ms = clock_ms
        # the blobs of a value are written one after the other, not as the rows of a table
        self._blobs = LargeValueBlobs(store_below(store), tables, clock_ms=clock_ms)

    def open(self) -> None:
        """
        As `Store.open`; also checks the options of the blob stores.

        Raises:
            BlobsDifferError: blobs were stored with other options.
        """
        self.target.open()
        try:
            self._blobs.check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """As `Store.close`."""
        self._blobs.clear()
        self.target.close()

    def apply(self, table: str, mutations: Sequence[Mutation]) -> None:
        """
        Write mutations, which have physical row keys, with pointers in place of large values.

        Raises:
            BlobsDifferError: blobs were stored with other options.
            StoreError: as `Store.apply`.
        """
        rule = self._tables.get(table)
        if rule is None:
            self.target.apply(table, mutations)
            return
        begun_ms = self._clock_ms()
        self.target.apply(table, with_pointers(mutations, rule.threshold, partial(self._move, table)))
        # a sweep, with any `sweep_after`, may have dropped the references before the pointers arrived: it finds the
        # pointers from now on
        if self._clock_ms() - begun_ms >= PIN_AGAIN_MS:
            with_pointers(mutations, rule.threshold, partial(self._pin_again, table))

    def take_counted(self) -> Counter[tuple[str, str]]:
        """The large values that were moved, and what the target has counted."""
        counted, self._counted = self._counted, Counter()
        return counted + self.target.take_counted()

    def _move(self, table: str, row: bytes, column: bytes, value: bytes) -> Pointer:
        stored = self._blobs.put(table, value, cell_reference(row, column))
        self._counted.update(stored.counted(table))
        return Pointer(stored.id, stored.length)

    def _pin_again(self, table: str, row: bytes, column: bytes, value: bytes) -> Pointer:
        """Store and pin a value that was moved, without counting it twice."""
        stored = self._blobs.put(table, value, cell_reference(row, column))
        return Pointer(stored.id, stored.length)


def with_pointers(
    mutations: Sequence[Mutation], threshold: int, move: Callable[[bytes, bytes, bytes], Pointer]
) -> Sequence[Mutation]:
    """
    Mutations with pointers in place of large values.

    Args:
        mutations: with physical row keys; they are not changed.
        threshold: larger values are moved, in bytes.
        move: row key, column and value of a cell -> its pointer.

    Raises:
        WriteRejectedError: a value can never be moved; with the index of its mutation.
    """
    moved = list(mutations)
    for index, mutation in enumerate(mutations):
        if not isinstance(mutation, Put):
            continue
        large = {column: value for column, value in mutation.columns.items() if is_large(value, threshold)}
        if not large:
            continue
        try:
            pointers = {column: move(mutation.row, column, value).to_value() for column, value in large.items()}
        except WriteRejectedError as error:
            error.indexes = [index]
            raise
        moved[index] = dataclasses.replace(mutation, columns=mutation.columns | pointers, size_bytes=0)
    return moved

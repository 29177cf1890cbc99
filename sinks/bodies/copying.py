"""Pointers that are copied into another table: the body store of that table must have their bodies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ingest.api import Mutation, NotFoundError, Put, Store
from ingest.clock import now_ms
from sinks.bodies.body_store import BodyStore
from sinks.bodies.errors import BodyMissingError
from sinks.bodies.options import MARK_AGAIN_MS, BodyOptions
from sinks.bodies.pointers import Pointer, cell_reference
from sinks.bodies.tables import BLOCK_KEY_BYTES, CHECKSUM, DATA
from sinks.rowkeys.row_format import RowFormat


class CopiedPointers:
    """
    Marks the bodies of the pointers that are written to a table, with the references of its cells.

    Its row keys may be stored in other buckets than those of the source, so the references of the source do not keep
    the bodies.

    Args:
        table: that is written.
        name: of its body store; None if it has none.
        options: of the body store.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self, table: str, name: str | None, options: BodyOptions, *, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._table = table
        self._name = name
        self._options = options
        self._clock_ms = clock_ms
        self._physical_key: Callable[[bytes], bytes] | None = None
        self._is_known = False

    @contextmanager
    def marked(
        self, mutations: Sequence[Mutation], call: Callable[[Callable[[Store[Any]], None]], None]
    ) -> Iterator[None]:
        """
        Surrounds the write of mutations: marks the bodies of their pointers before it.

        After a write that took `MARK_AGAIN_MS` or longer it marks them again: a sweep may have dropped the
        references before the pointers arrived, and finds the pointers from now on.

        Args:
            mutations: with logical row keys.
            call: calls a function with the open store, and may repeat it.

        Raises:
            BodyMissingError: the table has no body store, or that does not have a body; also after the write, if a
                sweep has deleted a body meanwhile.
            BodiesDifferError: bodies were stored with other options.
            BodiesOfOtherTableError: the body store belongs to another table.
            BodiesElsewhereError: the table has another body store.
            NoTableError: a table of the body store is missing, and the store does not create it at the first write.
        """
        pointers = list(self._pointers(mutations))
        if not pointers:
            yield
            return

        def mark(store: Store[Any]) -> None:
            for row, column, pointer in pointers:
                self._mark(store, row, column, pointer)

        begun_ms = self._clock_ms()
        call(mark)
        yield
        if self._clock_ms() - begun_ms >= MARK_AGAIN_MS:
            call(mark)

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

    def _mark(self, store: Store[Any], row: bytes, column: bytes, pointer: Pointer) -> None:
        if self._name is None:
            raise BodyMissingError(
                f'a cell of table "{self._table}" would point to body {pointer.body.hex()}, and the table has no '
                "body store",
                hint="declare `bodies` of the table, and load the tables of the body store first",
            )
        if not self._is_known:
            self._physical_key = RowFormat.recorded(store, self._table).physical_key()
            self._bodies(store, self._name).prepare()
            self._is_known = True
        physical = row if self._physical_key is None else self._physical_key(row)
        try:
            self._bodies(store, self._name).mark_cell(pointer.body, cell_reference(physical, column))
        except NotFoundError as error:
            raise BodyMissingError(
                f'a cell of table "{self._table}" would point to body {pointer.body.hex()}, which the body store '
                f'"{self._name}" does not have',
                hint=f'load "{self._name}_meta" and "{self._name}_value" of the same dump first',
            ) from error

    def _bodies(self, store: Store[Any], name: str) -> BodyStore:
        return BodyStore(store, name, self._options, owner=self._table, clock_ms=self._clock_ms)

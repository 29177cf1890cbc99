"""Pointers that are copied into another table: the body store of that table must have their bodies."""

from collections.abc import Callable
from typing import Any

from ingest.api import Mutation, NotFoundError, Put, Store
from sinks.bodies.body_store import BodyStore
from sinks.bodies.errors import BodyMissingError
from sinks.bodies.options import BodyOptions
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
    """

    def __init__(self, table: str, name: str | None, options: BodyOptions) -> None:
        self._table = table
        self._name = name
        self._options = options
        self._stored_key: Callable[[bytes], bytes] | None = None
        self._is_known = False

    def __call__(self, mutation: Mutation) -> Callable[[Store[Any]], None] | None:
        """
        What marks the bodies of a mutation in the open store before it is written; None if it has no pointer.

        It may be repeated. It raises BodyMissingError if the table has no body store, or that does not have a body, and
        BodiesOfOtherTableError if the body store belongs to another table.

        Args:
            mutation: with the original row key.
        """
        if not isinstance(mutation, Put) or self._is_block(mutation):
            return None
        found = {column: Pointer.of_value(value) for column, value in mutation.columns.items()}
        pointers = {column: pointer for column, pointer in found.items() if pointer is not None}

        def mark(store: Store[Any]) -> None:
            for column, pointer in pointers.items():
                self._mark(store, mutation.row, column, pointer)

        return mark if pointers else None

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
            self._stored_key = RowFormat.recorded(store, self._table).stored_key()
            self._bodies(store, self._name).claim()
            self._is_known = True
        stored = row if self._stored_key is None else self._stored_key(row)
        try:
            self._bodies(store, self._name).mark_cell(pointer.body, cell_reference(stored, column))
        except NotFoundError as error:
            raise BodyMissingError(
                f'a cell of table "{self._table}" would point to body {pointer.body.hex()}, which the body store '
                f'"{self._name}" does not have',
                hint=f'load "{self._name}_meta" and "{self._name}_value" of the same dump first',
            ) from error

    def _bodies(self, store: Store[Any], name: str) -> BodyStore:
        return BodyStore(store, name, self._options, owner=self._table)

"""Rows with large values in place of the pointers to their bodies."""

from ingest.api import Row
from sinks.bodies.body_store import BodyStore
from sinks.bodies.pointers import Pointer


def resolved(bodies: BodyStore, row: Row) -> Row:
    """
    A row with large values in place of the pointers to their bodies.

    Raises:
        NotFoundError: a body does not exist.
        BodiesElsewhereError: the same, and the table has another body store.
        BodyCorruptError: a body is damaged.
    """
    cells = []
    for cell in row.cells:
        pointer = Pointer.of_value(cell.value)
        if pointer is None:
            cells.append(cell)
            continue
        with bodies.open(pointer.body) as reader:
            cells.append(cell._replace(value=reader.readall()))
    return Row(row.key, tuple(cells))

"""Rows with large values in place of the pointers to their blobs."""

from ingest.api import Row
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.pointers import Pointer


def resolved(blobs: BlobStore, row: Row) -> Row:
    """
    A row with large values in place of the pointers to their blobs.

    Raises:
        NotFoundError: a blob does not exist.
        BlobsElsewhereError: the same, and the table has another blob store.
        BlobCorruptError: a blob is damaged.
    """
    cells = []
    for cell in row.cells:
        pointer = Pointer.of_value(cell.value)
        if pointer is None:
            cells.append(cell)
            continue
        with blobs.open(pointer.blob) as reader:
            cells.append(cell._replace(value=reader.readall()))
    return Row(row.key, tuple(cells))

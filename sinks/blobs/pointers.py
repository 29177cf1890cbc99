"""
Pointers: what a cell holds in place of a large value, and the reference that keeps its blob.

A pointer is the bytes 00 42 50 01, then JSON: `{"~blob": id, "length": bytes of the blob}`. A value that begins with
these four bytes is itself stored as a blob, so no value of an event is taken for a pointer.
"""

import struct
from typing import Any, NamedTuple

import orjson

from ingest.api import Store, WriteRejectedError
from ingest.api.event_errors import RowKeyTooLongError
from sinks.blobs.references import CELL_REFERENCE, MAX_REFERENCE_BYTES
from sinks.blobs.tables import ID_BYTES

_MAGIC = b"\x00BP\x01"
_ROW_LENGTH = struct.Struct(">H")
_ALL_VERSIONS = 1_000_000
"""More than a family keeps."""


class Pointer(NamedTuple):
    """
    What a cell holds in place of a large value.

    Attributes:
        blob: id of the blob.
        length: bytes of the blob.
    """

    blob: bytes
    length: int

    def to_value(self) -> bytes:
        """The value of the cell."""
        return _MAGIC + orjson.dumps({"~blob": self.blob.hex(), "length": self.length})

    @classmethod
    def of_value(cls, value: bytes) -> "Pointer | None":
        """The pointer in a cell; None if it holds another value."""
        if not value.startswith(_MAGIC):
            return None
        try:
            found = orjson.loads(value[len(_MAGIC) :])
            blob, length = bytes.fromhex(found["~blob"]), found["length"]
        except (ValueError, TypeError, KeyError):
            return None
        return cls(blob, length) if len(blob) == ID_BYTES and isinstance(length, int) else None


def is_large(value: bytes, threshold: int) -> bool:
    """Whether a value is stored as a blob."""
    return len(value) > threshold or value.startswith(_MAGIC)


def cell_reference(row: bytes, column: bytes) -> bytes:
    """
    The reference of a cell.

    Args:
        row: the physical row key.
        column: `family:qualifier`.

    Raises:
        WriteRejectedError: they are too long for a reference.
    """
    reference = CELL_REFERENCE + _ROW_LENGTH.pack(len(row)) + row + column
    if len(reference) > MAX_REFERENCE_BYTES:
        raise WriteRejectedError(
            f"row key and column have {len(row) + len(column)} bytes, which is too long for the reference to a blob",
            code=RowKeyTooLongError.code,
            hint="shorten the row key, for example with a hash of the long part",
        )
    return reference


def cell_of(reference: bytes) -> tuple[bytes, bytes]:
    """The row key and the column of a cell, from its reference: the inverse of `cell_reference`."""
    start = len(CELL_REFERENCE) + _ROW_LENGTH.size
    (length,) = _ROW_LENGTH.unpack_from(reference, len(CELL_REFERENCE))
    return reference[start : start + length], reference[start + length :]


class CellReferences:
    """
    The references of the cells of a table.

    Args:
        store: open.
        table: whose cells have pointers.
    """

    def __init__(self, store: Store[Any], table: str) -> None:
        self._store = store
        self._table = table

    def holds(self, reference: bytes, blob: bytes) -> bool:
        """
        Whether any version of the cell of a reference has a pointer to a blob.

        Raises:
            NotFoundError: there is no such table.
        """
        row, column = cell_of(reference)
        found = self._store.get(self._table, row, columns=[column], versions=_ALL_VERSIONS)
        pointers = () if found is None else (Pointer.of_value(cell.value) for cell in found.cells)
        return any(pointer is not None and pointer.blob == blob for pointer in pointers)

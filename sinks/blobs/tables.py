"""The three tables of a blob store, and their row keys."""

import hashlib
import struct
from dataclasses import dataclass

from ingest.api import ConfigError, FamilySpec, TableSpec
from ingest.api.blobs import blob_tables

ID_BYTES = hashlib.sha256().digest_size
STATUS = b"m:status"
"""Column of a blob's status in the table of metadata."""
DATA, CHECKSUM = b"b:d", b"b:c"
"""Columns of a block: its stored bytes, and their CRC-32 in four bytes."""
REFERENCE = b"r"
"""Family of references; each call of `pin` writes a column of its own."""

_BLOCK = struct.Struct(">QQ")
BLOCK_KEY_BYTES = ID_BYTES + _BLOCK.size


@dataclass(frozen=True, slots=True)
class BlobTables:
    """
    The tables of a blob store.

    ========== =================================== ====================================================
    table      row key                             cells
    ========== =================================== ====================================================
    NAME_meta  id                                  `m:status`: JSON, written by `Store.replace_cell` only
    NAME_value id, generation, number of the block `b:d`: stored bytes; `b:c`: their checksum
    NAME_refs  id, reference                       `r:RANDOM`: empty, one for each call of `pin`
    ========== =================================== ====================================================

    An id has 32 bytes; generation and number have eight each, the highest first.

    Attributes:
        name: prefix of the names of the tables.
    """

    name: str

    @property
    def meta(self) -> str:
        """Name of the table of metadata."""
        return f"{self.name}_meta"

    @property
    def value(self) -> str:
        """Name of the table of blocks."""
        return f"{self.name}_value"

    @property
    def refs(self) -> str:
        """Name of the table of references."""
        return f"{self.name}_refs"

    def families(self) -> dict[str, str]:
        """Name of a table -> the name of its only family."""
        return blob_tables(self.name)

    def specs(self) -> tuple[TableSpec, ...]:
        """The tables as stores create them."""
        return tuple(TableSpec(table, (FamilySpec(family.encode()),)) for table, family in self.families().items())


def block_key(blob: bytes, generation: int, block: int) -> bytes:
    """The row key of a block."""
    return blob + _BLOCK.pack(generation, block)


def parts_of_block_key(key: bytes) -> tuple[bytes, int, int]:
    """Id, generation and number of the block of a row key."""
    generation, block = _BLOCK.unpack_from(key, ID_BYTES)
    return key[:ID_BYTES], generation, block


def id_of(text: str) -> bytes:
    """
    The id of a text of 64 hexadecimal digits.

    Raises:
        ConfigError: it is none.
    """
    try:
        blob = bytes.fromhex(text)
    except ValueError:
        blob = b""
    if len(blob) != ID_BYTES or len(text) != 2 * ID_BYTES:
        raise ConfigError(f'"{text}" is not the id of a blob', hint=f"an id is a SHA-256, {2 * ID_BYTES} hex digits")
    return blob

"""
The checksum of a table: equal for two tables with the same rows, cells, values and times.

It is the sum of a hash of each row, so rows may be added in any order. Source: the additive multiset hash of Clarke,
Devadas, van Dijk, Gassend and Suh, "Incremental multiset hash functions and their application to memory integrity
checking" (2003). It detects errors; it is not meant to withstand an attacker who chooses the rows.
"""

from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from ingest.api import Row
from ingest.durable.record import Plain

_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)
_KEY = Struct(">I")  # length of the row key
_CELL = Struct(">IIIq")  # lengths of family, qualifier and value; timestamp


def _hex(digest: int) -> str:
    return f"{digest:032x}"


def _from_hex(text: str) -> int:
    return int(text, 16)


@dataclass(slots=True)
class TableChecksum(Plain):
    """
    The checksum of the rows that were added so far.

    Attributes:
        rows: number of rows.
        cells: number of their cells.
        digest: sum of the hashes of the rows, modulo 2**128; stored as 32 hexadecimal digits.
    """

    rows: int
    cells: int
    digest: Annotated[int, PlainValidator(_from_hex), PlainSerializer(_hex)]

    def add(self, row: Row) -> None:
        """Add a row, whose cells are in the order of `Row`."""
        self.rows += 1
        self.cells += len(row.cells)
        self.digest = (self.digest + _hash_of(row)) % _MODULUS


def no_rows() -> TableChecksum:
    """The checksum of a table without rows."""
    return TableChecksum(0, 0, 0)


def _hash_of(row: Row) -> int:
    parts = [_KEY.pack(len(row.key)), row.key]
    for family, qualifier, timestamp_ms, value in row.cells:
        parts += _CELL.pack(len(family), len(qualifier), len(value), timestamp_ms), family, qualifier, value
    return int.from_bytes(blake2b(b"".join(parts), digest_size=_DIGEST_BYTES).digest())

"""
The checksum of a table: equal for two tables with the same rows, cells, values and times.

It is the sum of a hash of each row, so rows may be added in any order. Source: the additive multiset hash of Clarke,
Devadas, van Dijk, Gassend and Suh, "Incremental multiset hash functions and their application to memory integrity
checking" (2003). It detects errors; it is not meant to withstand an attacker who chooses the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Self

from ingest.api import IntegrityError, Row

_DIGEST_BYTES = 16
_MODULUS = 1 << (8 * _DIGEST_BYTES)
_KEY = Struct(">I")  # length of the row key
_CELL = Struct(">IIIq")  # lengths of family, qualifier and value; timestamp


@dataclass(slots=True)
class TableChecksum:
    """
    The checksum of the rows that were added so far.

    Attributes:
        rows: number of rows.
        cells: number of their cells.
        digest: sum of the hashes of the rows, modulo 2**128.
    """

    rows: int = 0
    cells: int = 0
    digest: int = 0

    def add(self, row: Row) -> None:
        """Add a row, whose cells are in the order of `Row`."""
        self.rows += 1
        self.cells += len(row.cells)
        self.digest = (self.digest + _hash_of(row)) % _MODULUS

    def to_json(self) -> dict[str, int | str]:
        """As plain data; the digest has 32 hexadecimal digits."""
        return {"rows": self.rows, "cells": self.cells, "digest": f"{self.digest:032x}"}

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> Self:
        """
        The checksum of plain data that `to_json` returned.

        Raises:
            IntegrityError: it is none.
        """
        match content:
            case {"rows": int(rows), "cells": int(cells), "digest": str(digest)}:
                try:
                    return cls(rows, cells, int(digest, 16))
                except ValueError:
                    pass
        raise IntegrityError(f"{dict(content)} is not the checksum of a table", hint="use the version that wrote it")


def _hash_of(row: Row) -> int:
    parts = [_KEY.pack(len(row.key)), row.key]
    for family, qualifier, timestamp_ms, value in row.cells:
        parts += _CELL.pack(len(family), len(qualifier), len(value), timestamp_ms), family, qualifier, value
    return int.from_bytes(blake2b(b"".join(parts), digest_size=_DIGEST_BYTES).digest())

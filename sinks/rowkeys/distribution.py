"""
The buckets of a salted table: a byte computed from the row key precedes it.

Source: `RowKeyDistributorByHashPrefix` with `OneByteSimpleHash` of HBaseWD (github.com/sematext/HBaseWD), byte for byte
but for one row key in four billion: Java's `Math.abs` leaves the hash -2**31 negative, so HBaseWD stores such a key
outside its buckets, where its own scans do not find it. Here the absolute value is 2**31.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

from ingest.api import ConfigError, prefix_end
from ingest.api.buckets import MAX_BUCKETS, buckets_rejection, splits_of

_HASH = "OneByteSimpleHash"
_ROUND_ROBIN = "RowKeyDistributorByOneBytePrefix"
_PARAMS = re.compile(r"(?P<hasher>[\w.$]+)--(?P<buckets>[0-9]{1,9})", re.ASCII)
_BLOCK_BYTES = 512  # of a row key, hashed at once: int() takes at most 4,300 digits, 640 if configured so
_BASE = 31
_MODULUS = 1 << 32
_DIGITS = b"0123456789abcdefghijklmnopqrstu"


def _digits() -> tuple[bytes, bytes]:
    """Tables of translate(): signed byte -> digits r and s of base 31 with byte = 5·r - 6·s."""
    of_byte = {5 * r - 6 * s: (r, s) for r in range(_BASE) for s in range(_BASE)}
    pairs = [of_byte[byte if byte < 128 else byte - 256] for byte in range(256)]  # noqa: PLR2004
    return bytes(_DIGITS[r] for r, _ in pairs), bytes(_DIGITS[s] for _, s in pairs)


_R, _S = _digits()


@dataclass(frozen=True, slots=True)
class Distribution:
    """
    The buckets of a salted table, and its physical row keys: one byte, the bucket, then the logical key.

    The bucket is |h| modulo `buckets`, where h starts as 1, and each byte of the key, as a signed number, makes it
    31·h + byte in signed arithmetic of 32 bits.

    Attributes:
        buckets: number of buckets, 1 to 256.
        prefixes: of all buckets, in byte order.

    Raises:
        ValueError: the number of buckets is out of range.
    """

    buckets: int
    prefixes: tuple[bytes, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.buckets <= MAX_BUCKETS:
            raise ValueError(f"{self.buckets} is not from 1 to {MAX_BUCKETS}")
        object.__setattr__(self, "prefixes", tuple(bytes([bucket]) for bucket in range(self.buckets)))

    @classmethod
    def of(cls, buckets: int | None) -> Self | None:
        """The distribution of a table with this number of buckets; None without buckets."""
        return None if buckets is None else cls(buckets)

    @classmethod
    def of_hbasewd(cls, params: str) -> Self:
        """
        The distribution that HBaseWD's hash distributor writes as `getParamsToStore()`: `CLASS--BUCKETS`.

        Raises:
            ConfigError: it is of another distributor, of none, or has a number of buckets that no table may have.
        """
        hint = (
            f'parameters of its hash distributor are "com.sematext.hbase.wd.RowKeyDistributorByHashPrefix${_HASH}--16"'
        )
        if params.isdecimal() or _ROUND_ROBIN in params:
            raise ConfigError(
                f'"{params}" are the parameters of HBaseWD\'s round-robin distributor: the bucket of a row depends on '
                "a counter, not on its key, so a get searches all buckets, and a repeated write stores a second row",
                hint="copy the rows into a table that is distributed by hash",
            )
        match = _PARAMS.fullmatch(params)
        if match is None:
            raise ConfigError(f'"{params}" are not the parameters of a distributor of HBaseWD', hint=hint)
        hasher = match["hasher"]
        if re.split(r"[.$]", hasher)[-1] != _HASH:
            raise ConfigError(f'unknown hash "{hasher}"; only {_HASH} is supported', hint=hint)
        buckets = int(match["buckets"])
        rejection = buckets_rejection(buckets)
        if rejection is not None:
            raise ConfigError(f'"{params}": {rejection}', hint="copy the rows into a new table")
        return cls(buckets)

    def physical(self, key: bytes) -> bytes:
        """The key of a row as the table stores it."""
        return self.bucket(key) + key

    def bucket(self, key: bytes) -> bytes:
        """The bucket of a row, by its key."""
        if len(key) > _BLOCK_BYTES:
            return self.prefixes[_hash_long(key) % self.buckets]
        # int() evaluates both polynomials in C; the leading digits are h = 1 = 5·5 - 6·4
        h = (5 * int(b"5" + key.translate(_R), 31) - 6 * int(b"4" + key.translate(_S), 31)) & 0xFFFFFFFF
        return self.prefixes[(h if h < 0x80000000 else 0x100000000 - h) % self.buckets]  # noqa: PLR2004

    def logical(self, physical: bytes) -> bytes:
        """The key of a row without its bucket."""
        return physical[1:]

    def intervals(self, start: bytes = b"", stop: bytes | None = None) -> list[tuple[bytes, bytes | None]]:
        """
        The ranges [start, stop) of physical keys, one for each bucket in byte order, of a range of logical keys.

        Args:
            start: first logical key, inclusive.
            stop: end of the range, exclusive; None for all keys from `start`.

        Returns:
            Ranges that do not leave their bucket; a stop of None, the end of the table, only follows the prefix ff.
        """
        return [(prefix + start, prefix_end(prefix) if stop is None else prefix + stop) for prefix in self.prefixes]

    def splits(self) -> tuple[bytes, ...]:
        """Split points that give each bucket a region."""
        return splits_of(self.buckets)


def _hash_long(key: bytes) -> int:
    """The absolute value of the hash of a key of any length."""
    h = 1
    for block in _blocks(key):
        digits = 5 * int(block.translate(_R), _BASE) - 6 * int(block.translate(_S), _BASE)
        h = (h * pow(_BASE, len(block), _MODULUS) + digits) % _MODULUS
    return min(h, _MODULUS - h)


def _blocks(key: bytes) -> Iterator[bytes]:
    return (key[start : start + _BLOCK_BYTES] for start in range(0, len(key), _BLOCK_BYTES))


def physical_key(key: bytes, buckets: int | None) -> bytes:
    """The key of a row as a table with this number of buckets stores it; the key itself without buckets."""
    return key if buckets is None else Distribution(buckets).physical(key)

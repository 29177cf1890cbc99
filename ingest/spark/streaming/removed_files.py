"""
Paths of files that were read to their end and removed; a new file at such a path must not be read.

Its events would have the same identity, path and offset, as those of the first file, and overwrite them. The paths are
part of the offset that Spark writes with each batch, so they are stored as short hashes, and only the newest ones.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b

MAX_HASHES = 10_000  # 120 KB, as much as the entries of a thousand existing files

_HASH_BYTES = 9  # chance that any of a million new files collides with any of 10,000 hashes: 2 in 10^12
_HASH_CHARS = 12


class RemovedFiles:
    """
    Hashes of paths, as text.

    Args:
        hashes: the oldest first.
    """

    def __init__(self, hashes: str) -> None:
        self._hashes = hashes

    def __contains__(self, path: str) -> bool:
        """Whether a file at this path was removed, and its hash is among the newest."""
        return self._hashes != "" and _hash(path) in self._each

    def with_paths(self, paths: Iterable[str]) -> str:
        """The hashes with those of more paths; the oldest are dropped above the maximum."""
        return (self._hashes + "".join(map(_hash, paths)))[-MAX_HASHES * _HASH_CHARS :]

    @cached_property
    def _each(self) -> frozenset[str]:
        return frozenset(
            self._hashes[start : start + _HASH_CHARS] for start in range(0, len(self._hashes), _HASH_CHARS)
        )


def _hash(path: str) -> str:
    return b64encode(blake2b(path.encode(), digest_size=_HASH_BYTES).digest()).decode()

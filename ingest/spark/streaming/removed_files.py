"""
Paths of files that were read to their end and are gone; what comes there later may not be read.

Its events would have the identity of those of the first file, path and offset, and be written over them. The notes
stand in the offset that Spark writes with each batch, so they are short, and only the newest are kept.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b

MAX_NOTES = 10_000  # 120 KB, as much as the offset has of a thousand files that are still there

_HASH_BYTES = 9  # that one of a million new files meets one of 10,000 notes by chance: 2 in 10^12
_NOTE_CHARS = 12


class RemovedFiles:
    """
    Notes of paths, as text.

    Args:
        notes: the oldest first.
    """

    def __init__(self, notes: str) -> None:
        self._notes = notes

    def __contains__(self, path: str) -> bool:
        """Whether a file at this path was forgotten, and the note is still kept."""
        return self._notes != "" and _note(path) in self._each

    def and_also(self, paths: Iterable[str]) -> str:
        """The notes with those of more paths; the oldest leave where there are too many."""
        return (self._notes + "".join(map(_note, paths)))[-MAX_NOTES * _NOTE_CHARS :]

    @cached_property
    def _each(self) -> frozenset[str]:
        return frozenset(self._notes[start : start + _NOTE_CHARS] for start in range(0, len(self._notes), _NOTE_CHARS))


def _note(path: str) -> str:
    return b64encode(blake2b(path.encode(), digest_size=_HASH_BYTES).digest()).decode()

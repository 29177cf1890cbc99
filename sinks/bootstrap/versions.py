"""Rows of a dump that are loaded while the feed is applied: which cells are not newer in the target already."""

from hashlib import blake2b

from ingest.api import Row

_BITS = 1 << 27  # 16 MiB; with ten million keys, one of fourteen others is taken for one of them


class TouchedRows:
    """
    The keys of rows that the feed has changed, in bounded memory: a Bloom filter with one hash.

    Source: B. Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970).

    Args:
        is_full: every key counts as added, for a process that does not know what earlier ones have added.
    """

    def __init__(self, *, is_full: bool = False) -> None:
        self._is_full = is_full
        self._bits = bytearray(0 if is_full else _BITS // 8)

    def add(self, key: bytes) -> None:
        """Add a row key."""
        if not self._is_full:
            place = _place(key)
            self._bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, key: bytes) -> bool:
        """Whether a row key was added; may be True for one that was not."""
        if self._is_full:
            return True
        place = _place(key)
        return bool(self._bits[place >> 3] & 1 << (place & 7))


def unless_newer(row: Row, present: Row | None) -> Row:
    """
    The cells of a row of a dump that may be written.

    A cell that the target has with the same or a later time is left out: the feed has written it, and a put with the
    same time would replace it by an older value.

    Args:
        row: of the dump.
        present: the row in the target; None if it has none.
    """
    if present is None:
        return row
    times = {(cell.family, cell.qualifier): cell.timestamp_ms for cell in present.cells}
    return Row(
        row.key,
        tuple(cell for cell in row.cells if times.get((cell.family, cell.qualifier), -1) < cell.timestamp_ms),
    )


def _place(key: bytes) -> int:
    return int.from_bytes(blake2b(key, digest_size=8).digest()) % _BITS

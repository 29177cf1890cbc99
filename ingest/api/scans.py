"""Questions to a store, as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scan:
    """
    Which rows of a table, in which order.

    Attributes:
        start: first row key, inclusive; with `reverse` the scan still returns keys in [start, stop), last one first.
        stop: end of the range, exclusive; None to the end of the table.
        prefix: only row keys that begin so; meets start and stop when they are given too.
        columns: `family` or `family:qualifier`; None for all. A row without any of them is not returned.
        versions: how many versions of each cell at the most.
        limit: how many rows at the most; None for all.
        page_rows: how many rows are asked for in one call to the store.
    """

    start: bytes = b""
    stop: bytes | None = None
    prefix: bytes = b""
    columns: tuple[bytes, ...] | None = None
    versions: int = 1
    limit: int | None = None
    reverse: bool = False
    page_rows: int = 500

    def bounds(self) -> tuple[bytes, bytes | None]:
        """The range [start, stop) after the prefix is taken into account."""
        start, stop = self.start, self.stop
        if self.prefix:
            start = max(start, self.prefix)
            end = successor(self.prefix)
            if end is not None and (stop is None or end < stop):
                stop = end
        return start, stop


def successor(prefix: bytes) -> bytes | None:
    """The first key after all keys that begin with the prefix; None when there is none (only ff bytes, or empty)."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None

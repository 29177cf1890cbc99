"""The scan of a table, as a plain value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scan:
    """
    A range of rows of a table, and their order.

    Attributes:
        start: first row key, inclusive; with `reverse` the scan still returns keys in [start, stop), last one first.
        stop: end of the range, exclusive; None for the end of the table.
        prefix: only row keys with this prefix; start and stop still apply.
        columns: `family` or `family:qualifier`; None for all. A row without any of them is not returned.
        versions: maximum number of versions of each cell.
        limit: maximum number of rows; None for all.
        page_rows: number of rows requested in one call to the store.
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
    """The first key after all keys with the prefix; None if there is none (only ff bytes, or empty)."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None

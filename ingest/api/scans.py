"""The scan of a table, as a plain value."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from ingest.api.cells import MAX_TIME_MS, Cell
from ingest.api.notation import from_readable

_FIXED, _ANY = b"\x00", b"\x01"


@dataclass(frozen=True, slots=True)
class FuzzyPattern:
    r"""
    A pattern of row keys: fixed bytes, and positions at which any byte may stand.

    A row key matches if it has each fixed position, with the byte of the pattern. What follows the pattern is free, as
    after a prefix. Positions of any byte at the end of the pattern may be missing from the row key.

    Key and mask are as in HBase's `FuzzyRowFilter`.

    Attributes:
        key: the bytes at the fixed positions; those at the other positions have no meaning.
        mask: for each byte of the key, 00 if it is fixed, 01 if any byte may stand there.

    Raises:
        ValueError: key and mask differ in length, or the mask has another byte.
    """

    key: bytes
    mask: bytes

    def __post_init__(self) -> None:
        if len(self.key) != len(self.mask):
            raise ValueError(f"the key has {len(self.key)} bytes, the mask {len(self.mask)}")
        if self.mask.strip(_FIXED + _ANY):
            raise ValueError(f"the mask {self.mask.hex()} has bytes other than 00 and 01")

    @classmethod
    def parse(cls, text: str) -> Self:
        r"""
        The pattern of a text: `?` is any byte, `\xNN` a byte, all other text is UTF-8.

        A literal `?` is written `\x3f`, and a backslash before an `x` is written `\x5c`.

        Raises:
            ConfigError: `\x` without two hexadecimal digits.
        """
        fixed = [from_readable(part) for part in text.split("?")]
        return cls(_FIXED.join(fixed), _ANY.join(bytes(len(part)) for part in fixed))

    @property
    def fixed_length(self) -> int:
        """Number of bytes up to and including the last fixed position; a shorter row key does not match."""
        return len(self.mask.rstrip(_ANY))

    def matches(self, row: bytes) -> bool:
        """Whether a row key matches."""
        return len(row) >= self.fixed_length and all(
            is_any or byte == fixed for byte, fixed, is_any in zip(row, self.key, self.mask, strict=False)
        )

    def prefixed(self, prefix: bytes) -> Self:
        """The pattern of the same row keys with a fixed prefix before them."""
        return type(self)(prefix + self.key, bytes(len(prefix)) + self.mask)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """
    The range [from_ms, to_ms) of timestamps, as HBase's class of this name.

    A read with a range returns of each column the newest versions in the range. Whether a delete hides a cell does not
    depend on the range: a delete after it hides cells in it.

    Attributes:
        from_ms: first timestamp.
        to_ms: end of the range, exclusive.

    Raises:
        ValueError: the range is empty, or no cell can have such a timestamp.
    """

    from_ms: int = 0
    to_ms: int = MAX_TIME_MS + 1

    def __post_init__(self) -> None:
        if not 0 <= self.from_ms < self.to_ms <= MAX_TIME_MS + 1:
            raise ValueError(f"no timestamp is from {self.from_ms} to before {self.to_ms}")

    @property
    def has_end(self) -> bool:
        """Whether a timestamp can be after the range."""
        return self.to_ms <= MAX_TIME_MS


ALL_TIMES = TimeRange()


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
        page_rows: maximum number of rows requested in one call to the store.
        fuzzy: only row keys that match at least one of these patterns; empty for all. start, stop and prefix still
            apply.
        times: only cells with these timestamps; the versions are counted among them. A row without any of them is not
            returned. A store finds cells beyond the number of versions of their family only until it removes them.
    """

    start: bytes = b""
    stop: bytes | None = None
    prefix: bytes = b""
    columns: tuple[bytes, ...] | None = None
    versions: int = 1
    limit: int | None = None
    reverse: bool = False
    page_rows: int = 500
    fuzzy: tuple[FuzzyPattern, ...] = ()
    times: TimeRange = ALL_TIMES

    @property
    def is_of_all_rows(self) -> bool:
        """Whether it selects every row of a table, whatever the order and the limit."""
        is_of_all_keys = self.bounds() == (b"", None) and not self.fuzzy
        return is_of_all_keys and self.columns is None and self.times == ALL_TIMES

    def after(self, row: bytes) -> Self:
        """The part of the scan that follows a row key in its order; the row itself need not exist."""
        if self.reverse:
            return replace(self, stop=row if self.stop is None else min(self.stop, row))
        return replace(self, start=max(self.start, next_key(row)))

    def bounds(self) -> tuple[bytes, bytes | None]:
        """The range [start, stop) after the prefix is taken into account."""
        start, stop = self.start, self.stop
        if self.prefix:
            start = max(start, self.prefix)
            end = prefix_end(self.prefix)
            if end is not None and (stop is None or end < stop):
                stop = end
        return start, stop


@dataclass(slots=True)
class ScanCounts:
    """
    The work of a scan, counted by the store while the scan runs; several scans may add to one object.

    Each row that a store read counts as touched, read ahead, or read in a fallback. If every row has a cell that the
    scan selects, the rows touched are at most the rows returned plus the seeks.

    Attributes:
        seeks: how often the scan moved to a row key: at its start, and to the next row key that can match. Reading the
            next page is not a seek.
        rows_touched: rows that match, and rows that do not and caused a seek or the end of the scan.
        rows_read_ahead: other rows that the server sent in a page.
        rows_in_fallback: rows that the server sent while the scan read whole pages because seeks cost more.
        bytes_read: size of these rows: row keys, and the names and values of the cells that were read.
        views: how often the scan began to read a newer state of the table. The rows that it returns while the number
            stays the same are the rows of one moment, without gaps. 0 if the store does not count them.
        lossy_filters: how often the scan read a region without the server's filter for patterns, because that server
            loses rows with it.
    """

    seeks: int = 0
    rows_touched: int = 0
    rows_read_ahead: int = 0
    rows_in_fallback: int = 0
    bytes_read: int = 0
    views: int = 0
    lossy_filters: int = 0

    def add(self, other: "ScanCounts") -> None:
        """Add the work of another scan."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def touch(self, row: bytes, cells: Iterable[Cell] = ()) -> None:
        """Count a row, and the cells of it that were read."""
        self.rows_touched += 1
        size = len(row)
        for family, qualifier, _, value in cells:
            size += len(family) + 1 + len(qualifier) + len(value)
        self.bytes_read += size


def next_key(row: bytes) -> bytes:
    """The first key after a row key, in byte order."""
    return row + b"\x00"


def prefix_end(prefix: bytes) -> bytes | None:
    """The first key after all keys with the prefix; None if there is none (only ff bytes, or empty)."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None

"""
The contract of what reads a table: a chain of readers, each of which calls the one below it.

The lowest reader returns the rows as they are stored, without buckets (`sinks.scanning.plain_reader`). A feature of
the table puts its own above it, as a `TableFeature` puts its writer before the next one.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ingest.api.cells import Row
from ingest.api.scans import ALL_TIMES, Scan, ScanCounts, TimeRange
from ingest.api.store import Store

Read = tuple[Row, tuple[object, ...]]
"""A row with its logical row key, and the values of the columns that a reader adds between the key and the cells."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    The record of a table.

    Attributes:
        buckets: number of buckets of its row keys; None if they are stored as they are.
        properties: of the table; of those of a feature, the one with its name says how rows are stored.
    """

    buckets: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store[Any], table: str) -> "Recorded":
        """The record in an open store."""
        buckets, properties = store.record(table)
        return cls(buckets, properties)


class RowKeys:
    """The row keys of a table as they are stored, without buckets; here they are the logical ones."""

    def logical(self, key: bytes) -> bytes:
        """
        The logical row key of a stored one.

        Raises:
            ValueError: no row of the table is stored with this key.
        """
        return key

    def range_of(self, start: bytes, stop: bytes | None) -> tuple[bytes, bytes | None]:
        """The range [start, stop) of stored row keys of a range of logical ones; a stop of None is the end."""
        return start, stop

    def whole(self, cut: bytes) -> bytes:
        """A cut between stored row keys, moved to the start of the logical row that it would divide."""
        return cut


class ReadColumn(NamedTuple):
    """
    A column that a reader adds to each row of a DataFrame, a struct.

    Attributes:
        name: of the column.
        text: what it has, for messages.
        fields: name of a field -> its type in SQL: bigint, int or boolean.
    """

    name: str
    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReaderPlace:
    """
    What a reader reads.

    Attributes:
        store: open, for reading or writing.
        table: its name.
        recorded: of the table.
        asked: options of features that a user has set, as in `TableFeature.read_options`.
    """

    store: Store[Any]
    table: str
    recorded: Recorded
    asked: frozenset[str] = frozenset()


class ShownRow(NamedTuple):
    """
    A row as commands show it.

    Attributes:
        row: with its logical row key.
        about: what JSON has of it between its key and its cells.
        more: what JSON has of it after its cells.
        head: the same as a text, beside the key.
        notes: warnings about it.
        summary: what a get says after it.
    """

    row: Row
    about: Mapping[str, object] = {}
    more: Mapping[str, object] = {}
    head: str = ""
    notes: Sequence[str] = ()
    summary: str = ""


class StoredKey(NamedTuple):
    """
    A stored row key that a user may have taken for a logical one.

    Attributes:
        logical: the logical row key in it.
        what: it is, and what to write in its place.
    """

    logical: bytes
    what: str


class ReadStats(NamedTuple):
    """
    The work of a reader beyond the scans of the store.

    Attributes:
        counts: for JSON.
        text: the same.
    """

    counts: Mapping[str, int]
    text: str


class TableReader(ABC):
    """
    Reads one table of a store by logical row keys.

    Called by one thread. Whoever iterates over a result must exhaust or close it: it may hold scanners of the store.

    Attributes:
        keys: the row keys of the table, without buckets.
        what: it returns, for a message about several or one.
        is_several: whether it may return several rows with one logical row key.
        counts_gets: whether `shown_one` counts the work of its scans.
    """

    keys: RowKeys
    what: str = "row"
    is_several: bool = False
    counts_gets: bool = False

    @abstractmethod
    def check(self, scan: Scan) -> None:
        """
        Refuse what the rows of the table cannot answer, without reading.

        Raises:
            ConfigError: the scan, or the same get, has versions or times that they do not have.
        """

    @abstractmethod
    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """
        One row, or None if it has no such cells.

        Raises:
            ConfigError: as `check`.
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """
        Rows of a range, in byte order of their logical keys; memory is bounded by one page for each bucket.

        Args:
            scan: which rows, by logical keys.
            counts: the work of all its scans of the store is added to it.

        Raises:
            ConfigError: as `check`.
            NotFoundError: there is no such table.
        """

    @abstractmethod
    def in_range(self, scan: Scan) -> Generator[Read]:
        """
        The rows of a range of physical row keys, in their order.

        Args:
            scan: start and stop are physical keys that divide no logical row, with buckets both in one bucket; there is
                neither a prefix nor a limit. All else is as in `scan`.
        """

    @abstractmethod
    def stored_key(self, key: bytes) -> StoredKey | None:
        """What a row key is that no row has as its logical one; None if it is not a physical key of the table."""

    @abstractmethod
    def next_command(self, row: str) -> Sequence[str]:
        """The words of the command that is suggested after a get of a row, without its file; empty for none."""

    def shown(self, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """As `scan`, with what commands show beside each row."""
        with closing(self.scan(scan, counts)) as rows:
            for row in rows:
                yield ShownRow(row)

    def shown_one(self, row: bytes, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:  # noqa: ARG002
        """
        What commands show of one row; nothing if it has no such cells.

        Args:
            row: its logical key.
            scan: of this row alone, with columns, versions and times.
            counts: the work of its scans is added to it, if there are some.
        """
        found = self.get(row, columns=scan.columns, versions=scan.versions, times=scan.times)
        if found is not None:
            yield ShownRow(found)

    def stats(self) -> ReadStats | None:
        """The work of all reads so far, beyond `ScanCounts`; None if there is no other."""
        return None

"""The reader of a table whose large values are in a blob store; the option `blobs`."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from ingest.api import ALL_TIMES, Row, Scan, ScanCounts, TimeRange
from ingest.api.table_reader import Read, ReadStats, ShownRow, StoredKey, TableReader


class ResolvingReader(TableReader):
    """
    The rows of the reader below, with large values in place of the pointers to their blobs.

    Args:
        below: returns rows with pointers.
        resolve: from a row with pointers to the row with large values (`sinks.blobs.resolving`).
    """

    def __init__(self, below: TableReader, resolve: Callable[[Row], Row]) -> None:
        self._below = below
        self._resolve = resolve
        self.keys = below.keys
        self.what = below.what
        self.is_several = below.is_several
        self.counts_gets = below.counts_gets

    def check(self, scan: Scan) -> None:
        """What the reader below refuses."""
        self._below.check(scan)

    def get(
        self,
        row: bytes,
        *,
        columns: Sequence[bytes] | None = None,
        versions: int = 1,
        times: TimeRange = ALL_TIMES,
    ) -> Row | None:
        """One row, or None if it has no such cells."""
        found = self._below.get(row, columns=columns, versions=versions, times=times)
        return None if found is None else self._resolve(found)

    def scan(self, scan: Scan, counts: ScanCounts | None = None) -> Generator[Row]:
        """Rows of a range."""
        with closing(self._below.scan(scan, counts)) as rows:
            for row in rows:
                yield self._resolve(row)

    def in_range(self, scan: Scan) -> Generator[Read]:
        """The rows of a range of physical row keys."""
        with closing(self._below.in_range(scan)) as rows:
            for row, more in rows:
                yield self._resolve(row), more

    def stored_key(self, key: bytes) -> StoredKey | None:
        """What the reader below says."""
        return self._below.stored_key(key)

    def next_command(self, row: str) -> Sequence[str]:
        """The command of the reader below."""
        return self._below.next_command(row)

    def shown(self, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """Rows of a range, with what the reader below shows beside them."""
        return self._shown(self._below.shown(scan, counts))

    def shown_one(self, row: bytes, scan: Scan, counts: ScanCounts) -> Generator[ShownRow]:
        """One row, with what the reader below shows beside it."""
        return self._shown(self._below.shown_one(row, scan, counts))

    def stats(self) -> ReadStats | None:
        """The work of the reader below."""
        return self._below.stats()

    def _shown(self, rows: Generator[ShownRow]) -> Generator[ShownRow]:
        with closing(rows):
            for each in rows:
                yield each._replace(row=self._resolve(each.row))

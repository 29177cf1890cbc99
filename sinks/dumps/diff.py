"""The differences of a table between two dumps."""

from collections.abc import Generator
from contextlib import ExitStack, closing
from heapq import heappop, heappush
from typing import NamedTuple

from ingest.durable import file_errors
from sinks.dumps.errors import DumpCorruptError, TableNotDumpedError
from sinks.dumps.file_ref import FileRef
from sinks.dumps.listing import Dump, DumpFile
from sinks.dumps.reading import refuse_bad, rows_of
from sinks.dumps.rows import DumpRow
from sinks.scanning.paired_rows import Difference, differing


class RowDifference(NamedTuple):
    """
    A row that differs.

    Attributes:
        kind: what has become of it.
        before: in the first dump; None if it was added.
        after: in the second dump; None if it was removed.
    """

    kind: Difference
    before: DumpRow | None
    after: DumpRow | None

    @property
    def key(self) -> bytes:
        """The row key."""
        row = self.before or self.after
        assert row is not None  # noqa: S101 - for mypy: one of them is
        return row.key


def diff_table(before: Dump, after: Dump, table: str) -> Generator[RowDifference]:
    """
    The rows of a table that differ between two dumps, in the order of their keys.

    Memory is bounded: both dumps are read side by side. A table without rows in one of them was empty then.

    Raises:
        TableNotInDumpError: a dump does not know the table.
        DumpCorruptError: a file is damaged.
    """
    with ExitStack() as opened:
        old, new = (opened.enter_context(closing(rows_in_order(dump, table))) for dump in (before, after))
        for one, other, kind in differing(old, new, lambda row: row.cells):
            if kind is not None:
                yield RowDifference(kind, one, other)


def rows_in_order(dump: Dump, table: str) -> Generator[DumpRow]:
    """
    All rows of a table in the order of their keys, also if its files overlap; none if the table had no rows.

    Raises:
        TableNotInDumpError: the dump does not know the table.
        DumpCorruptError: a file is damaged, or its rows are not in this order.
    """
    with file_errors(dump.root):
        try:
            files = dump.files(table)
        except TableNotDumpedError:
            return
    last = None
    with ExitStack() as opened, closing(_merged(dump, table, files, opened)) as rows:
        for row in rows:
            if last is not None and row.key <= last:
                raise DumpCorruptError(f"{dump.name}/{files[0].path}", f'the rows of "{table}" are not in order')
            last = row.key
            yield row


def _merged(dump: Dump, table: str, files: list[DumpFile], opened: ExitStack) -> Generator[DumpRow]:
    """
    The rows of files that may overlap, as those of the buckets of a salted table do, merged by their keys.

    A file is opened when its first row may be the next one, so only files that overlap are open at a time.
    """
    waiting = sorted(files, key=_first_row, reverse=True)
    heads: list[tuple[bytes, int, DumpRow, Generator[DumpRow]]] = []
    while waiting or heads:
        while waiting and (not heads or _first_row(waiting[-1]) <= heads[0][0]):
            file = waiting.pop()
            rows = rows_of(dump.root, FileRef(dump.name, table, file.path, file.size_bytes), refuse_bad)
            opened.enter_context(closing(rows))
            _push(heads, rows, len(waiting))
        if heads:
            _, number, row, rows = heappop(heads)
            yield row
            _push(heads, rows, number)


def _push(heads: list[tuple[bytes, int, DumpRow, Generator[DumpRow]]], rows: Generator[DumpRow], number: int) -> None:
    row = next(rows, None)
    if row is not None:
        heappush(heads, (row.key, number, row, rows))  # the number is unique, so no rows are compared


def _first_row(file: DumpFile) -> bytes:
    """Of a file in a dump with a manifest; without one, the first key of all, so the file is opened at once."""
    return b"" if file.described is None else file.described.first_row

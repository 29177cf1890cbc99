"""Dumps of rows that a test gives, in a folder or in another root."""

import errno
from collections.abc import Callable, Iterable, Mapping

from ingest.api import Cell, FamilySpec, Row
from ingest.formats.column_types import AS_BYTES, ColumnTypes
from sinks.dumps.layout import FileFormat
from sinks.dumps.manifest import DumpedTable, Manifest
from sinks.dumps.run import DumpRun
from sinks.dumps.table_files import write_table_file
from sinks.files.local_root import LocalRoot
from sinks.files.root import Root

FAMILIES = (FamilySpec(b"f"),)
START_MS = 1_424_736_000_000
"""2015-02-24T00:00:00Z."""
DUMP = "2015-02-24-00-00-00"
"""The dump of that time."""


def row_of(key: bytes, *, time_ms: int = 1_000, **columns: bytes) -> Row:
    """A row with columns of the family `f`."""
    cells = sorted(Cell(b"f", name.encode(), time_ms, value) for name, value in columns.items())
    return Row(key, tuple(cells))


def rows_of(*keys: bytes, value: bytes = b"v") -> list[Row]:
    """Rows with one column."""
    return [row_of(key, q=value) for key in keys]


def make_dump(
    root: Root,
    tables: Mapping[str, Iterable[Iterable[Row]]],
    *,
    at_ms: int = START_MS,
    run_id: str = "run",
    file_format: FileFormat = FileFormat.GZIP,
    clock_ms: Callable[[], int] | None = None,
    columns: Mapping[str, str] | None = None,
    types: ColumnTypes = AS_BYTES,
) -> Manifest:
    """
    A complete dump.

    Args:
        root: that gets it.
        tables: name -> the rows of each of its files.
        at_ms: time of its start and its end.
        run_id: of its run.
        file_format: of its files.
        clock_ms: instead of `at_ms`.
        columns: of Parquet files; None for all cells.
        types: of the columns of all tables.
    """
    with DumpRun(root, run_id, clock_ms=clock_ms or (lambda: at_ms)) as run:
        run.start(list(tables), file_format)
        for table, parts in tables.items():
            for part, rows in enumerate(parts):
                file = write_table_file(root, run.folder, table, part, rows, file_format, columns=columns)
                run.add(table, part, file)
        about = DumpedTable((), families=FAMILIES, columns=columns, types=types)
        return run.finish(dict.fromkeys(tables, about))


class ReadOnlyRoot(LocalRoot):
    """A root below which no file may be written."""

    def make_folder(self, path: str) -> None:
        """Refuse it."""
        raise PermissionError(errno.EACCES, "Permission denied", path)


class FullRoot(LocalRoot):
    """A root on a full disk."""

    def make_folder(self, path: str) -> None:
        """Refuse it."""
        raise OSError(errno.ENOSPC, "No space left on device", path)

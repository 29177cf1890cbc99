"""One file of a dump: the rows of a range of a table."""

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO, cast

from ingest.api import Row
from sinks.dumps.layout import FileFormat, encoded_table, table_file_name
from sinks.dumps.lines import write_lines
from sinks.dumps.manifest import TableFile
from sinks.dumps.rows import DumpRow
from sinks.files.root import Root


def write_table_file(
    root: Root,
    folder: str,
    table: str,
    part: int,
    rows: Iterable[Row],
    file_format: FileFormat = FileFormat.GZIP,
    *,
    columns: Mapping[str, str] | None = None,
) -> TableFile | None:
    """
    Write the rows of a range to a file; it appears when all of them are durable in it.

    The same rows give the same bytes at the same path, so a repeated attempt replaces the file by an equal one.

    Args:
        root: that the dump is in.
        folder: of the dump that is being made (`DumpRun.folder`).
        table: its name.
        part: number of the file in the table, from 0; in the order of the physical row keys.
        rows: by logical row keys, in their order; of each column the first cell, the newest one, is written.
        file_format: of the file.
        columns: of a Parquet file: name of a column -> type, as `parquet.schema_of` takes them; None for all cells.

    Returns:
        The file; None if there are no rows, and then there is no file.

    Raises:
        OSError: of the file system.
    """
    path = table_file_name(table, part, file_format)
    iterator = iter(rows)
    first = next(iterator, None)
    if first is None:
        return None
    root.make_folder(f"{folder}/{encoded_table(table)}")
    with root.new_file(f"{folder}/{path}") as file:
        counted = _Counted(chain((first,), iterator), table)
        hashed = _Hashed(file)
        if file_format is FileFormat.PARQUET:
            from sinks.dumps.parquet import write_rows

            write_rows(cast("BinaryIO", hashed), counted, columns)
        else:
            write_lines(cast("BinaryIO", hashed), (row.to_line() for row in counted), file_format)
    return TableFile(path, counted.rows, hashed.size_bytes, hashed.sha256, first.key, counted.last_row)


class _Counted:
    """Rows as those of a dump, counted while they are read."""

    def __init__(self, rows: Iterable[Row], table: str) -> None:
        self._rows = rows
        self._table = table
        self.rows = 0
        self.last_row = b""

    def __iter__(self) -> Iterator[DumpRow]:
        of, table = DumpRow.of, self._table
        for row in self._rows:
            self.rows += 1
            self.last_row = row.key
            yield of(table, row)


class _Hashed(io.RawIOBase):
    """A file for writing that computes its size and checksum."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._sha256 = hashlib.sha256()
        self.size_bytes = 0

    @property
    def sha256(self) -> str:
        """Of what was written, in hexadecimal."""
        return self._sha256.hexdigest()

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any, /) -> int:
        """Write all of the data."""
        self._file.write(data)
        self._sha256.update(data)
        size = len(data)
        self.size_bytes += size
        return size

    def tell(self) -> int:
        """Size of what was written."""
        return self.size_bytes

"""Reads a table of a dump: a partition for each of its files."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ingest import garbage_collector
from ingest.api import Row
from ingest.spark.datasource.options import DumpReadOptions, ReadOptions, dump_options
from ingest.spark.datasource.tables import driver_folder
from ingest.spark.datasource.values import batches_of
from sinks.dumps.errors import TableNotDumpedError
from sinks.dumps.listing import DumpFile
from sinks.dumps.reader import DumpReader


@dataclass
class FilePartition(InputPartition):
    """
    What one task reads.

    Attributes:
        token: of a file of the dump; empty for a partition without rows.
    """

    token: str


class DumpSourceReader(DataSourceReader):
    """
    Reads a table of the newest complete dump, or of a named one; its row keys are the logical ones.

    The dump is chosen and pinned when the partitions are planned, so all tasks of a query read the same one, and it
    does not expire within a day. The order of rows is undefined among partitions.
    """

    def __init__(self, source: DumpReadOptions, options: ReadOptions, schema: StructType) -> None:
        self._source = source
        self._options = options
        self._schema = schema

    def partitions(self) -> list[FilePartition]:
        """A partition for each file that may have rows of the range."""
        reader = DumpReader(self._source.root, owner="Spark")
        reader.lock(self._source.dump, pin=self._source.is_pinned)
        found: list[FilePartition] = []
        try:
            found = self._partitions(reader)
        finally:
            if not found:
                reader.unlock()  # else the pin stays: the tasks run later
        # without a partition, Spark would make one of its own class
        return found or [FilePartition("")]

    def _partitions(self, reader: DumpReader) -> list[FilePartition]:
        start, stop = self._options.scan.bounds()
        known = {file.path: file.described for file in _files(reader, self._source.table)}
        return [
            FilePartition(ref.token)
            for ref in (reader.files(self._source.table) if known else [])
            if (file := known[ref.path]) is None or (file.last_row >= start and (stop is None or file.first_row < stop))
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file, in batches bounded by rows and bytes."""
        if TaskContext.get() is not None:  # only in a worker process of Spark
            garbage_collector.collect_rarely()
        with closing(self._rows(cast("FilePartition", partition).token)) as rows:
            yield from batches_of(rows, self._options, self._schema)

    def _rows(self, token: str) -> Generator[tuple[Row, tuple[object, ...]]]:
        if not token:
            return
        start, stop = self._options.scan.bounds()
        wanted = None if self._options.scan.columns is None else frozenset(self._options.scan.columns)
        with DumpReader(self._source.root).read(token) as rows:
            for row in rows:
                if row.key < start or (stop is not None and row.key >= stop):
                    continue
                cells = row.cells
                if wanted is not None:
                    cells = tuple(cell for cell in cells if cell.family + b":" + cell.qualifier in wanted)
                    if not cells:
                        continue
                yield Row(row.key, cells), ()


def dump_source(options: Mapping[str, str]) -> DumpReadOptions:
    """
    The dump of the options of a DataFrameReader, whose names are in lower case; a relative root starts at the folder of
    the driver.

    Raises:
        ConfigError: an option is missing, or does not apply to dumps.
    """
    found = dump_options(options)
    return found if "://" in found.root else replace(found, root=str(driver_folder() / found.root))


def _files(reader: DumpReader, table: str) -> list[DumpFile]:
    try:
        return reader.table_metadata(table)
    except TableNotDumpedError:
        return []

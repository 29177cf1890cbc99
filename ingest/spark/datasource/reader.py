"""Reads a table: plans the partitions beside the driver, and reads one in each task."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ingest import garbage_collector
from ingest.api import Cell, DecodeError, FuzzyPattern, Row, Scan, Store
from ingest.api.notation import readable, shown
from ingest.formats.cell_types import CODECS, CellType
from ingest.spark.datasource.columns import DeclaredColumn
from ingest.spark.datasource.filters import ranges_of
from ingest.spark.datasource.options import ReadOptions
from ingest.spark.datasource.partitions import (
    EVERYTHING,
    Range,
    even_cuts,
    intersection,
    partitions_of,
    point,
    stored_ranges,
)
from ingest.spark.datasource.tables import SourceTable
from ingest.spark.streaming.rows import ARROW_BYTES, ARROW_ROWS
from sinks.rowkeys.distribution import Distribution
from sinks.scanning.families import check_families
from sinks.scanning.stored_keys import get_stored, scan_stored


@dataclass
class TablePartition(InputPartition):
    """
    What one task reads.

    Attributes:
        ranges: of stored row keys, disjoint and in byte order; with buckets, each lies in one bucket.
        buckets: number of buckets of the table, from its record; None if it has none.
    """

    ranges: tuple[Range, ...]
    buckets: int | None


class TableSourceReader(DataSourceReader):
    """
    Reads a table; its row keys are the original ones.

    The order of rows is that of the stored keys within a partition, and undefined among partitions.
    """

    def __init__(self, table: SourceTable, options: ReadOptions, schema: StructType) -> None:
        self._table = table
        self._options = options
        self._schema = schema
        self._ranges = intersection([options.scan.bounds()], [EVERYTHING])

    def partitions(self) -> list[TablePartition]:
        """One partition for each region and bucket, divided further if the option `minPartitions` is larger."""
        with self._table.reading() as store:
            check_families(store, self._table.name, self._options.scan.columns)
            spec = store.describe_table(self._table.name)
            distribution = None if spec is None else Distribution.of(spec.buckets)
            ranges = stored_ranges(self._ranges, distribution)
            cuts = {*(spec.splits if spec is not None else ()), *(distribution.prefixes if distribution else ())}
            found = partitions_of(ranges, cuts)
            if 0 < len(found) < self._options.min_partitions:
                parts = ceil(self._options.min_partitions / len(found))
                found = partitions_of(ranges, cuts.union(*(self._cuts(store, each, parts) for each in found)))
        buckets = None if distribution is None else distribution.buckets
        # without a partition, Spark would make one of its own class
        return [TablePartition(each, buckets) for each in found or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, in batches bounded by rows and bytes."""
        if TaskContext.get() is not None:  # only in a worker process of Spark
            garbage_collector.collect_rarely()
        schema = to_arrow_schema(self._schema, timezone="UTC")
        rows: list[tuple[object, ...]] = []
        size = 0
        for row in self._rows(cast("TablePartition", partition)):
            rows.append(self._values(row))
            size += sum(len(cell.value) for cell in row.cells)
            if len(rows) >= ARROW_ROWS or size >= ARROW_BYTES:
                yield _batch(rows, schema)
                rows, size = [], 0
        if rows:
            yield _batch(rows, schema)

    def _rows(self, partition: TablePartition) -> Iterator[Row]:
        """The rows of the ranges, with their original keys."""
        scan, name = self._options.scan, self._table.name
        if not partition.ranges:
            return
        distribution = Distribution.of(partition.buckets)
        with self._table.reading() as store:
            for start, stop in partition.ranges:
                if (start, stop) == point(start):
                    row = self._row(store, start, distribution)
                    if row is not None:
                        yield row
                    continue
                part = replace(scan, start=start, stop=stop, prefix=b"")
                with closing(scan_stored(store, name, part, distribution)) as found:
                    yield from found

    def _row(self, store: Store[Any], stored: bytes, distribution: Distribution | None) -> Row | None:
        """One row, which a get reads with fewer calls than a scan."""
        scan = self._options.scan
        key = stored if distribution is None else distribution.original(stored)
        if not key or not _matches(key, scan.fuzzy):
            return None
        return get_stored(
            store,
            self._table.name,
            stored,
            distribution,
            columns=scan.columns,
            versions=scan.versions,
            times=scan.times,
        )

    def _cuts(self, store: Store[Any], ranges: Sequence[Range], parts: int) -> list[bytes]:
        """Row keys that divide the rows of a partition; the first and the last row are read for it."""
        first = self._edge(store, ranges, reverse=False)
        last = None if first is None else self._edge(store, ranges, reverse=True)
        return [] if first is None or last is None else even_cuts(first, last, parts)

    def _edge(self, store: Store[Any], ranges: Sequence[Range], *, reverse: bool) -> bytes | None:
        # of all columns: a scan for a rare one would read many rows
        scan = Scan(ranges[0][0], ranges[-1][1], limit=1, reverse=reverse)
        with closing(store.scan(self._table.name, scan)) as rows:
            row = next(rows, None)
        return None if row is None else row.key

    def _values(self, row: Row) -> tuple[object, ...]:
        """The row as values of the schema's columns."""
        options = self._options
        columns = options.columns
        key = _decoded(row, CellType.UTF8, row.key, "its key") if columns.row.is_text else row.key
        if columns.columns:
            cells = {cell.family + b":" + cell.qualifier: cell.value for cell in row.cells}
            return key, *(_value(row, column, cells.get(column.column)) for column in columns)
        if options.has_versions:
            versions = [
                {"column": _name(cell), "timestamp": cell.timestamp_ms, "value": cell.value} for cell in row.cells
            ]
            return key, versions
        return key, [(_name(cell), cell.value) for cell in row.cells]


class FilteringReader(TableSourceReader):
    """
    Reads only rows that satisfy the filters of a query on the row key.

    Spark 4.2 calls `pushFilters` if its setting `spark.sql.python.filterPushdown.enabled` is true, and refuses this
    class otherwise. It also keeps the narrowed reader for later queries of the same DataFrame, which then miss rows, so
    the option `push_filters` chooses this class.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Read only rows that satisfy the filters on the row key; returns the other filters, which Spark applies."""
        for each in filters:
            ranges = ranges_of(each, self._options.columns.row)
            if ranges is None:
                yield each
            else:
                self._ranges = intersection(self._ranges, ranges)


def _matches(key: bytes, patterns: Sequence[FuzzyPattern]) -> bool:
    return not patterns or any(pattern.matches(key) for pattern in patterns)


def _batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _value(row: Row, column: DeclaredColumn, value: bytes | None) -> object:
    if value is None:
        return None
    return _decoded(row, column.cell_type, value, shown(column.column))


def _decoded(row: Row, cell_type: CellType, value: bytes, what: str) -> object:
    try:
        return CODECS[cell_type].decode(value)
    except ValueError as error:
        raise DecodeError(
            f"row {shown(row.key)}: {what} cannot be read as {cell_type}: {error}",
            hint="declare the type that the column was written with, or read it without the option columns",
        ) from error


def _name(cell: Cell) -> str:
    return readable(cell.family + b":" + cell.qualifier)

"""Reads a table: plans the partitions beside the driver, and reads one in each task."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from ingest import garbage_collector
from ingest.api import Store
from ingest.api.table_reader import Read, ReaderPlace, Recorded, TableReader
from ingest.plan.features import open_reader, recorded_of
from ingest.spark.datasource.filters import ranges_of
from ingest.spark.datasource.options import ReadOptions
from ingest.spark.datasource.tables import SourceTable
from ingest.spark.datasource.values import batches_of
from sinks.scanning.families import check_families
from sinks.scanning.partitions import EVERYTHING, Range, divided_table, intersection


@dataclass
class TablePartition(InputPartition):
    """
    What one task reads.

    Attributes:
        ranges: of physical row keys, disjoint and in byte order; with buckets, each lies in one bucket.
        recorded: of the table.
    """

    ranges: tuple[Range, ...]
    recorded: Recorded


class TableSourceReader(DataSourceReader):
    """
    Reads a table; its row keys are the logical ones.

    Rows are in the order of the physical keys within a partition, and in no order among partitions.
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
            recorded = recorded_of(store, self._table.name)
            reader = self._reader(store, recorded)
            reader.check(self._options.scan)
            found = divided_table(
                store,
                self._table.name,
                self._ranges,
                recorded.buckets,
                reader.keys,
                min_partitions=self._options.min_partitions,
            )
        # without a partition, Spark would make one of its own class
        return [TablePartition(each, recorded) for each in found or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, in batches bounded by rows and bytes."""
        if TaskContext.get() is not None:  # only in a worker process of Spark
            garbage_collector.collect_rarely()
        with closing(self._rows(cast("TablePartition", partition))) as rows:
            yield from batches_of(rows, self._options, self._schema)

    def _rows(self, partition: TablePartition) -> Generator[Read]:
        """The rows of the ranges, with their logical keys, and the values of the columns that a feature adds."""
        if not partition.ranges:
            return
        with self._table.reading() as store:
            reader = self._reader(store, partition.recorded)
            for start, stop in partition.ranges:
                scan = replace(self._options.scan, start=start, stop=stop, prefix=b"")
                with closing(reader.in_range(scan)) as found:
                    yield from found

    def _reader(self, store: Store[Any], recorded: Recorded) -> TableReader:
        place = ReaderPlace(store, self._table.name, recorded, self._options.asked)
        return open_reader(place, self._table.planned())


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

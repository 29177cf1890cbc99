"""Reads a table: plans the partitions beside the driver, and reads one in each task."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from ingest import garbage_collector
from ingest.api import ConfigError, FuzzyPattern, Row, Scan, Store, UpdatesDifferError
from ingest.api.table_reader import Recorded
from ingest.plan.features import recorded_of, row_keys
from ingest.spark.datasource.filters import ranges_of
from ingest.spark.datasource.options import ReadOptions
from ingest.spark.datasource.tables import SourceTable
from ingest.spark.datasource.values import batches_of
from sinks.blobs.declared import no_blob_store
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.families import check_families
from sinks.scanning.merged_rows import MergedRows, check_mergeable
from sinks.scanning.partitions import (
    EVERYTHING,
    Range,
    divided_table,
    intersection,
    point,
)
from sinks.scanning.physical_keys import get_physical, scan_physical
from sinks.scanning.raw_rows import RawRows, StoredUpdate
from sinks.updates.keys import split_of, time_of


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
            self._check(store, RowFormat.of(recorded))
            found = divided_table(
                store,
                self._table.name,
                self._ranges,
                recorded.buckets,
                row_keys(recorded),
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

    def _check(self, store: Store[Any], rows: RowFormat) -> None:
        """Refuse options that do not apply to the table."""
        options, table = self._options, self._table
        if options.with_blobs and table.blobs is None:
            raise no_blob_store(table.name)
        if rows.updates and not options.is_raw:
            check_mergeable(table.name, options.scan.versions, options.scan.times)
            table.merging(store)
        elif options.is_raw and not rows.updates:
            raise ConfigError(f'table "{table.name}" has no deferred updates', hint="leave the option raw out")

    def _rows(self, partition: TablePartition) -> Generator[tuple[Row, tuple[object, ...]]]:
        """The rows of the ranges, with their logical keys; update rows with their intervals."""
        if not partition.ranges:
            return
        blobs = self._table.blobs if self._options.with_blobs else None
        with self._table.reading() as store:
            read = self._reader(store, RowFormat.of(partition.recorded))
            resolve = None if blobs is None else blobs.resolving(store, self._table.name)
            for start, stop in partition.ranges:
                with closing(read(replace(self._options.scan, start=start, stop=stop, prefix=b""))) as found:
                    yield from found if resolve is None else ((resolve(row), rest) for row, rest in found)

    def _reader(
        self, store: Store[Any], rows: RowFormat
    ) -> Callable[[Scan], Generator[tuple[Row, tuple[object, ...]]]]:
        """What reads a range of physical row keys."""
        name = self._table.name
        if not rows.updates:
            return partial(self._plain, store, Distribution.of(rows.buckets))
        if self._options.is_raw:
            raw = RawRows(store, name, rows)
            return lambda scan: _with_intervals(raw.in_physical_range(scan))
        merging = self._table.merging(store)
        if merging is None:
            raise UpdatesDifferError(name, rows.updates, "")
        merged = MergedRows(store, name, rows, merging)
        return lambda scan: _without_intervals(merged.rows_in_physical_range(scan))

    def _plain(
        self, store: Store[Any], distribution: Distribution | None, scan: Scan
    ) -> Generator[tuple[Row, tuple[object, ...]]]:
        if (scan.start, scan.stop) == point(scan.start):
            row = self._row(store, scan.start, distribution)
            if row is not None:
                yield row, ()
            return
        yield from _without_intervals(scan_physical(store, self._table.name, scan, distribution))

    def _row(self, store: Store[Any], physical: bytes, distribution: Distribution | None) -> Row | None:
        """One row, which a get reads with fewer calls than a scan."""
        scan = self._options.scan
        key = physical if distribution is None else distribution.logical(physical)
        if not key or not _matches(key, scan.fuzzy):
            return None
        return get_physical(
            store,
            self._table.name,
            physical,
            distribution,
            columns=scan.columns,
            versions=scan.versions,
            times=scan.times,
        )


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


def _without_intervals(found: Generator[Row]) -> Generator[tuple[Row, tuple[object, ...]]]:
    with closing(found):
        yield from ((row, ()) for row in found)


def _with_intervals(found: Generator[StoredUpdate]) -> Generator[tuple[Row, tuple[object, ...]]]:
    with closing(found):
        for (key, cells), is_orphaned in found:
            interval = {
                "start_time": time_of(key.start),
                "start_split": split_of(key.start),
                "end_time": time_of(key.last),
                "end_split": split_of(key.last),
                "is_merged": key.is_merged,
                "is_orphaned": is_orphaned,
            }
            yield Row(key.row, cells), (interval,)

"""
Kafka records between offsets, read by a Python task in place of Spark's Kafka source.

Spark's tasks decompress what a fetch has, whatever its size, and have 500 records at a time in the memory of the JVM.
This task has one record batch at a time in memory, and leaves out the given ones without decompressing them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ingest.api import RECORD_SCHEMA, Record, TopicPartition
from ingest.kafka.large_batches import LargeBatch
from ingest.kafka.record_batches import OffsetRange, record_batches
from ingest.kafka.settings import KafkaConnection
from ingest.spark.streaming.rows import arrow_of

Ranges = Mapping[TopicPartition, OffsetRange]


def read_kafka_apart(
    session: SparkSession, connection: KafkaConnection, ranges: Ranges, left_out: Sequence[LargeBatch]
) -> DataFrame:
    """
    The records of ranges of offsets in one partition of a frame, those of each Kafka partition in their order.

    Its task raises the errors of `record_batches` and of `RecordBatch.decompressed`.

    Args:
        session: Spark's.
        connection: of the cluster.
        ranges: of partitions.
        left_out: record batches that are not read.
    """
    offsets = frozenset((batch.topic, batch.partition, batch.first) for batch in left_out)
    return session.range(0, 1, 1, 1).mapInArrow(partial(_rows, connection, dict(ranges), offsets), RECORD_SCHEMA)


def _rows(
    connection: KafkaConnection,
    ranges: Ranges,
    left_out: frozenset[tuple[str, int, int]],
    one_row: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The records as Arrow batches; `one_row` starts the task, and its content is ignored."""
    for _ in one_row:
        # one partition after the other: those of a split are together
        for part, wanted in sorted(ranges.items()):
            yield from arrow_of(_records(connection, part, wanted, left_out))


def _records(
    connection: KafkaConnection, part: TopicPartition, wanted: OffsetRange, left_out: frozenset[tuple[str, int, int]]
) -> Iterator[Record]:
    begin, end = wanted
    with closing(record_batches(connection, {part: wanted})) as batches:
        for batch in batches:
            if (*part, batch.first) in left_out:
                continue
            for record in batch.decompressed():
                if begin <= record.offset < end:
                    yield record

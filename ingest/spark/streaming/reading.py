"""A source as one streaming frame, with the columns of a record (`rows.COLUMNS`)."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every PySpark reader knows
from pyspark.sql.types import StructType

from ingest.api import RECORD_SCHEMA, CatalogError
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.plugins.contract import BadPluginError
from ingest.sources import files, kafka
from ingest.spark.streaming.batch_log import OffsetRanges
from ingest.spark.streaming.files_reader import FilesDataSource
from ingest.spark.streaming.rows import COLUMNS

Session = SparkSession
Frame = DataFrame
"""Types for modules that must not import pyspark."""

FETCH_WAIT_MS = "1"
"""
The time a broker waits for new records, short because a task reads only existing records. After each fetch Kafka's
client prefetches, and Spark requests the end offsets of the partition on the same connection: the broker answers that
request only after the wait of the prefetch.
"""
POLLED_BYTES = 64 << 20
"""
Of the records that one poll of a task returns, if `max_event_bytes` is above its default. Kafka's client returns up to
500; large ones that compress well, a few kilobytes each in the log, would need more than the memory of the JVM.
"""
EARLIEST = -2  # Spark's value for the earliest offset


def read_kafka(
    session: SparkSession,
    source: kafka.KafkaSourceSettings,
    start: kafka.Start,
    partitions: Mapping[str, int],
    max_records: int | None = None,
) -> DataFrame:
    """
    A stream of Kafka records.

    Args:
        session: Spark's.
        source: which topics of which cluster.
        start: where a query without a checkpoint starts to read.
        partitions: topic -> number of partitions; Spark requires an offset for each if any is given.
        max_records: maximum of a micro-batch besides the source's; None without one.
    """
    options = kafka_options(source, start, partitions, max_records)
    return _records(session.readStream.format("kafka").options(**options).load())


def read_kafka_ranges(session: SparkSession, source: kafka.KafkaSourceSettings, ranges: OffsetRanges) -> DataFrame:
    """
    The Kafka records between offsets, each partition as a partition of the frame; not a stream.

    Args:
        session: Spark's.
        source: the cluster.
        ranges: not empty.
    """
    begins: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for (topic, partition), (begin, end) in ranges.items():
        begins.setdefault(topic, {})[str(partition)] = begin
        ends.setdefault(topic, {})[str(partition)] = end
    options = _common_options(source) | {
        "assign": json.dumps({topic: [int(partition) for partition in found] for topic, found in begins.items()}),
        "startingOffsets": json.dumps(begins),
        "endingOffsets": json.dumps(ends),
    }
    return _records(session.read.format("kafka").options(**options).load())


def _records(raw: DataFrame) -> DataFrame:
    """The rows of Spark's Kafka source as records."""
    # empty, not null: for each null list Arrow's Java writer scans all earlier rows of the batch
    headers = F.coalesce("headers", F.array().cast(raw.schema["headers"].dataType))
    return raw.withColumns({"timestamp_ms": F.unix_millis("timestamp"), "headers": headers}).select(*COLUMNS)


def kafka_options(
    source: kafka.KafkaSourceSettings,
    start: kafka.Start,
    partitions: Mapping[str, int],
    max_records: int | None = None,
) -> dict[str, str]:
    """Options of Spark's Kafka source; they contain secrets. Arguments as in `read_kafka`."""
    limit = source.max_events_per_batch if max_records is None else min(max_records, source.max_events_per_batch)
    options = _common_options(source) | {"maxOffsetsPerTrigger": str(limit)}
    if source.topics is not None:
        options["subscribe"] = ",".join(source.topics)
    else:
        options["subscribePattern"] = str(source.topics_pattern)
    match start.at:
        case "time":
            options["startingTimestamp"] = str(start.time_ms)
            # for a partition without a record at or after that time
            options["startingOffsetsByTimestampStrategy"] = "latest"
        case "offsets":
            offsets = {
                topic: {
                    str(number): start.offsets.get(topic, {}).get(number, EARLIEST)
                    for number in range(max(count, 1 + max(start.offsets.get(topic, {0: 0}))))
                }
                for topic, count in partitions.items()
            }
            options["startingOffsets"] = json.dumps(offsets)
        case _:
            options["startingOffsets"] = start.at
    return options


def _common_options(source: kafka.KafkaSourceSettings) -> dict[str, str]:
    options = {"kafka.fetch.max.wait.ms": FETCH_WAIT_MS}
    event_bytes = source.decoding.max_event_bytes
    if event_bytes > DEFAULT_EVENT_BYTES:
        options["kafka.max.poll.records"] = str(max(1, POLLED_BYTES // event_bytes))
    options |= {f"kafka.{name}": value for name, value in source.java_options().items()}
    return options | {
        # skips records of aborted transactions
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
    }


def read_files(
    session: SparkSession,
    source: files.FilesSourceSettings,
    max_records: int | None = None,
    first_offset: Mapping[str, object] = MappingProxyType({}),
) -> DataFrame:
    """
    A stream of the lines of finished files.

    Args:
        session: Spark's.
        source: which files.
        max_records: maximum of a micro-batch, unless it is a whole gzip file; None without one.
        first_offset: where a query without a checkpoint starts; empty to read all files.
    """
    session.dataSource.register(FilesDataSource)  # a second time replaces the first
    reader = session.readStream.format(FilesDataSource.name())
    limits = {"max_event_bytes": str(source.max_event_bytes), "encoding": source.encoding.value}
    if max_records is not None:
        limits["max_records"] = str(max_records)
    if first_offset:
        limits["first_offset"] = json.dumps(dict(first_offset))
    return reader.options(path=source.path, **limits).load()


def record_frame(frame: object, kind: str) -> DataFrame:
    """
    A source's frame reduced to the columns of a record, in order.

    Raises:
        CatalogError: it is not a streaming DataFrame, or a column is missing or has another type.
    """
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise _broken_source(kind, "returns no streaming DataFrame", "build it from session.readStream")
    found = {field.name: field.dataType.simpleString() for field in frame.schema}
    wanted = {field.name: field.dataType.simpleString() for field in _record_type()}
    for name, type_ in wanted.items():
        if found.get(name) != type_:
            what = f'returns "{name}" as {found[name]}' if name in found else f'returns no column "{name}"'
            raise _broken_source(kind, what, f"cast it to {type_}; see ingest.api.RECORD_SCHEMA")
    return frame.select(*wanted)


def _broken_source(kind: str, what: str, hint: str) -> CatalogError:
    return BadPluginError(f'source "{kind}" {what}', hint=hint)


def _record_type() -> StructType:
    found = StructType.fromDDL(RECORD_SCHEMA)
    assert isinstance(found, StructType)  # noqa: S101 - for mypy: a list of columns is no other type
    return found

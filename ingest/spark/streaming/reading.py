"""A source as one streaming frame, with the columns of a record (`rows.COLUMNS`)."""

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every PySpark reader knows
from pyspark.sql.types import StructType

from ingest.api import RECORD_SCHEMA, CatalogError
from ingest.sources import files, kafka
from ingest.spark.streaming.files_reader import FilesDataSource
from ingest.spark.streaming.rows import COLUMNS

Session = SparkSession
Frame = DataFrame
"""What others call Spark's session and streaming frame, so that pyspark stays behind this door."""

FETCH_WAIT_MS = "1"
"""
A task reads up to offsets that are there. After each fetch Kafka's client asks for more, and Spark asks it for the ends
of the partition, on the same connection: the broker answers that only when it has given up waiting for more.
"""
EARLIEST = -2  # what Spark writes for "the first offset there is"


def read_kafka(
    session: SparkSession,
    source: kafka.KafkaSourceSettings,
    start: kafka.Start,
    partitions: Mapping[str, int],
) -> DataFrame:
    """
    A stream of Kafka records.

    Args:
        session: Spark's.
        source: which topics of which cluster.
        start: where a query without a checkpoint begins.
        partitions: topic -> number of partitions; Spark wants an offset for each when it is given any.
    """
    raw = session.readStream.format("kafka").options(**kafka_options(source, start, partitions)).load()
    # empty, not null: with a null list Arrow's Java writer goes over all rows of the batch before it, at every row
    headers = F.coalesce("headers", F.array().cast(raw.schema["headers"].dataType))
    return raw.withColumns({"timestamp_ms": F.unix_millis("timestamp"), "headers": headers}).select(*COLUMNS)


def kafka_options(
    source: kafka.KafkaSourceSettings, start: kafka.Start, partitions: Mapping[str, int]
) -> dict[str, str]:
    """Options of Spark's Kafka source; they hold secrets."""
    options = {"kafka.fetch.max.wait.ms": FETCH_WAIT_MS}
    options |= {f"kafka.{name}": value for name, value in source.java_options().items()}
    options |= {
        # records of aborted transactions never happened
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": str(source.max_events_per_batch),
    }
    if source.topics is not None:
        options["subscribe"] = ",".join(source.topics)
    else:
        options["subscribePattern"] = str(source.topics_pattern)
    match start.at:
        case "time":
            options["startingTimestamp"] = str(start.time_ms)
            # nothing as new as that in a partition: begin with what comes
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


def read_files(session: SparkSession, source: files.FilesSourceSettings) -> DataFrame:
    """A stream of the lines of finished files."""
    reader = session.readStream.format(FilesDataSource.name())
    return reader.options(path=source.path, max_event_bytes=str(source.max_event_bytes)).load()


def record_frame(frame: object, kind: str) -> DataFrame:
    """
    A source's frame with the columns of a record alone, in their order.

    Raises:
        CatalogError: it is no streaming frame, or lacks a column or its type.
    """
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise _broken_source(kind, "gives no streaming frame", "its frame() begins with session.readStream")
    found = {field.name: field.dataType.simpleString() for field in frame.schema}
    wanted = {field.name: field.dataType.simpleString() for field in _record_type()}
    for name, type_ in wanted.items():
        if found.get(name) != type_:
            what = f'gives "{name}" as {found[name]}' if name in found else f'gives no column "{name}"'
            raise _broken_source(kind, what, f"cast it to {type_}; see ingest.api.RECORD_SCHEMA")
    return frame.select(*wanted)


def _broken_source(kind: str, what: str, hint: str) -> CatalogError:
    return CatalogError(f'source "{kind}" {what}', code="bad_plugin", hint=hint)


def _record_type() -> StructType:
    found = StructType.fromDDL(RECORD_SCHEMA)
    assert isinstance(found, StructType)  # noqa: S101 - for mypy: a list of columns is no other type
    return found

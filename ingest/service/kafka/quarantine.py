"""
Record batches that the memory of Spark cannot hold: a micro-batch leaves them out, and dead letters name their places.

A record batch is compressed, and a producer can make one that is small in the log and larger than the memory of Spark.
Its JVM, or an executor, dies when Kafka's client decompresses it. Nothing limits that client (ADR 0052).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingest.amounts import counted, size
from ingest.api import IngestError, OnError, Record, TopicPartition
from ingest.config.model import Pipeline
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.kafka.codecs import RecordBatchTooLargeError
from ingest.kafka.large_batches import Examination, LargeBatch, examine
from ingest.kafka.record_batches import OffsetRange
from ingest.observe.logs import logger
from ingest.pipeline.failures import ON_ERROR
from ingest.receipt import Counts
from ingest.sources.kafka import KafkaSourceSettings, max_decompressed_bytes
from ingest.spark.session import max_tasks, task_memory_bytes
from ingest.spark.streaming.guard import Guard, Guarded
from ingest.spark.streaming.kafka_reader import read_kafka_apart
from ingest.spark.streaming.reading import Session

FETCH_MEMORY_DIVISOR = 4
"""Decompressed, the fetches of all tasks of a JVM may together take its memory divided by this."""
MIN_FETCHED_BYTES = 32 << 20  # ordinary records are compressed to a twentieth
CLUSTER_TASKS = 4  # of an executor, of which the driver does not know the number of cores
FETCH_BYTES = 1 << 20  # Kafka's default of `max.partition.fetch.bytes`

_log = logger(__name__)

Ranges = Mapping[TopicPartition, OffsetRange]


class Quarantine:
    """
    Leaves out record batches of ranges of offsets.

    Args:
        pipeline: reads them.
        settings: of its source.
        session: Spark's.
    """

    def __init__(self, pipeline: Pipeline, settings: KafkaSourceSettings, session: Session) -> None:
        self._pipeline = pipeline
        self._settings = settings
        self._session = session
        memory_bytes, tasks = task_memory_bytes(session), max_tasks(session) or CLUSTER_TASKS
        self.max_bytes = max_decompressed_bytes(settings, memory_bytes)
        self.max_fetched_bytes = max(MIN_FETCHED_BYTES, memory_bytes // (FETCH_MEMORY_DIVISOR * tasks))

    def examine(self, ranges: Ranges) -> Examination:
        """
        What Spark would have to decompress to read ranges of offsets; calls no JVM.

        Raises:
            IngestError: as `ingest.kafka.large_batches.examine`.
        """
        fetch_bytes = int(self._settings.options.get("max.partition.fetch.bytes", FETCH_BYTES))
        return examine(
            self._settings,
            ranges,
            max_bytes=self.max_bytes,
            fetch_bytes=fetch_bytes,
            max_fetched_bytes=self.max_fetched_bytes,
        )

    def guarded(self, ranges: Ranges, batch_time_ms: int, found: Examination) -> Guarded | None:
        """
        What to run in place of ranges of offsets that were examined; None if Spark can hold them.

        Raises:
            IngestError: the pipeline has `on_error: stop`, and a record batch is left out.
        """
        if not found.large and not found.is_heavy:
            return None
        dead_letters = list(self._dead_letters(ranges, batch_time_ms, found.large))
        _log.warning(
            "a micro-batch is read by one task, since Spark's memory may not hold it",
            pipeline=self._pipeline.name,
            batches_left_out=len(found.large),
            records_left_out=sum(each.events for each in dead_letters),
            first=dead_letters[0].id if dead_letters else "",
        )
        counts, published = self._failed(dead_letters)
        frame = read_kafka_apart(self._session, self._settings, ranges, found.large)
        return Guarded(frame, tuple(each.to_json() for each in published), counts)

    def _failed(self, dead_letters: Sequence[DeadLetter]) -> tuple[Counts, Sequence[DeadLetter]]:
        """
        The counts of records that are left out, and their dead letters if the failure action of the pipeline wants any.

        Raises:
            IngestError: it is `stop`, and there are some.
        """
        records = sum(each.events for each in dead_letters)
        counts = Counts(records=records, read=records)
        match self._pipeline.on_error:
            case OnError.STOP if dead_letters:
                first = dead_letters[0]
                raise IngestError(
                    f"{first.record.topic}/{first.record.partition}/{first.record.offset}: {first.message}",
                    code=RecordBatchTooLargeError.code,
                    hint="on_error is stop; raise max_decompressed_bytes of the source, or set on_error: dead_letter",
                )
            case OnError.DROP:
                counts.dropped[ON_ERROR] += records
                return counts, ()
        counts.dead_lettered_by[RecordBatchTooLargeError.code, "source"] += records
        return counts, dead_letters

    def guard(self, ranges: Ranges) -> Guard:
        """The guard of a micro-batch that is no query's, and examined in any case."""

        def guarded(batch_time_ms: int, _has_failed: bool) -> Guarded | None:  # noqa: FBT001 - as `Guard`
            return self.guarded(ranges, batch_time_ms, self.examine(ranges))

        return guarded

    def _dead_letters(self, ranges: Ranges, batch_time_ms: int, large: Iterable[LargeBatch]) -> Iterator[DeadLetter]:
        """Those of the offsets of the ranges: a batch may begin before or reach beyond them."""
        for batch in large:
            begin, end = ranges[batch.topic, batch.partition]
            first, last = max(batch.first, begin), min(batch.last, end - 1)
            if first <= last:
                yield self._dead_letter(batch, first, last, batch_time_ms)

    def _dead_letter(self, batch: LargeBatch, first: int, last: int, batch_time_ms: int) -> DeadLetter:
        return DeadLetter(
            record=Record(batch.topic, batch.partition, first, None, None, batch.timestamp_ms, ()),
            fan_out=0,
            attributes={},
            pipeline=self._pipeline.name,
            component="source",
            code=RecordBatchTooLargeError.code,
            message=f"record batch of {size(batch.size)} ({batch.codec}) has more than {size(batch.max_bytes)} when it "
            f"is decompressed; its {counted(batch.records, 'record')}, offsets {batch.first} to {batch.last}, are in "
            "the topic only",
            batch_time_ms=batch_time_ms,
            fingerprint=self._pipeline.fingerprint,
            events=min(batch.records, last - first + 1),
            by_place=PlaceRange(last + 1),
            table="",
        )


def quarantine_of(pipeline: Pipeline, session: Session) -> Quarantine | None:
    """That of a pipeline; None if its source is not Kafka."""
    settings: Any = pipeline.source.settings
    return Quarantine(pipeline, settings, session) if isinstance(settings, KafkaSourceSettings) else None

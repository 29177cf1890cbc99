"""
Record batches that the memory of Spark cannot hold: a micro-batch leaves them out, and dead letters name their places.

A record batch is compressed, and a producer can make one that is small in the log and larger than the memory of Spark.
Its JVM, or an executor, dies when Kafka's client decompresses it. Nothing limits that client (ADR 0052).
"""

from collections.abc import Mapping
from typing import Any

from ingest.amounts import counted, size
from ingest.api import IngestError, OnError, Record, TopicPartition
from ingest.config.model import Pipeline
from ingest.dead_letters.envelope import DeadLetter, UnreadRange
from ingest.kafka.large_batches import Examined, LargeBatch, examined
from ingest.kafka.record_batches import OffsetRange
from ingest.observe.logs import logger
from ingest.receipt import Counts
from ingest.sources.kafka import KafkaSourceSettings, max_decompressed_bytes
from ingest.spark.session import task_memory_bytes
from ingest.spark.streaming.guard import Guard, Guarded
from ingest.spark.streaming.kafka_reader import read_kafka_apart
from ingest.spark.streaming.reading import Session

CODE = "record_batch_too_large"
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
        self.max_bytes = max_decompressed_bytes(settings, task_memory_bytes(session))

    def examined(self, ranges: Ranges) -> Examined:
        """
        What Spark would have to decompress to read ranges of offsets; calls no JVM.

        Raises:
            IngestError: as `ingest.kafka.large_batches.examined`.
        """
        fetch_bytes = int(self._settings.options.get("max.partition.fetch.bytes", FETCH_BYTES))
        return examined(self._settings, ranges, max_bytes=self.max_bytes, fetch_bytes=fetch_bytes)

    def guarded(self, ranges: Ranges, batch_time_ms: int, found: Examined) -> Guarded | None:
        """
        What to run in place of ranges of offsets that were examined; None if Spark can hold them.

        Raises:
            IngestError: the pipeline has `on_error: stop`, and a record batch is left out.
        """
        if not found.large and not found.is_heavy:
            return None
        counts, dead_letters = Counts(), []
        for batch in found.large:
            begin, end = ranges[batch.topic, batch.partition]
            first, last = max(batch.first, begin), min(batch.last, end - 1)
            if first <= last:
                dead_letter = self._dead_letter(batch, first, last, batch_time_ms)
                if self._count(counts, dead_letter):
                    dead_letters.append(dead_letter.to_json())
        frame = read_kafka_apart(self._session, self._settings, ranges, found.large)
        return Guarded(frame, tuple(dead_letters), counts)

    def guard(self, ranges: Ranges) -> Guard:
        """The guard of a micro-batch that is no query's, and examined in any case."""

        def guarded(batch_time_ms: int, _has_failed: bool) -> Guarded | None:  # noqa: FBT001 - as `Guard`
            return self.guarded(ranges, batch_time_ms, self.examined(ranges))

        return guarded

    def _dead_letter(self, batch: LargeBatch, first: int, last: int, batch_time_ms: int) -> DeadLetter:
        return DeadLetter(
            record=Record(batch.topic, batch.partition, first, None, None, batch.timestamp_ms, ()),
            fan_out=0,
            attributes={},
            pipeline=self._pipeline.name,
            component="source",
            code=CODE,
            message=f"record batch of {size(batch.size)} ({batch.codec}) has more than {size(batch.max_bytes)} when it "
            f"is decompressed; its {counted(batch.records, 'record')}, offsets {batch.first} to {batch.last}, are in "
            "the topic only",
            batch_time_ms=batch_time_ms,
            fingerprint=self._pipeline.fingerprint,
            events=min(batch.records, last - first + 1),
            unread=UnreadRange(last + 1),
        )

    def _count(self, counts: Counts, dead_letter: DeadLetter) -> bool:
        """Count the records that a dead letter stands for; whether it is published, by the failure action."""
        place = f"{dead_letter.record.topic}/{dead_letter.record.partition}/{dead_letter.record.offset}"
        _log.warning(
            "a record batch is not read",
            pipeline=self._pipeline.name,
            place=place,
            reason=dead_letter.message,
        )
        if self._pipeline.on_error is OnError.STOP:
            raise IngestError(
                f"{place}: {dead_letter.message}",
                code=CODE,
                hint="on_error is stop; raise max_decompressed_bytes of the source, or set on_error: dead_letter",
            )
        counts.records += dead_letter.events
        counts.read += dead_letter.events
        if self._pipeline.on_error is OnError.DROP:
            counts.dropped["on_error"] += dead_letter.events
            return False
        counts.dead_lettered[CODE] += dead_letter.events
        return True


def quarantine_of(pipeline: Pipeline, session: Session) -> Quarantine | None:
    """That of a pipeline; None if its source is not Kafka."""
    settings: Any = pipeline.source.settings
    return Quarantine(pipeline, settings, session) if isinstance(settings, KafkaSourceSettings) else None

"""The task's half of the sink: sends the record of each event, and waits for their acknowledgements in `flush`."""

import time
from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

from ingest.api import (
    ErrorBudgetSpentError,
    Event,
    IngestError,
    MappingError,
    Origin,
    RecordPlace,
    SinkResult,
    SinkWriter,
    TaskSpec,
    WriteCounts,
)
from ingest.kafka.errors import BadRecordError, RecordTooLargeError
from ingest.kafka.producer import KafkaProducer, SentRecord
from ingest.kafka.settings import Compression, KafkaConnection
from sinks.kafka.errors import OF_CLUSTER, of_sink
from sinks.kafka.records import SinkRecord
from sinks.kafka.refused import packed, unpacked
from sinks.writing.record_bytes import RecordBytes, max_record_bytes

_PROBE = b"topic"


class KafkaWriter(SinkWriter):
    """
    Sends the records of a task.

    A record that the broker refuses is known only when it answers. The task then requests another attempt, in which the
    event of this record fails. That attempt sends all other records again, so that the last copies of a partition are
    in their order.

    Args:
        connection: to the cluster.
        topic: its name.
        compression: of record batches.
        record_of: makes the record of an event.
        max_event_bytes: of the source.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        topic: str,
        compression: Compression,
        record_of: Callable[[Event], SinkRecord],
        max_event_bytes: int,
    ) -> None:
        self._producer = KafkaProducer(connection, compression, self._refuse)
        self._topic = topic
        self._record_of = record_of
        self._record_bytes = RecordBytes(max_record_bytes(max_event_bytes))
        self._counts = WriteCounts()
        self._known: Mapping[Origin, tuple[str, str]] = {}
        self._refused: dict[Origin, tuple[str, str]] = {}
        self._max_refused: int | None = None
        self._refused_places: set[RecordPlace] = set()
        self._is_waiting = False  # for the cluster; also after an error that ended the cycle

    @property
    def event_calls(self) -> Sequence[Callable[..., object]]:
        """What makes the record of one event; the records of many events are sent at once."""
        return (self._record_of,)

    def begin(self, spec: TaskSpec, prepared: bytes, counts: WriteCounts) -> None:
        """Start a flush cycle."""
        self._is_waiting = False
        self._counts = counts
        self._known = unpacked([prepared] if prepared else ())
        self._max_refused = spec.max_failures
        self._refused = {}
        self._refused_places = set()
        self._record_bytes.begin()

    def write(self, event: Event) -> None:
        """Send the record of an event, once few enough of the earlier ones are not acknowledged yet."""
        record, origin = self._record_of(event), event.origin
        if self._known and (why := self._known.get(origin)) is not None:
            raise MappingError(why[1], code=why[0])
        size = record.size
        if origin.fan_out:
            self._record_bytes.add(origin, size)
        key, value, headers, timestamp_ms = record
        # not at random, so that a replay sends it to the same partition; murmur2 in Python would take 6 µs
        spread_by = crc32(b"%b/%d/%d" % (origin.topic.encode(), *origin[1:3])) if key is None else None
        self._is_waiting = True
        try:
            sent = self._producer.send(
                self._topic, key, value, headers, timestamp_ms=timestamp_ms, partition_key=spread_by
            )
        except (BadRecordError, RecordTooLargeError) as error:
            self._is_waiting = False
            raise MappingError(error.message, code=error.code, hint=error.hint) from error
        except OF_CLUSTER as error:
            raise of_sink(error) from error
        self._is_waiting = False
        sent.about = origin
        self._counts.rows_sent += 1
        self._counts.bytes += size

    def flush(self) -> SinkResult:
        """Wait until all in-sync replicas have all records; the batch runs again if the broker has refused some."""
        start_s = time.monotonic()
        self._is_waiting = True
        try:
            self._producer.flush()
        except OF_CLUSTER as error:
            raise of_sink(error) from error
        self._is_waiting = False
        self._counts.flush_s.append(time.monotonic() - start_s)
        self._counts.write_calls += 1
        return SinkResult(packed(self._refused), run_again=True) if self._refused else SinkResult()

    def probe(self) -> bytes:
        """Nothing of the batch: a record that the driver sends would be in the topic once more."""
        return _PROBE if self._is_waiting else b""

    def abandon(self) -> None:
        """Drop the records that are not acknowledged, so that none of them arrives after those of a later attempt."""
        self._producer.discard()

    def close(self) -> None:
        """Close the connection."""
        self._producer.close()

    def _refuse(self, record: SentRecord, why: IngestError) -> None:
        origin: Origin = record.about
        self._refused[origin] = why.code, why.message
        self._refused_places.add(origin[:3])  # several events of a record are one failure of the budget
        if self._max_refused is not None and len(self._refused_places) > self._max_refused:
            raise ErrorBudgetSpentError(
                f'topic "{self._topic}" refused {len(self._refused)} records of one task, the last one: {why}; the '
                "batch is not acknowledged",
                hint="correct the topic or the pipeline, or raise error_budget: {share: …}",
            )

"""Reads record batches as the log has them: still compressed, so that a reader decides what it decompresses."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from kafka import IsolationLevel
from kafka.consumer.fetcher import Fetcher

from ingest.api import PositionLostError, Record, TopicPartition
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.clients import ANSWER_MS, consumer
from ingest.kafka.clients import partition as partition_of
from ingest.kafka.codecs import Codec, RecordBatchDamagedError
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import NO_TIME
from ingest.kafka.tail import Progress, record_of

OffsetRange = tuple[int, int]
"""The first offset, and the offset after the last one."""

_POLL_MS = 200
_DEFAULT_FORMAT = 2  # of record batches; those before it were written before Kafka 0.11


class RecordBatch(NamedTuple):
    """
    A record batch of committed records.

    Attributes:
        topic: of the batch.
        partition: of the batch.
        first: offset of its first record, at most.
        last: offset of its last record, at least.
        records: their number.
        timestamp_ms: the newest of its records.
        codec: as `ingest.kafka.codecs.Codec`; that of a batch in the formats before Kafka 0.11 counts as none.
        size: in bytes, with its header.
        batch: of kafka-python.
    """

    topic: str
    partition: int
    first: int
    last: int
    records: int
    timestamp_ms: int
    codec: int
    size: int
    batch: Any

    @property
    def offset(self) -> int:
        """That by which kafka-python leaves out a batch before the requested offset."""
        return self.last

    @property
    def data(self) -> memoryview:
        """Its records, still compressed; for codecs other than none."""
        return memoryview(self.batch._buffer)[self.batch.HEADER_STRUCT.size :]  # noqa: SLF001 - there is no public way

    def decompressed(self) -> Iterator[Record]:
        """
        Its records, all of which are in memory meanwhile; call it once.

        Raises:
            SourceError: they are damaged, or larger than this product reads; see `ingest.kafka.codecs`.
        """
        what = f"reading record batch {self.topic}/{self.partition}/{self.first}"
        with translating(what):
            if not self.batch.validate_crc():
                raise RecordBatchDamagedError(f"{what} failed: it does not match its checksum")
            records = iter(self.batch)
            if self.batch.magic >= _DEFAULT_FORMAT:
                # Java's clients replace what is not UTF-8 in the name of a header, kafka-python refuses the record
                self.batch._buffer = _Readable(self.batch._buffer)  # noqa: SLF001 - as above
            for each in records:
                yield record_of(self.topic, self.partition, each)


def record_batches(
    connection: KafkaConnection, ranges: Mapping[TopicPartition, OffsetRange], *, beyond_bytes: int = 0
) -> Generator[RecordBatch]:
    """
    The record batches of ranges of offsets, and those that a client may fetch with the last record of a range.

    Nothing is decompressed. Batches of aborted transactions are left out.

    Args:
        connection: of the cluster.
        ranges: of partitions.
        beyond_bytes: of a fetch: batches after a range follow if they begin within so many bytes after the beginning of
            the batch with its last offset.

    Yields:
        Those of a partition in the order of their offsets.

    Raises:
        NotFoundError: there is no such topic.
        PositionLostError: the topic has deleted records of a range, or a partition ends before a range does.
        SourceUnavailableError: the cluster does not answer; also while batches are read.
    """
    topics = sorted({topic for topic, _ in ranges})
    with KafkaAdmin(connection) as admin:
        found = admin.ends(topics)
        _check_there(ranges, admin.earliest(topics), found)
    ends = {partition_of(part): found[part] for part in ranges}
    what = f"reading record batches of {', '.join(topics)}"
    beyond = dict.fromkeys(ends, 0)  # bytes since the beginning of the batch with the last offset of the range
    with closing(consumer(connection, out_of_range="none")) as client:
        client._fetcher.PartitionRecords = _Batches  # noqa: SLF001 - kafka-python has no public way to a record batch
        client.assign(list(ends))
        for part in ends:
            client.seek(part, ranges[part][0])
        progress = Progress()
        while ends:
            with translating(what):
                polled = client.poll(timeout_ms=_POLL_MS)
                positions = {part: client.position(part, timeout_ms=ANSWER_MS) for part in ends}
            for part, batches in polled.items():
                for batch in batches:
                    if batch.first < ranges[part][1] or beyond[part] < beyond_bytes:
                        yield batch
                    if batch.last >= ranges[part][1] - 1:
                        beyond[part] += batch.size
            done = [
                part
                for part, position in positions.items()
                if position >= ends[part] or (position >= ranges[part][1] and beyond[part] >= beyond_bytes)
            ]
            for part in done:
                del ends[part]
            client.pause(*done)
            progress.check(positions, what)


def _check_there(
    ranges: Mapping[TopicPartition, OffsetRange],
    earliest: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> None:
    lost = [
        f"{topic}/{partition} offsets {begin} to {end - 1}"
        for (topic, partition), (begin, end) in sorted(ranges.items())
        # a topic that was recreated may have fewer partitions
        if begin < earliest.get((topic, partition), 0) or end > ends.get((topic, partition), 0)
    ]
    if lost:
        raise PositionLostError(f"records that were not read yet are gone: some of {', '.join(lost)}")


class _Readable(bytearray):
    """The bytes of a record batch, any part of which can be decoded."""

    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        return _Readable(found) if isinstance(place, slice) else found

    def decode(self, encoding: str = "utf-8", errors: str = "replace") -> str:  # noqa: ARG002 - the base's signature
        return super().decode(encoding, "replace")


class _Batches(Fetcher.PartitionRecords):  # type: ignore[misc] # kafka-python has no types
    """What kafka-python makes of the answer to a fetch: record batches in place of records."""

    def _unpack_records(self, tp: TopicPartition, records: Any, *_deserializers: object) -> Iterator[RecordBatch]:
        topic, partition = tp
        previous: int | None = None
        while (batch := records.next_batch()) is not None:
            if batch.magic < _DEFAULT_FORMAT:
                # it says only its last offset; the number of its records is in its compressed part
                first = self.fetch_offset if previous is None else previous
                previous = self.next_fetch_offset = batch.base_offset + 1
                yield RecordBatch(
                    topic, partition, first, batch.base_offset, 1, NO_TIME, Codec.NONE, batch.size_in_bytes, batch
                )
                continue
            previous = self.next_fetch_offset = batch.last_offset + 1
            if self._is_aborted(batch) or batch.is_control_batch:
                continue
            yield RecordBatch(
                topic,
                partition,
                batch.base_offset,
                batch.last_offset,
                batch.records_count,
                batch.max_timestamp,
                batch.compression_type,
                batch.size_in_bytes,
                batch,
            )
        self.drain()

    def _is_aborted(self, batch: Any) -> bool:
        """Whether consumers of committed records leave a batch out; source: kafka-python's own iteration."""
        if self.isolation_level != IsolationLevel.READ_COMMITTED or not batch.has_producer_id():
            return False
        self._consume_aborted_transactions_up_to(batch.last_offset)
        if self._contains_abort_marker(batch):
            self.aborted_producer_ids.discard(batch.producer_id)
            return True
        return bool(self._is_batch_aborted(batch))

"""Finds record batches that are small in the log and large in memory."""

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api import SourceError, TopicPartition
from ingest.kafka.codecs import Codec, pieces
from ingest.kafka.record_batches import OffsetRange, RecordBatch, record_batches
from ingest.kafka.settings import KafkaConnection


class LargeBatch(NamedTuple):
    """
    A record batch that has more bytes when it is decompressed than a client can hold.

    Attributes:
        topic: of the batch.
        partition: of the batch.
        first: offset of its first record.
        last: offset of its last record.
        records: their number.
        timestamp_ms: the newest of its records.
        codec: its name.
        size: in the log, in bytes.
        max_bytes: the limit that it exceeds.
    """

    topic: str
    partition: int
    first: int
    last: int
    records: int
    timestamp_ms: int
    codec: str
    size: int
    max_bytes: int


@dataclass(slots=True)
class Examination:
    """
    What a client would have to decompress to read some ranges of offsets.

    Attributes:
        large: the record batches that it cannot hold, by partition and offset.
        is_heavy: whether those of one fetch may take too much memory when several clients read at once.
    """

    large: list[LargeBatch] = field(default_factory=list)
    is_heavy: bool = False


def examine(
    connection: KafkaConnection,
    ranges: Mapping[TopicPartition, OffsetRange],
    *,
    max_bytes: int,
    fetch_bytes: int,
    max_fetched_bytes: int,
) -> Examination:
    """
    Examine all record batches that a client would decompress if it read ranges of offsets.

    That takes the memory of some pieces, whatever their size: see `ingest.kafka.codecs`. A client also decompresses
    those that it fetches with the last record of a range.

    Args:
        connection: of the cluster.
        ranges: of partitions.
        max_bytes: larger batches are found, by their decompressed size.
        fetch_bytes: of one partition, which the client fetches in one answer (`max.partition.fetch.bytes`).
        max_fetched_bytes: those of one answer are heavy if they have more when they are decompressed.

    Raises:
        NotFoundError: there is no such topic.
        PositionLostError: as `record_batches`.
        SourceUnavailableError: the cluster does not answer.
    """
    batches = record_batches(connection, ranges, beyond_bytes=fetch_bytes)
    with closing(batches):
        return examine_batches(
            batches, max_bytes=max_bytes, fetch_bytes=fetch_bytes, max_fetched_bytes=max_fetched_bytes
        )


def examine_batches(
    batches: Iterable[RecordBatch], *, max_bytes: int, fetch_bytes: int, max_fetched_bytes: int
) -> Examination:
    """As `examine`, for record batches that were read; those of a partition by their offsets."""
    found = Examination()
    fetches: dict[TopicPartition, _Fetch] = {}
    for batch in batches:
        size = decompressed_size(batch, max_bytes)
        if size > max_bytes and batch.codec != Codec.NONE:
            codec = Codec(batch.codec).name.lower()
            found.large.append(
                LargeBatch(
                    topic=batch.topic,
                    partition=batch.partition,
                    first=batch.first,
                    last=batch.last,
                    records=batch.records,
                    timestamp_ms=batch.timestamp_ms,
                    codec=codec,
                    size=batch.size,
                    max_bytes=max_bytes,
                )
            )
        fetch = fetches.setdefault((batch.topic, batch.partition), _Fetch(fetch_bytes))
        fetch.add(batch.size, size)
        found.is_heavy = found.is_heavy or fetch.decompressed > max_fetched_bytes
    found.large.sort()
    return found


def decompressed_size(batch: RecordBatch, max_bytes: int) -> int:
    """The bytes of the records of a batch; more than `max_bytes`, and not all of them, if there are more."""
    if batch.codec == Codec.NONE:
        return batch.size
    size = 0
    try:
        for piece in pieces(batch.codec, batch.data):
            size += len(piece)
            if size > max_bytes:
                break
    except SourceError:
        return size  # damaged: the client reports it
    return size


class _Fetch:
    """The last batches of a partition that one answer may contain."""

    def __init__(self, fetch_bytes: int) -> None:
        self._fetch_bytes = fetch_bytes
        self._sizes: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self.decompressed = 0

    def add(self, size: int, decompressed: int) -> None:
        self._sizes.append((size, decompressed))
        self._bytes += size
        self.decompressed += decompressed
        while self._bytes - self._sizes[0][0] >= self._fetch_bytes:
            earlier, earlier_decompressed = self._sizes.popleft()
            self._bytes -= earlier
            self.decompressed -= earlier_decompressed

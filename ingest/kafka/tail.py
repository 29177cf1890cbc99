"""Reads a topic once, from its start to its current end, without a consumer group."""

import time
from collections.abc import Generator
from contextlib import closing

from kafka import TopicPartition

from ingest.api import SourceUnavailableError
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.clients import ANSWER_MS, Part, consumer
from ingest.kafka.clients import partition as partition_of
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import Stored

_POLL_MS = 200
_STALLED_S = 2 * ANSWER_MS / 1000  # a request that times out, and one retry


class TopicTail:
    """
    Reads the committed records of a topic.

    Connects for each read, so there is nothing to close; changes no committed offsets.
    """

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection

    def read(self, topic: str) -> Generator[Stored]:
        """
        All records from the earliest to the end at the time of the call, within a partition in their order.

        Raises:
            NotFoundError: there is no such topic.
            SourceUnavailableError: the cluster does not answer; also while records are read.
        """
        with KafkaAdmin(self._connection) as admin:
            ends = admin.ends([topic])
            begins = admin.earliest([topic])
        return self._records({part: (begins[part], end) for part, end in ends.items() if begins[part] < end})

    def read_at(self, topic: str, partition: int, offset: int) -> Stored | None:
        """
        One record; None if there is none, or it was deleted.

        Raises:
            NotFoundError: there is no such topic.
            SourceUnavailableError: the cluster does not answer.
        """
        with KafkaAdmin(self._connection) as admin:
            end = admin.ends([topic]).get((topic, partition), 0)
            begin = admin.earliest([topic]).get((topic, partition), 0)
        if not begin <= offset < end:
            return None
        with closing(self._records({(topic, partition): (offset, offset + 1)})) as found:
            return next((stored for stored in found if stored.offset == offset), None)

    def _records(self, ranges: dict[Part, tuple[int, int]]) -> Generator[Stored]:
        """Records of partitions between two offsets, the second exclusive."""
        if not ranges:
            return
        topic = next(iter(ranges))[0]
        ends = {partition_of(part): end for part, (_, end) in ranges.items()}
        with closing(consumer(self._connection)) as client:
            client.assign(list(ends))
            for part, (begin, _) in ranges.items():
                client.seek(partition_of(part), begin)
            progress = _Progress()
            while ends:
                with translating(f'reading topic "{topic}"'):
                    polled = client.poll(timeout_ms=_POLL_MS)
                    positions = {part: client.position(part, timeout_ms=ANSWER_MS) for part in ends}
                for part, records in polled.items():
                    for record in records:
                        if record.offset < ends.get(part, 0):
                            yield Stored(record.partition, record.offset, record.value)
                # compacted or aborted records are not returned, but move the position
                done = [part for part, position in positions.items() if position >= ends[part]]
                for part in done:
                    del ends[part]
                client.pause(*done)
                progress.check(positions, topic)


class _Progress:
    """Detects that no position moves: a dead broker causes no error, but returns no records."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, int] = {}
        self._since_s = time.monotonic()

    def check(self, positions: dict[TopicPartition, int], topic: str) -> None:
        now_s = time.monotonic()
        if positions != self._positions:
            self._positions, self._since_s = positions, now_s
        elif now_s - self._since_s > _STALLED_S:
            raise SourceUnavailableError(f'reading topic "{topic}" failed: no records for {_STALLED_S:g} s')

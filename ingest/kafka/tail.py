"""Reads topics once, up to their current end, without a consumer group."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from kafka import TopicPartition as KafkaTopicPartition

from ingest.api import Record, SourceError, SourceUnavailableError, TopicPartition
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.clients import ANSWER_MS, consumer
from ingest.kafka.clients import partition as partition_of
from ingest.kafka.errors import translating
from ingest.kafka.settings import KafkaConnection
from ingest.kafka.stored import NO_TIME, Stored

_POLL_MS = 200
SEARCHED_BYTES = 64 << 20
"""Of keys and values, after which offsets without a record are no longer searched: the records are read twice."""
_FIRST_WINDOW = 64  # offsets of a partition
_BACK, _BACK_AT_LEAST = 20, 1_000  # most offsets that are searched, for each wanted record and in all
_STALLED_S = 2 * ANSWER_MS / 1000  # a request that times out, and one retry

Found = tuple[TopicPartition, int, int]
"""A record: its partition, offset and size in bytes."""


class TopicTail:
    """
    Reads the committed records of topics.

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
            SourceError: a record batch cannot be decompressed, while records are read; see `ingest.kafka.codecs`.
        """
        with KafkaAdmin(self._connection) as admin:
            ends = admin.ends([topic])
            begins = admin.earliest([topic])
        return self._stored({part: (begins[part], end) for part, end in ends.items() if begins[part] < end})

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
        with closing(self._stored({(topic, partition): (offset, offset + 1)})) as found:
            return next((stored for stored in found if stored.offset == offset), None)

    def newest(self, topics: Sequence[str], count: int) -> Generator[Record]:
        """
        The newest records of topics, at most `count`, within a partition in their order.

        Each partition has an equal part of them; if one has fewer offsets, the others have more. Offsets without a
        record that is committed, as after a compaction, are passed over: see `newest_ranges`.

        Raises:
            NotFoundError: there is no such topic.
            SourceUnavailableError: the cluster does not answer; also while records are read.
        """
        with KafkaAdmin(self._connection) as admin:
            ends = admin.ends(topics)
            begins = admin.earliest(topics)
        return self._newest(begins, ends, count)

    def since(self, topics: Sequence[str], time_ms: int, count: int) -> Generator[Record]:
        """
        The first records of topics from a time on, at most `count`, within a partition in their order.

        They begin in each partition with the first record whose timestamp is not before the time, and are divided as in
        `newest`, by offsets; offsets without a record that is committed are passed over.

        Raises: as `newest`.
        """
        with KafkaAdmin(self._connection) as admin:
            ends = admin.ends(topics)
            begins = admin.offsets_since(topics, time_ms)
        wanted = divided(begins, {part: ends[part] for part in begins}, count)
        return self._complete({part: (begins[part], ends[part]) for part in wanted}, wanted)

    def _stored(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> Generator[Stored]:
        with closing(self._between(ranges)) as records:
            for record in records:
                yield Stored(record.partition, record.offset, record.value, record.key, tuple(record.headers))

    def _newest(
        self, begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], count: int
    ) -> Generator[Record]:
        with closing(consumer(self._connection)) as client:

            def found_in(ranges: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[Found]:
                for record in _records(client, ranges):
                    size = len(record.key or b"") + len(record.value or b"")
                    yield (record.topic, record.partition), record.offset, size

            for record in _records(client, newest_ranges(begins, ends, count, found_in)):
                yield record_of(record.topic, record.partition, record)

    def _complete(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], most: Mapping[TopicPartition, int]
    ) -> Generator[Record]:
        with closing(self._between(ranges, most)) as records:
            for record in records:
                yield record_of(record.topic, record.partition, record)

    def _between(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], most: Mapping[TopicPartition, int] | None = None
    ) -> Generator[Any]:
        if ranges:
            with closing(consumer(self._connection)) as client:
                yield from _records(client, ranges, most)


def _records(
    client: Any,
    ranges: Mapping[TopicPartition, tuple[int, int]],
    most: Mapping[TopicPartition, int] | None = None,
) -> Generator[Any]:
    """Records of partitions between two offsets, the second exclusive, and at most so many."""
    if not ranges:
        return
    what = _reading({topic for topic, _ in ranges})
    ends = {partition_of(part): end for part, (_, end) in ranges.items()}
    left = {partition_of(part): end - begin if most is None else most[part] for part, (begin, end) in ranges.items()}
    client.assign(list(ends))
    client.resume(*ends)
    for part, (begin, _) in ranges.items():
        client.seek(partition_of(part), begin)
    progress = Progress()
    while ends:
        with translating(what):
            polled = _polled(client, what)
            positions = {part: client.position(part, timeout_ms=ANSWER_MS) for part in ends}
        for part, records in polled.items():
            for record in records:
                if record.offset < ends.get(part, 0) and left[part]:
                    left[part] -= 1
                    yield record
        # compacted or aborted records are not returned, but move the position
        done = [part for part, position in positions.items() if position >= ends[part] or not left[part]]
        for part in done:
            del ends[part]
        client.pause(*done)
        progress.check(positions, what)


def record_of(topic: str, partition: int, found: Any) -> Record:
    """A record of kafka-python, which knows its partition only if a consumer returned it."""
    return Record(
        topic=topic,
        partition=partition,
        offset=found.offset,
        key=found.key,
        value=found.value,
        timestamp_ms=NO_TIME if found.timestamp is None else found.timestamp,
        headers=tuple(found.headers),
    )


def newest_ranges(
    begins: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    count: int,
    found_in: Callable[[Mapping[TopicPartition, tuple[int, int]]], Iterable[Found]],
) -> dict[TopicPartition, tuple[int, int]]:
    """
    The offsets [first, end) with the newest records of partitions, `count` in all; empty ranges are left out.

    Not every offset has a record: the ends of transactions, aborted records and compacted ones have none. So the
    offsets with one are searched from the end on, in windows that double: as far back as 20 offsets and more for a
    wanted record, or `SEARCHED_BYTES`. What is still missing then is taken as if each offset before had a record.

    Args:
        begins: offset of the first record that exists.
        ends: offset after the last one.
        count: divided equally; what a partition with fewer offsets leaves is divided among the others.
        found_in: the records in ranges of offsets, within a partition in their order.
    """
    wanted = divided(begins, ends, count)
    least = {part: max(begins[part], ends[part] - _BACK * number - _BACK_AT_LEAST) for part, number in wanted.items()}
    searched = {part: ends[part] for part in wanted}
    offsets: dict[TopicPartition, list[int]] = {part: [] for part in wanted}
    left_bytes, doubled = SEARCHED_BYTES, 1
    while left_bytes > 0 and (
        windows := {
            part: (max(least[part], searched[part] - doubled * min(number, _FIRST_WINDOW)), searched[part])
            for part, number in wanted.items()
            if len(offsets[part]) < number and searched[part] > least[part]
        }
    ):
        found: dict[TopicPartition, list[int]] = {part: [] for part in windows}
        for part, offset, size in found_in(windows):
            found[part].append(offset)
            left_bytes -= size
        for part, (first, _) in windows.items():
            offsets[part] = found[part] + offsets[part]
            searched[part] = first
        doubled *= 2
    return {
        part: (_first(offsets[part], number, searched[part], begins[part]), ends[part])
        for part, number in wanted.items()
    }


def _first(offsets: list[int], wanted: int, searched: int, begin: int) -> int:
    """The offset from which on there are so many records: these ones, and before them one at each offset."""
    missing = wanted - len(offsets)
    return offsets[-wanted] if missing <= 0 else max(begin, searched - missing)


def divided(
    begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], count: int
) -> dict[TopicPartition, int]:
    """How many of `count` records are of which partition, if each offset has one; none is left out."""
    # a record of an open transaction has a time, and is after the end
    sizes = {part: max(0, end - begins[part]) for part, end in ends.items()}
    fewest_first = sorted(sizes, key=sizes.__getitem__)
    found = {}
    for number, part in enumerate(fewest_first):
        taken = min(sizes[part], -(-count // (len(fewest_first) - number)))
        count -= taken
        if taken:
            found[part] = taken
    return found


def _polled(client: Any, what: str) -> dict[KafkaTopicPartition, list[Any]]:
    """The next records; an error of a record batch names its place."""
    try:
        return dict(client.poll(timeout_ms=_POLL_MS))
    except SourceError as error:
        batch = client._fetcher._next_partition_records  # noqa: SLF001 - the only one who knows what is decompressed
        place = f"partition {batch.topic_partition.partition} at offset {batch.next_fetch_offset}"
        raise SourceError(f"{what} failed: {place}: {error.message}", code=error.code, hint=error.hint) from error


def _reading(topics: Collection[str]) -> str:
    """The operation, for messages."""
    names = ", ".join(f'"{topic}"' for topic in sorted(topics))
    return f"reading topic{'s' if len(topics) > 1 else ''} {names}"


class Progress:
    """Detects that no position moves: a dead broker causes no error, but returns no records."""

    def __init__(self) -> None:
        self._positions: dict[KafkaTopicPartition, int] = {}
        self._since_s = time.monotonic()

    def check(self, positions: dict[KafkaTopicPartition, int], what: str) -> None:
        """Raise SourceUnavailableError if the positions have been the same for too long."""
        now_s = time.monotonic()
        if positions != self._positions:
            self._positions, self._since_s = positions, now_s
        elif now_s - self._since_s > _STALLED_S:
            raise SourceUnavailableError(f"{what} failed: no records for {_STALLED_S:g} s")

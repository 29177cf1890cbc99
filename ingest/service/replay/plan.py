"""Which records a replay runs again, in which micro-batches, and at which times."""

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from ingest.amounts import counted
from ingest.api import ConfigError, TopicPartition
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.durable.record import Plain
from ingest.formats.times import moment
from ingest.service.kafka.topics import may_be_same
from ingest.spark.streaming.batch_log import LoggedBatch, OffsetRanges, offsets_in
from ingest.spark.streaming.batch_time import MIN_GAP_MS

_FIRST_MS = 1  # the earliest batch time: a delete is written one millisecond before it
_PART_NUMBERS = 1_000_000_000
_UNLOGGED_NUMBERS = 5_500_000_000
"""
First numbers of micro-batches that are not whole logged ones; a CRC-32 is added. Spark's numbers are far below, and a
number has ten digits in the name of a file of dead letters.
"""


class BatchKind(StrEnum):
    """The relation of a replay batch to the batch log."""

    WHOLE = "whole"
    """A logged batch with all its records: it runs at its own time, so it writes the same cells again."""
    REST = "rest"
    """
    What the topics still have of a logged batch that was rolled back from tables with deferred updates: it runs in its
    place.
    """
    PART = "part"
    """Some records of a logged batch: they run one millisecond before its time, so they hide nothing of the batch."""
    UNLOGGED = "unlogged"
    """Records that are in no logged batch; their time is the user's decision."""


def _plain(ranges: OffsetRanges) -> list[tuple[str, int, int, int]]:
    return [(*part, *bounds) for part, bounds in ranges.items()]


def _ranges(content: Iterable[tuple[str, int, int, int]]) -> OffsetRanges:
    return {(topic, partition): (begin, end) for topic, partition, begin, end in content}


StoredRanges = Annotated[OffsetRanges, PlainValidator(_ranges), PlainSerializer(_plain)]


@dataclass(frozen=True, slots=True)
class ReplayBatch(Plain):
    """
    Records that a replay runs as one micro-batch.

    Attributes:
        number: of the logged batch; for other kinds a number that depends on the offsets.
        time_ms: the batch time.
        ranges: the offsets of its records.
    """

    kind: BatchKind
    number: int
    time_ms: int
    ranges: StoredRanges

    @property
    def offsets(self) -> int:
        """Number of offsets; that of the records may be smaller, as after a transaction or a compaction."""
        return offsets_in(self.ranges)

    @property
    def name(self) -> str:
        """A name of the micro-batch that other records do not have; the same whenever these records are replayed."""
        return str(self.time_ms) if self.kind is BatchKind.WHOLE else f"{self.time_ms}-{_crc(self.ranges):08x}"


@dataclass(frozen=True, slots=True)
class TopicState:
    """
    The topics as they are now.

    Attributes:
        ids: topic -> id; a topic is missing if its id is unknown.
        compacted: topics that may lack superseded records, so that none of their batches can be known to be whole.
    """

    ids: Mapping[str, str]
    compacted: Collection[str] = frozenset()

    def is_same(self, topic: str, topic_id: str | None) -> bool:
        """Whether a topic has this id, as far as both are known; one that was recreated has another id and records."""
        return may_be_same(topic_id, self.ids.get(topic))


def replay_batches(batches: Iterable[LoggedBatch], selected: OffsetRanges, topics: TopicState) -> Iterator[ReplayBatch]:
    """
    The selected records of logged batches, by batch time.

    Args:
        batches: by their time.
        selected: the offsets to replay, of records that the topics still have.
        topics: a batch of a topic that was recreated since has other records than the topic has now.
    """
    for batch in batches:
        ranges = {}
        for partition, (begin, end) in batch.ranges.items():
            topic, _ = partition
            if partition not in selected or not topics.is_same(topic, batch.topic_ids.get(topic)):
                continue
            bounds = max(begin, selected[partition][0]), min(end, selected[partition][1])
            if bounds[0] < bounds[1]:
                ranges[partition] = bounds
        if not ranges:
            continue
        if ranges == batch.ranges and not any(topic in topics.compacted for topic, _ in ranges):
            yield ReplayBatch(BatchKind.WHOLE, batch.number, batch.time_ms, ranges)
        else:
            number = _PART_NUMBERS + _crc(ranges)
            yield ReplayBatch(BatchKind.PART, number, batch.time_ms - BEFORE_BATCH_MS, ranges)


def unlogged_batches(
    logged: Iterable[ReplayBatch], selected: OffsetRanges, time_ms: int, max_offsets: int
) -> list[ReplayBatch]:
    """
    The selected records that are in no logged batch, in the order of their offsets.

    Their times rise, so that a delete hides what an earlier batch has put, and the last of them is the given one.

    Args:
        logged: what `replay_batches` returned for the same selection.
        selected: the offsets to replay.
        time_ms: the batch time of the last batch.
        max_offsets: maximum size of a batch.

    Raises:
        ConfigError: the time of the first batch would be before 1970.
    """
    found = list(_unlogged_ranges(logged, selected, max_offsets))
    first_ms = time_ms - MIN_GAP_MS * (len(found) - 1)
    if found and first_ms < _FIRST_MS:
        raise ConfigError(
            f"the time of {counted(len(found), 'micro-batch', 'micro-batches')}, {MIN_GAP_MS} ms apart up to --at, "
            "would begin before 1970",
            hint=f"choose {moment(time_ms + _FIRST_MS - first_ms)} or later",
        )
    return [_unlogged(ranges, first_ms + MIN_GAP_MS * number) for number, ranges in enumerate(found)]


def _unlogged_ranges(logged: Iterable[ReplayBatch], selected: OffsetRanges, max_offsets: int) -> Iterator[OffsetRanges]:
    covered: dict[TopicPartition, list[tuple[int, int]]] = {}
    for batch in logged:
        for partition, bounds in batch.ranges.items():
            covered.setdefault(partition, []).append(bounds)
    ranges: dict[TopicPartition, tuple[int, int]] = {}
    left = max_offsets
    for partition, bounds in sorted(selected.items()):
        for gap_begin, gap_end in _gaps(bounds, sorted(covered.get(partition, ()))):
            begin = gap_begin
            while begin < gap_end:
                end = min(gap_end, begin + left)
                if partition in ranges:  # the gap before this one: a batch has one range of a partition
                    yield ranges
                    ranges, left = {}, max_offsets
                    continue
                ranges[partition] = begin, end
                left -= end - begin
                begin = end
                if not left:
                    yield ranges
                    ranges, left = {}, max_offsets
    if ranges:
        yield ranges


def omits_later_batch(planned: Collection[ReplayBatch], batches: Iterable[LoggedBatch]) -> bool:
    """
    Whether there is a logged batch that is later than a planned one, or the one that a planned one is a part of, and
    does not run whole. With event times the replay may then hide a newer value: a store shows the last write of those
    with equal timestamps.

    Args:
        planned: of the replay; those of unlogged records count as older than all batches.
        batches: the batch log.
    """
    if not planned:
        return False
    whole = {batch.time_ms for batch in planned if batch.kind is BatchKind.WHOLE}
    oldest_ms = min(-1 if batch.kind is BatchKind.UNLOGGED else batch.time_ms for batch in planned)
    return any(batch.time_ms > oldest_ms and batch.time_ms not in whole for batch in batches)


def check_allowed(batches: Sequence[ReplayBatch], *, is_allowed: bool) -> None:
    """
    Check that the time of each record is known.

    Raises:
        ConfigError: some records are in no logged batch, and the user has not chosen their time.
    """
    unlogged = [batch for batch in batches if batch.kind is BatchKind.UNLOGGED]
    if unlogged and not is_allowed:
        (topic, partition), (begin, end) = next(iter(unlogged[0].ranges.items()))
        raise ConfigError(
            f"{sum(batch.offsets for batch in unlogged):,} offsets are in no logged batch, such as {topic}/{partition} "
            f"{begin} to {end - 1}: the time at which their cells were written is unknown",
            hint="change the range, as --dry-run shows it; or use `timestamp: event` in all sinks, --at TIME for a "
            "given time, or --overwrite for the present time, which hides newer values",
        )


def _gaps(bounds: tuple[int, int], covered: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of a range that sorted ranges do not cover."""
    begin, end = bounds
    for covered_begin, covered_end in covered:
        if begin < covered_begin:
            yield begin, min(covered_begin, end)
        begin = max(begin, covered_end)
    if begin < end:
        yield begin, end


def _unlogged(ranges: OffsetRanges, time_ms: int) -> ReplayBatch:
    return ReplayBatch(BatchKind.UNLOGGED, _UNLOGGED_NUMBERS + _crc(ranges), time_ms, ranges)


def _crc(ranges: OffsetRanges) -> int:
    return zlib.crc32(repr(sorted(ranges.items())).encode())

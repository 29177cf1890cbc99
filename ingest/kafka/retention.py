"""How much of a topic's retention its unread records have used: at the end of it Kafka deletes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.api import TopicPartition
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.stored import TopicSettings

HALF, NEARLY = 0.5, 0.9
"""Used fractions of the retention that are reported: an operator has half of it left, or must act at once."""

_STEPS = 100  # of the measured fraction


@dataclass(frozen=True, slots=True)
class Backlog:
    """
    The unread records of a partition.

    Attributes:
        position: offset of the first one.
        earliest: offset of the first record that the topic still has; above `position` if unread records are deleted.
        end: offset after the last record (high watermark), open transactions included.
        used: fraction of the retention that the first unread record has used, rounded down to a hundredth: 0 if there
            is none or records are never deleted, 1 if Kafka may delete it now or has done so.
        is_by_size: whether that is the retention by `retention.bytes`, not by `retention.ms`.
        remaining_s: seconds until Kafka may delete the first unread record; None if that depends on the size, or if
            records are never deleted.
    """

    position: int
    earliest: int
    end: int
    used: float
    is_by_size: bool = False
    remaining_s: float | None = None


def backlogs(
    admin: KafkaAdmin, topic: str, limits: TopicSettings, positions: Mapping[TopicPartition, int], now_ms: float
) -> dict[TopicPartition, Backlog]:
    """
    The backlog of each partition of a topic that has a position.

    The age of a record is found with the index by time of the broker, so no record is read. A healthy pipeline needs
    one such request.

    Args:
        admin: of the cluster.
        topic: its name.
        limits: its settings.
        positions: offset of the first unread record, by topic and partition.
        now_ms: now, ms since the epoch.

    Raises:
        NotFoundError: there is no such topic.
        SourceUnavailableError: the cluster does not answer.
    """
    # not the last stable offset: Kafka also deletes records behind an open transaction
    earliest, ends = admin.earliest([topic]), admin.high_watermarks([topic])
    known = {part: positions[part] for part in ends if part in positions}
    unread = {part: position for part, position in known.items() if earliest[part] <= position < ends[part]}
    used = {part: 1.0 for part, position in known.items() if position < earliest[part]}
    deletes = limits.deletes
    by_size = set()
    if deletes and limits.retention_ms > 0:
        used |= _used_of_time(admin, unread, limits.retention_ms, now_ms)
    if deletes and limits.retention_bytes > 0:
        for part in _cut_by_size(admin, {part: earliest[part] for part in unread}, limits, now_ms):
            fraction = (ends[part] - unread[part]) / (ends[part] - earliest[part])
            if fraction > used.get(part, 0.0):
                used[part] = fraction
                by_size.add(part)
    found = {}
    for part, position in known.items():
        ratio, is_by_size = used.get(part, 0.0), part in by_size
        has_time = deletes and limits.retention_ms > 0 and not is_by_size
        remaining_s = (1 - ratio) * limits.retention_ms / 1000 if has_time else None
        found[part] = Backlog(position, earliest[part], ends[part], ratio, is_by_size, remaining_s)
    return found


def _used_of_time(
    admin: KafkaAdmin, unread: Mapping[TopicPartition, int], retention_ms: int, now_ms: float
) -> dict[TopicPartition, float]:
    """The used fraction of `retention.ms`, by a search that starts at young records: those are in memory."""
    low, high = dict.fromkeys(unread, 0), dict.fromkeys(unread, _STEPS + 1)
    while open_parts := [part for part in unread if high[part] - low[part] > 1]:
        steps = {part: min(max(1, 2 * low[part]), (low[part] + high[part]) // 2) for part in open_parts}
        times = {part: int(now_ms - retention_ms * step / _STEPS) for part, step in steps.items()}
        younger = admin.first_since(times)
        for part, step in steps.items():
            # a partition without a younger record has only older ones
            is_older = part not in younger or unread[part] < younger[part]
            (low if is_older else high)[part] = step
    return {part: step / _STEPS for part, step in low.items()}


def _cut_by_size(
    admin: KafkaAdmin, earliest: Mapping[TopicPartition, int], limits: TopicSettings, now_ms: float
) -> list[TopicPartition]:
    """
    The partitions whose oldest records are deleted for `retention.bytes`.

    Those have deleted records, and the first that remains is younger than `retention.ms`. The size of a partition is
    not read, because only an administrator of the cluster may read it.
    """
    cut = {part: offset for part, offset in earliest.items() if offset > 0}
    if limits.retention_ms <= 0 or not cut:
        return list(cut)
    younger = admin.first_since(dict.fromkeys(cut, int(now_ms - limits.retention_ms)))
    return [part for part, offset in cut.items() if part in younger and younger[part] <= offset]

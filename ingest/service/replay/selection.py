"""Which offsets a time range selects, and which of their records the pipeline has stored."""

from collections.abc import Mapping, Sequence

from ingest.api import TopicPartition
from ingest.kafka.admin import KafkaAdmin
from ingest.kafka.errors import AccessDeniedError
from ingest.observe.logs import logger
from ingest.service.kafka.topics import recreated
from ingest.service.replay.options import ReplayOptions
from ingest.service.replay.plan import TopicState
from ingest.spark.streaming.batch_log import LoggedBatch, OffsetRanges

_log = logger(__name__)


def offsets_between(
    admin: KafkaAdmin, topics: Sequence[str], options: ReplayOptions
) -> dict[TopicPartition, tuple[int, int]]:
    """The offsets of the time range, of records that the topics still have."""
    ends = admin.ends(topics)
    begins, stops = admin.offsets_since(topics, options.from_), admin.offsets_since(topics, options.to)
    ranges = {
        partition: (begins.get(partition, end), min(stops.get(partition, end), end)) for partition, end in ends.items()
    }
    return {partition: (begin, end) for partition, (begin, end) in ranges.items() if begin < end}


def offsets_there(admin: KafkaAdmin, topics: Sequence[str]) -> dict[TopicPartition, tuple[int, int]]:
    """The offsets of all records that the topics still have, as `offsets_between` would select them."""
    begins, ends = admin.offsets_since(topics, 0), admin.ends(topics)
    return {part: (begins[part], end) for part, end in ends.items() if begins.get(part, end) < end}


def are_there(admin: KafkaAdmin, ranges: OffsetRanges, topic_ids: Mapping[str, str]) -> bool:
    """
    Whether the topics still have the records at these offsets.

    Args:
        admin: of the cluster.
        ranges: the offsets.
        topic_ids: topic -> its id when it had them, as far as the cluster reported it.
    """
    topics = sorted({topic for topic, _ in ranges})
    known = {topic: topic_ids[topic] for topic in topics if topic in topic_ids}
    if admin.existing(topics) != set(topics) or recreated(known, admin.topic_ids(topics)):
        return False
    begins, ends = admin.earliest(topics), admin.ends(topics)
    return all(begins.get(part, end) <= begin and end <= ends.get(part, 0) for part, (begin, end) in ranges.items())


def durable_ends(
    batches: Sequence[LoggedBatch],
    acknowledged: Mapping[TopicPartition, int],
    known_ids: Mapping[str, str],
    now: TopicState,
) -> dict[TopicPartition, int]:
    """
    The offsets before which all records are durable; a logged batch is, also if it is not acknowledged yet. For a topic
    that was recreated, the offsets of the old topic count as 0.

    Args:
        batches: the batch log.
        acknowledged: the offsets of the checkpoint.
        known_ids: topic -> its id in the checkpoint.
        now: the topics.
    """
    ends = {
        (topic, partition): end if now.is_same(topic, known_ids.get(topic)) else 0
        for (topic, partition), end in acknowledged.items()
    }
    for batch in batches:
        for (topic, partition), (_, end) in batch.ranges.items():
            durable_end = end if now.is_same(topic, batch.topic_ids.get(topic)) else 0
            ends[topic, partition] = max(durable_end, ends.get((topic, partition), 0))
    return ends


def cut_at(selected: OffsetRanges, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, tuple[int, int]]:
    """The ranges up to the ends of their partitions; unchanged if there are no ends, as without a checkpoint."""
    if not ends:
        return dict(selected)
    cut = {partition: (begin, min(end, ends.get(partition, 0))) for partition, (begin, end) in selected.items()}
    return {partition: (begin, end) for partition, (begin, end) in cut.items() if begin < end}


def compacted_topics(admin: KafkaAdmin, topics: Sequence[str]) -> frozenset[str]:
    """Topics that may lack superseded records; also those whose settings may not be read."""
    found = set()
    for topic in topics:
        try:
            if admin.settings(topic).is_compacted:
                found.add(topic)
        except AccessDeniedError:
            _log.warning(
                "no permission to read the settings of a topic; its batches run one millisecond before their times",
                topic=topic,
            )
            found.add(topic)
    return frozenset(found)

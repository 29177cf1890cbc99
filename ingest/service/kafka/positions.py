"""The positions of Kafka pipelines in Spark's checkpoints: start, end and acknowledged offsets of micro-batches."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.api import RecordPlace, TopicPartition
from ingest.durable import StatePath, file_errors, make_folder, write_durably
from ingest.durable.record import Record
from ingest.spark.streaming.batch_log import OffsetRanges
from ingest.spark.streaming.checkpoint import Checkpoint

RESET = "reset.json"
"""
File of the checkpoint of a reset: `built_in`, the folder in which it was built, and whether events may be counted again
(`recount`).
"""


def by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[int, int]]:
    """Topic -> partition -> offset."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[partition] = offset
    return found


def kafka_offsets(content: dict[str, object]) -> dict[TopicPartition, int]:
    """Offsets as Spark's Kafka source stores them, `{topic: {partition: offset}}`, by topic and partition."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in content.items()
        if isinstance(partitions, dict)
        for partition, offset in partitions.items()
    }


def first_offsets(checkpoint: Checkpoint) -> dict[str, object]:
    """
    The start of the first batch, as Spark's Kafka source stores it; empty before that.

    Raises:
        CheckpointError: the file is damaged.
        StoreUnavailableError: the file cannot be read now.
    """
    path = _first_offsets_file(checkpoint.folder)
    with file_errors(path):
        if not path.exists():
            return {}
        try:
            content = json.loads(path.read_bytes().partition(b"\n")[2])
        except ValueError as error:
            raise checkpoint.damaged(path, f"cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise checkpoint.damaged(path, "contains no offsets")
    return content


def write_first_offsets(folder: StatePath, offsets: Mapping[TopicPartition, int]) -> None:
    """
    Write the start of the first batch into the folder of a new checkpoint; durable when this returns.

    Source: KafkaSourceInitialOffsetWriter of Spark: a zero byte, the version, the offsets.
    """
    content = {
        topic: {str(partition): offset for partition, offset in sorted(partitions.items())}
        for topic, partitions in by_topic(offsets).items()
    }
    file = _first_offsets_file(folder)
    make_folder(file.parent)
    write_durably(file, b"\0v1\n" + json.dumps(content).encode())


def _first_offsets_file(folder: StatePath) -> StatePath:
    return folder / "sources" / "0" / "0"


def offset_ranges(checkpoint: Checkpoint, batch_id: int) -> dict[TopicPartition, tuple[int, int]]:
    """
    The offsets that Spark has planned for a batch, of the partitions that have any; see `OffsetRanges`.

    Raises:
        CheckpointError: the offsets of the batch or of the one before are damaged or missing.
        StoreUnavailableError: a file cannot be read now.
    """
    ends = kafka_offsets(checkpoint.end_offsets(batch_id))
    begins = kafka_offsets(checkpoint.end_offsets(batch_id - 1) if batch_id else first_offsets(checkpoint))
    # Spark reads a partition that is new in this batch from offset 0
    return {part: (begins.get(part, 0), end) for part, end in ends.items() if end > begins.get(part, 0)}


def splits_of(ranges: OffsetRanges) -> list[RecordPlace]:
    """The splits of a micro-batch of Kafka records, as `Source.splits`."""
    return [(topic, partition, begin) for (topic, partition), (begin, _) in ranges.items()]


def acknowledged_offsets(checkpoint: Checkpoint) -> dict[TopicPartition, int]:
    """
    The offsets where a checkpoint resumes, by topic and partition; empty without a checkpoint.

    Raises:
        CheckpointError: the checkpoint is damaged.
    """
    newest = checkpoint.newest_commit()
    return kafka_offsets(first_offsets(checkpoint) if newest is None else checkpoint.end_offsets(newest))


@dataclass(frozen=True, slots=True)
class ResetNote(Record, kind="note of a reset", unnumbered=True):
    """
    The file `RESET` in a checkpoint that a reset has built.

    Attributes:
        built_in: name of the folder in which it was built; the checkpoint is in use once it has another one.
        recount: whether events may be counted again.
    """

    built_in: str
    recount: bool

    @classmethod
    def upgraded(cls, content: dict[str, Any], number: int) -> dict[str, Any]:  # noqa: ARG003 - there is one
        """The note of 0.2.0, which counted nothing."""
        return {"recount": True, **content}


def is_exact(folder: StatePath) -> bool:
    """
    Whether a checkpoint is of a reset that lets no event be counted again.

    Raises:
        StoreUnavailableError: its file cannot be read now.
    """
    path = folder / RESET
    with file_errors(path):
        try:
            return not ResetNote.of(path.read_bytes(), path).recount
        except FileNotFoundError:
            return False

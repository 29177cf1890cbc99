"""The ids of the topics that a checkpoint's offsets belong to: a recreated topic has the same name and new records."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence

from ingest.api import CheckpointError, PositionLostError, SourceSettings, TopicPartition
from ingest.durable import StatePath, file_errors, sync_folder, write_durably
from ingest.kafka.admin import KafkaAdmin
from ingest.sources.kafka import KafkaSourceSettings, topics_of

# the group has no offsets of the lost topics, and a partition without an offset is read from its beginning
_GROUP = "'attr2hbase run --start-from group', which resumes the other topics at their offsets"


class TopicLostError(PositionLostError):
    """
    Topics that the checkpoint's offsets belong to do not exist any more, and their unread records are lost.

    Args:
        topics: those topics.
        what: what happened to them.
        remedy: the hint's first words.
        checkpoint: folder of the checkpoint.
        others: whether it has offsets of topics that still exist.

    Attributes:
        topics: those topics.
    """

    def __init__(self, topics: Sequence[str], what: str, remedy: str, checkpoint: StatePath, *, others: bool) -> None:
        super().__init__(
            f"{_were(topics)} {what}",
            hint=f'{remedy} move "{checkpoint}" away and run '
            + (_GROUP if others else "'attr2hbase run --start-from earliest'"),
        )
        self.topics = tuple(topics)


class TopicDeletedError(TopicLostError):
    """A topic was deleted, so the records after the checkpoint's offsets are lost."""

    code = "topic_deleted"
    remedy = "Create the topic, move the checkpoint away, then run `attr2hbase run --start-from earliest`."

    def __init__(self, deleted: Sequence[str], checkpoint: StatePath, *, others: bool) -> None:
        what = "deleted: the checkpoint has offsets of a topic that does not exist"
        remedy = "to read without the lost records create the topic,"
        super().__init__(deleted, what, remedy, checkpoint, others=others)


class TopicRecreatedError(TopicLostError):
    """A topic was deleted and recreated, so the offsets in the checkpoint refer to other records."""

    code = "topic_recreated"
    remedy = "Move the checkpoint away, then run `attr2hbase run --start-from earliest`."

    def __init__(self, recreated: Sequence[str], checkpoint: StatePath, *, others: bool) -> None:
        what = "deleted and recreated: the offsets in the checkpoint belong to other records"
        remedy = "to read the new records from their beginning"
        super().__init__(recreated, what, remedy, checkpoint, others=others)


class LogTruncatedError(TopicLostError):
    """
    Kafka lost records that were read: a partition became shorter.

    An unclean election of a leader does that, and so does a restored disk.

    Args:
        ends: offset after the last record of each truncated partition, by topic and partition.
        reached: the acknowledged offsets.
        checkpoint: folder of the checkpoint.
    """

    code = "log_truncated"
    remedy = "Find out why Kafka lost records; then follow the message."

    def __init__(
        self, ends: Mapping[TopicPartition, int], reached: Mapping[TopicPartition, int], checkpoint: StatePath
    ) -> None:
        topics = sorted({topic for topic, _ in ends})
        parts = ", ".join(
            f"{topic}/{partition} ends at offset {end}, but was read up to {reached[topic, partition]}"
            for (topic, partition), end in sorted(ends.items())
        )
        others = set(topics) < {topic for topic, _ in reached}
        super().__init__(topics, f"truncated: {parts}", "to read what remains,", checkpoint, others=others)


def may_be_same(known: str | None, current: str | None) -> bool:
    """Whether two ids are of the same topic, as far as both are known."""
    return not known or not current or known == current


def recreated(known: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """
    The topics that were deleted and recreated, as far as both of their ids are known; sorted.

    Args:
        known: topic -> its id before.
        current: topic -> its id now.
    """
    return sorted(topic for topic, id_ in known.items() if not may_be_same(id_, current.get(topic)))


def current_ids(settings: SourceSettings) -> dict[str, str]:
    """
    The ids of the topics of a source that exist now, as far as the cluster reports them; without Kafka there are none.

    Raises:
        SourceUnavailableError: the cluster does not answer now.
    """
    if not isinstance(settings, KafkaSourceSettings):
        return {}
    with KafkaAdmin(settings) as admin:
        return admin.topic_ids(topics_of(settings, admin))


def check_committed(committed: Mapping[str, str], current: Mapping[str, str]) -> None:
    """
    Compare the ids of the topics whose records deferred updates contain with the current ones, under a new checkpoint.

    Args:
        committed: ids in the newest committed position of the tables, by topic.
        current: ids of the topics, as far as they are known.

    Raises:
        PositionLostError: a topic was deleted and recreated, so the offsets of the committed position point to other
            records.
    """
    found = recreated(committed, current)
    if found:
        raise PositionLostError(
            f"{_were(found)} deleted and recreated: the offsets of the deferred updates belong to other records",
            code=TopicRecreatedError.code,
            hint="write to new tables; or, to add the events of the new topic to the tables, run with --recount and "
            "--start-from earliest",
        )


def check_ends(
    ends: Mapping[TopicPartition, int],
    reached: Mapping[TopicPartition, int],
    checkpoint: StatePath,
    check_ids: Callable[[], None],
) -> None:
    """
    Compare the ends of partitions with the acknowledged offsets.

    A log that has grown beyond the acknowledged offset again is not detected.

    Args:
        ends: offset after the last record, by topic and partition.
        reached: the acknowledged offsets.
        checkpoint: folder of the checkpoint.
        check_ids: called if a partition ends too early: compares the ids of the topics once more, as `TopicIds.check`,
            because a topic may have been recreated after its id was compared and before its end was read.

    Raises:
        LogTruncatedError: a partition ends before its acknowledged offset.
        TopicRecreatedError: its topic was deleted and recreated.
    """
    truncated = {part: end for part, end in ends.items() if end < reached.get(part, 0)}
    if truncated:
        check_ids()
        raise LogTruncatedError(truncated, reached, checkpoint)


def _were(topics: Sequence[str]) -> str:
    names = ", ".join(f'"{topic}"' for topic in topics)
    return f"topic {names} was" if len(topics) == 1 else f"topics {names} were"


class TopicIds:
    """
    The ids of topics, stored in `topics.json` of a checkpoint folder.

    Thread-safe. The id of a topic is stored when the topic is first seen, also in an existing checkpoint.
    """

    def __init__(self, checkpoint: StatePath) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint / "topics.json"
        self._lock = threading.Lock()
        self._is_synced = False

    def check(self, ids: Mapping[str, str]) -> None:
        """
        Compare the stored ids with the current ones, and store the ids of new topics.

        Raises:
            TopicRecreatedError: a topic was deleted and recreated.
            StoreUnavailableError: the file cannot be written, or the disk is full.
            CheckpointError: the file is damaged.
        """
        with self._lock, file_errors(self._path):
            known = self._load()
            found = recreated(known, ids)
            if found:
                raise TopicRecreatedError(found, self._checkpoint, others=set(found) < set(known))
            if ids.keys() - known.keys():
                write_durably(self._path, json.dumps({**known, **ids}, sort_keys=True).encode())
                self._is_synced = True
            elif known and not self._is_synced:
                sync_folder(self._checkpoint)  # a process that was killed before its own sync may have written it
                self._is_synced = True

    def known(self) -> dict[str, str]:
        """
        The stored ids by topic.

        Raises:
            StoreUnavailableError: the file cannot be read now.
            CheckpointError: the file is damaged.
        """
        with self._lock, file_errors(self._path):
            return self._load()

    def _load(self) -> dict[str, str]:
        try:
            known = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise CheckpointError(
                f'the checkpoint is damaged: "{self._path}" is not a JSON object',
                hint="restore the file from a copy; without it nothing shows whether a topic was recreated",
            )
        return known

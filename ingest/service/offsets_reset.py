"""
Reset of a pipeline's offsets: a new checkpoint takes the place of the old one in one act.

The new checkpoint has the topics of the file, the new offsets as its start, and batch times after the old ones. It is
built in the folder `state_dir/replaced-checkpoints/PIPELINE/TIME`. Then the two folders are exchanged, so that the
old checkpoint is kept there. A crash leaves the old checkpoint or the new one in place, never neither.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest import failpoint
from ingest.api import ConfigError, NotFoundError, TopicPartition
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline
from ingest.durable import RemotePath, file_errors, make_folder, sync_folder, write_durably
from ingest.durable.exchange import NoExchangeError, exchange
from ingest.kafka.admin import KafkaAdmin
from ingest.observe.logs import logger
from ingest.service.kafka.group import OF_GROUP, check_offsets, offsets_of_group, set_group_offsets
from ingest.service.kafka.positions import RESET, ResetNote, acknowledged_offsets, write_first_offsets
from ingest.service.kafka.topics import TopicIds, recreated
from ingest.service.offsets import kafka_source_of
from ingest.service.replay_lock import refuse_unfinished_replay
from ingest.service.state_folders import update_replay_file
from ingest.sources.kafka import Start, identity_of_offsets, required_topics_of
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import BatchTimes, newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.sink import ArchiveSettings

Offsets = Mapping[TopicPartition, int]
_COPIED = ("configuration",)
_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Reset:
    """
    A reset of offsets.

    Attributes:
        before: acknowledged offsets by topic and partition.
        after: the offsets at which the pipeline starts.
        topic_ids: topic -> its id.
        identity: what the offsets belong to, as the checkpoint stores it.
        checkpoint: its folder.
        uncommitted: number of the batch that had started and was not acknowledged; a part of it may be stored.
        recount: whether events may be counted again.
        kept: folder of the old checkpoint; None if nothing was changed.
        is_group_set: whether the consumer group has the new offsets; the next start sets them otherwise.
    """

    before: Offsets
    after: Offsets
    topic_ids: Mapping[str, str]
    identity: Mapping[str, str]
    checkpoint: Path
    uncommitted: int | None = None
    recount: bool = False
    kept: Path | None = None
    is_group_set: bool = False

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "partitions": [
                {"topic": topic, "partition": partition, "from": self.before.get((topic, partition)), "to": offset}
                for (topic, partition), offset in sorted(self.after.items())
            ],
            "uncommitted": self.uncommitted,
            "checkpoint": str(self.checkpoint),
            "kept": None if self.kept is None else str(self.kept),
            "is_group_set": self.is_group_set,
        }


def planned_reset(
    configuration: Configuration,
    pipeline: Pipeline,
    to: str,
    locked: Checkpoint | None = None,
    *,
    recount: bool = False,
) -> Reset:
    """
    What a reset of a pipeline's offsets would change; changes nothing.

    Args:
        configuration: of the pipeline.
        pipeline: reads Kafka.
        to: earliest, latest, remaining, a time, `group:NAME` for the committed offsets of another consumer group, or
            the path of a JSON file, `{topic: {partition: offset}}`; partitions that the group has not, or the file does
            not name, keep their offsets. With remaining all keep them, except for those whose records at their offset
            are deleted.
        locked: checkpoint of the pipeline, which does not run; None if it may run, and complete its micro-batch.
        recount: also move back a pipeline that writes deferred updates or an archive, which have events twice then.

    Raises:
        ConfigError: the source is not Kafka, `to` is none of these, or the file names offsets that do not exist; events
            would be counted or archived again.
        NotFoundError: the pipeline has no checkpoint, there is no topic, or the group has no offsets.
        ConflictError: a replay is not finished, the checkpoint belongs to another cluster or kind of source, or the
            state is in HDFS or on another file system that cannot exchange folders.
        CheckpointError: the checkpoint is damaged, or a newer version wrote it.
        GroupInUseError: the other group has members.
        SourceUnavailableError: the cluster does not answer.
    """
    settings = kafka_source_of(pipeline)
    folder = checkpoint_folder(configuration, pipeline.name)
    if isinstance(folder, RemotePath):
        raise NoExchangeError(
            f'"{folder}" is in HDFS, which cannot exchange two folders in one act',
            hint=f"stop the service, move the checkpoint away with 'hdfs dfs -mv {folder} NEW_NAME', and choose where "
            "it starts: 'attr2hbase run --start-from group|earliest|latest|TIME'",
        )
    checkpoint = locked or Checkpoint(folder)
    if not checkpoint.exists:
        raise NotFoundError(
            f'pipeline "{pipeline.name}" has no checkpoint in "{folder.absolute()}"',
            hint="choose where it starts: 'attr2hbase run --start-from group|earliest|latest|TIME'",
        )
    with file_errors(folder):
        checkpoint.verify_format()
    refuse_unfinished_replay(
        update_replay_file(configuration, pipeline.name),
        pipeline.name,
        "neither could continue after a reset of the offsets",
        "run the command of the replay again, then reset the offsets",
    )
    before = acknowledged_offsets(checkpoint)
    known_ids = TopicIds(folder).known()
    with KafkaAdmin(settings) as admin:
        topics = required_topics_of(settings, admin)
        identity = {"source": pipeline.source.kind} | identity_of_offsets(settings, admin.cluster_id(), topics)
        # offsets of another cluster are of other records; of topics that the file does not name any more none is kept
        checkpoint.check_identity(identity, may_differ=["topics"])
        topic_ids = admin.topic_ids(topics)
        # a recreated topic's are of other records
        lost = recreated(known_ids, topic_ids)
        valid = {part: offset for part, offset in before.items() if part[0] not in lost}
        group = offsets_of_group(settings, to.removeprefix(OF_GROUP), topics) if to.startswith(OF_GROUP) else None
        after = _targets(admin, topics, to, valid, pipeline.timezone, group)
    runs = locked is None and checkpoint.is_locked()
    uncommitted = None if runs else checkpoint.uncommitted()
    if not recount:
        _refuse_recount(configuration, pipeline, before, after, uncommitted)
    return Reset(before, after, topic_ids, identity, folder, uncommitted, recount)


def reset(configuration: Configuration, pipeline: Pipeline, checkpoint: Checkpoint, planned: Reset) -> Reset:
    """
    Let a pipeline start at the planned offsets; it does not run, and its checkpoint is locked.

    Raises:
        StoreUnavailableError: a folder cannot be written now; nothing was changed.
        IntegrityError: the disk fails.
        ConflictError: the file system cannot exchange folders; nothing was changed.
    """
    root = configuration.local_dir / "replaced-checkpoints" / pipeline.name
    kept = _replaced(root, planned)
    settings, newest_ms = kafka_source_of(pipeline), newest_time(checkpoint.times_folder)
    is_group_set = set_group_offsets(settings, pipeline.name, planned.after, newest_ms)
    return replace(planned, kept=kept, is_group_set=is_group_set)


def _refuse_recount(
    configuration: Configuration, pipeline: Pipeline, before: Offsets, after: Offsets, uncommitted: int | None
) -> None:
    tables = [table.name for table in configuration.written_by(pipeline) if table.adds_to_rows]
    places = [f"the deferred updates of {', '.join(tables)}"] if tables else []
    has_archive = any(isinstance(sink.settings, ArchiveSettings) for sink in pipeline.sinks)
    places += ["the archive"] if has_archive else []
    # of tables the next start compares the committed positions, and removes the rest
    if has_archive and uncommitted is not None:
        raise ConfigError(
            f"batch {uncommitted} was not acknowledged, and the archive may have its events",
            hint="run the pipeline until the batch is durable, then reset; or add --recount",
        )
    if places and any(after[partition] < before.get(partition, 0) for partition in after):
        raise ConfigError(
            f"{' and '.join(places)} would have the events from there on twice",
            hint="roll them back with 'attr2hbase rollback' and run 'attr2hbase replay'; if the topic has deleted "
            "records, --to remaining goes back in no partition; or add --recount"
            if tables
            else "write partitions again with 'attr2hbase archive rerun'; or add --recount",
        )


def _targets(
    admin: KafkaAdmin, topics: list[str], to: str, before: Offsets, timezone: str, group: Offsets | None
) -> dict[TopicPartition, int]:
    begins, ends = admin.earliest(topics), admin.ends(topics)
    path = Path(to)
    if to == "remaining":
        return {part: max(before.get(part, begin), begin) for part, begin in begins.items()}
    if group is not None or (to not in ("earliest", "latest") and path.is_file()):
        listed = _listed(path) if group is None else group
        check_offsets(
            f'"{to}"',
            listed,
            begins,
            ends,
            deleted_hint="the records from there on are deleted: '--to earliest' starts at the first ones that are "
            "left, '--to remaining' at the acknowledged offsets, or the first ones after them that are left; or write "
            "the offsets to a JSON file",
            hint=f"the source reads {', '.join(topics)}; 'attr2hbase offsets show' shows the first and the last offset "
            f"of each partition{'' if group is None else '; write the others to a JSON file'}",
        )
        return {part: listed.get(part, before.get(part, begin)) for part, begin in begins.items()}
    if path.suffix == ".json":
        raise NotFoundError(f'there is no file "{path}"', hint="relative paths start at the current folder")
    try:
        start = Start.parse(to, timezone)
    except ValueError as error:
        raise ConfigError(str(error), hint="an existing JSON file of offsets is accepted too") from error
    match start.at:
        case "earliest":
            return begins
        case "latest":
            return ends
        case _:
            assert start.time_ms is not None  # noqa: S101 - for mypy: a parsed start is one of three
            if start.time_ms > now_ms():
                raise ConfigError(f'"{to}" is in the future', hint="write latest to skip all records that are there")
            since = admin.offsets_since(topics, start.time_ms)
            return {part: min(since.get(part, end), end) for part, end in ends.items()}


def _listed(path: Path) -> dict[TopicPartition, int]:
    """The offsets in a JSON file."""
    try:
        content = json.loads(path.read_bytes(), object_pairs_hook=_object)
        return dict(_places(content))
    except ValueError as error:
        raise ConfigError(f'"{path}" is not a file of offsets: {error}', hint=_FORM) from error


def _places(content: object) -> Iterator[tuple[TopicPartition, int]]:
    if not isinstance(content, dict) or not content:
        raise ValueError("it has no object of topics")
    for topic, partitions in content.items():
        if not isinstance(partitions, dict) or not partitions:
            raise ValueError(f'topic "{topic}" has no object of partitions')
        for partition, offset in partitions.items():
            if type(offset) is not int or offset < 0:
                raise ValueError(f'topic "{topic}", partition "{partition}": {json.dumps(offset)} is not an offset')
            yield (topic, _number(partition)), offset


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of the file; of two equal names, which offset is meant is unknown."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f'"{next(name for name in names if names.count(name) > 1)}" is there twice')
    return content


def _number(partition: str) -> int:
    if not partition.isdecimal() or partition != str(int(partition)):
        raise ValueError(f'"{partition}" is not the number of a partition')
    return int(partition)


_FORM = 'write JSON: {"TOPIC": {"PARTITION": OFFSET}}'


def _replaced(root: Path, planned: Reset) -> Path:
    """Replace the checkpoint by one that starts at these offsets; returns the folder of the old one."""
    with file_errors(root):
        make_folder(root)
        _remove_unused(root)
        kept = root / datetime.fromtimestamp(now_ms() / 1000, UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")
        _build(kept, planned)
    failpoint.point("before_exchange")()
    exchange(kept, planned.checkpoint)
    failpoint.point("after_exchange")()
    return kept


def _build(new: Path, planned: Reset) -> None:
    """Write a checkpoint that no query has used, durably."""
    old = planned.checkpoint
    make_folder(new)
    # first, so that a later reset removes what a killed one leaves
    write_durably(new / RESET, ResetNote(new.name, planned.recount).to_bytes())
    for name in _COPIED:
        if (old / name).exists():
            write_durably(new / name, (old / name).read_bytes())
    Checkpoint(new).claim(planned.identity)
    TopicIds(new).check(planned.topic_ids)
    newest = newest_time(Checkpoint(old).times_folder)
    if newest is not None:
        BatchTimes(Checkpoint(new).times_folder, now_ms).start_after(newest)
    write_first_offsets(new, planned.after)
    # one lock for both folders: it is held until the reset has ended
    os.link(old / "lock", new / "lock")
    sync_folder(new)


def _remove_unused(root: Path) -> None:
    """Remove checkpoints that a killed reset has built and not put in place."""
    for folder in root.iterdir():
        try:
            built_in = ResetNote.of((folder / RESET).read_bytes(), folder / RESET).built_in
        except (FileNotFoundError, NotADirectoryError):
            continue
        if built_in == folder.name:
            shutil.rmtree(folder)

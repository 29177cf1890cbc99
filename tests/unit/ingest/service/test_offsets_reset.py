"""A reset of offsets: where the pipeline starts, and its new checkpoint, with the answers of a cluster."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from ingest.api import ConfigError, ConflictError, TopicPartition
from ingest.catalog import Catalog
from ingest.config import load
from ingest.durable import make_folder, write_durably
from ingest.formats.times import milliseconds_of
from ingest.service import offsets_reset
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds
from ingest.service.offsets import PartitionOffsets
from ingest.service.offsets_reset import Reset, planned_reset, reset
from ingest.service.state_folders import update_replay_file
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge

AFTER = {("t", 0): 7, ("t", 1): 0}
IDS = {"t": "id of the topic"}
IDENTITY = {"source": "kafka", "cluster": "c", "topics": "t"}
NOON_MS = milliseconds_of(datetime(2026, 1, 31, 12, tzinfo=UTC))
COUNTS = """\
version: 1
stores: {s: memory}
tables: {plain: {}, hits: {updates: {processor: count}}}
pipelines:
  counts:
    timezone: Europe/Berlin
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators: [{value: {attribute: "2hb_", value: "%{key}"}}]
    sinks: [{attr2hbase: {table: plain}}, SINK]
"""


class Cluster:
    """A topic whose newest record from offset 5 on in its first partition is of noon."""

    def __init__(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> None:
        self.id, self.topics = "c", ["t"]
        self.begins = {("t", partition): offset for partition, offset in begins.items()}
        self.ends_after = {("t", partition): offset for partition, offset in ends.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """It has no connection."""

    def cluster_id(self) -> str:
        return self.id

    def topic_ids(self, topics: list[str]) -> Mapping[str, str]:
        assert topics == self.topics
        return IDS

    def earliest(self, topics: list[str]) -> Mapping[TopicPartition, int]:
        assert topics == self.topics
        return self.begins

    def ends(self, topics: list[str]) -> Mapping[TopicPartition, int]:
        assert topics == self.topics
        return self.ends_after

    def offsets_since(self, topics: list[str], time_ms: int) -> Mapping[TopicPartition, int]:
        assert topics == ["t"]
        return {("t", 0): 5} if time_ms <= NOON_MS else {}


class Resets:
    """A pipeline that does not run, and its resets; nothing is sent to its consumer group."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self.cluster = Cluster({0: 0, 1: 0}, {0: 9, 1: 9})
        monkeypatch.chdir(folder)
        monkeypatch.setattr(offsets_reset, "KafkaAdmin", lambda _settings: self.cluster)
        monkeypatch.setattr(offsets_reset, "set_group_offsets", lambda *_arguments: False)
        self.declare("{attr2hbase: {table: plain}}")
        self.checkpoint = Path(str(checkpoint_folder(self.configuration, "counts")))
        self.replaced = self.configuration.local_dir / "replaced-checkpoints" / "counts"

    def declare(self, sink: str, topics: Sequence[str] = ("t",)) -> None:
        """Let the pipeline have this sink too, and read these topics."""
        file = self._folder / "p.yaml"
        file.write_text(COUNTS.replace("SINK", sink).replace("[t]", f"[{', '.join(topics)}]"))
        self.configuration = load(file, env={}, lookup=Catalog())
        self.pipeline = self.configuration.pipelines["counts"]

    def acknowledged(self, ends: Mapping[int, int]) -> None:
        """Let the pipeline have read so far."""
        acknowledge(self.checkpoint, 4, {"t": ends})
        BatchTimes(self.checkpoint / "times", lambda: 5_000).of(4)
        (self.checkpoint / "identity.json").write_text(json.dumps(IDENTITY))

    def begun(self) -> None:
        """Let a micro-batch have started that is not acknowledged."""
        (self.checkpoint / "offsets" / "5").write_text('v1\n{}\n{"t": {"0": 9}}')
        BatchTimes(self.checkpoint / "times", lambda: 6_000).of(5)

    def planned(self, to: str | Mapping[TopicPartition, int], locked: Checkpoint | None = None) -> Reset:
        """What a reset to a position, or to offsets in a file, would do."""
        if not isinstance(to, str):
            offsets = {str(partition): offset for (_, partition), offset in to.items()}
            (self._folder / "offsets.json").write_text(json.dumps({"t": offsets}))
            to = "offsets.json"
        return planned_reset(self.configuration, self.pipeline, to, locked)

    def reset(self, to: str | Mapping[TopicPartition, int] = "latest") -> Path:
        """Reset the offsets; returns the folder of the old checkpoint."""
        checkpoint = Checkpoint(self.checkpoint)
        checkpoint.lock()
        try:
            done = reset(self.configuration, self.pipeline, checkpoint, self.planned(to, checkpoint))
        finally:
            checkpoint.unlock()
        assert done.kept is not None
        return done.kept


@pytest.fixture
def resets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resets:
    made = Resets(tmp_path, monkeypatch)
    made.acknowledged({0: 9, 1: 9})
    return made


def test_new_checkpoint_starts_at_the_offsets_with_the_identity_and_later_times(resets: Resets):
    kept = resets.reset(AFTER)
    checkpoint = Checkpoint(resets.checkpoint)
    assert (checkpoint.exists, checkpoint.newest_commit(), checkpoint.uncommitted()) == (True, None, None)
    assert acknowledged_offsets(checkpoint) == AFTER
    checkpoint.verify()
    checkpoint.claim(IDENTITY)
    assert BatchTimes(resets.checkpoint / "times", lambda: 10).of(0) == 5_002
    assert (resets.checkpoint / "lock").samefile(kept / "lock")
    assert TopicIds(resets.checkpoint).known() == IDS
    assert acknowledged_offsets(Checkpoint(kept)) == {("t", 0): 9, ("t", 1): 9}


def test_topics_of_the_file_are_those_of_the_new_checkpoint(resets: Resets):
    """A pipeline whose file lists one more topic goes on where it has read, and reads the new topic from its start."""
    resets.declare("{attr2hbase: {table: plain}}", topics=["t", "u"])
    resets.cluster.topics = ["t", "u"]
    resets.cluster.begins |= {("u", 0): 3}
    resets.cluster.ends_after |= {("u", 0): 8}
    changed = IDENTITY | {"topics": "t,u"}
    with pytest.raises(ConflictError, match='was made for topics "t"'):
        Checkpoint(resets.checkpoint).check_identity(changed)
    resets.reset("remaining")
    checkpoint = Checkpoint(resets.checkpoint)
    checkpoint.check_identity(changed)
    assert acknowledged_offsets(checkpoint) == {("t", 0): 9, ("t", 1): 9, ("u", 0): 3}


def test_offsets_of_another_cluster_are_refused(resets: Resets):
    resets.cluster.id = "other"
    with pytest.raises(ConflictError, match='was made for cluster "c"'):
        resets.reset("earliest")
    assert not resets.replaced.exists()


def test_second_reset_before_a_start_keeps_the_times(resets: Resets):
    resets.reset(AFTER)
    resets.reset("latest")
    assert BatchTimes(resets.checkpoint / "times", lambda: 10).of(0) == 5_002


def killed(*_arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["ingest.spark.streaming.batch_time.BatchTimes.start_after", "exchange"])
def test_checkpoint_of_a_killed_reset_is_removed_by_the_next_one(
    resets: Resets, monkeypatch: pytest.MonkeyPatch, place: str
):
    with monkeypatch.context() as kill:
        kill.setattr(place if "." in place else f"ingest.service.offsets_reset.{place}", killed)
        with pytest.raises(KeyboardInterrupt):
            resets.reset()
    (left,) = resets.replaced.iterdir()
    assert acknowledged_offsets(Checkpoint(resets.checkpoint)) == {("t", 0): 9, ("t", 1): 9}
    kept = resets.reset()
    assert (list(resets.replaced.iterdir()), kept == left) == ([kept], False)


def test_only_checkpoints_that_were_never_in_place_are_removed(resets: Resets):
    kept = [resets.reset(), resets.reset()]
    (resets.replaced / "a file").touch()
    kept.append(resets.reset())
    assert sorted(resets.replaced.iterdir()) == sorted([*kept, resets.replaced / "a file"])


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"t": 5}',
        '{"t": {"x": 5}}',
        '{"t": {"0": "5"}}',
        '{"t": {"0": -1}}',
        '{"t": {}}',
        '{"t": {"0": 5, "0": 6}}',
        '{"t": {"0": 5}, "t": {"1": 5}}',
        '{"t": {"00": 5}}',
        '{"t": {" 0": 5}}',
    ],
)
def test_file_without_offsets_is_refused(resets: Resets, content: str):
    Path("wrong.json").write_text(content)
    with pytest.raises(ConfigError, match="is not a file of offsets"):
        resets.planned("wrong.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["t"]', "it has no object of topics"),
        ('{"t": [1]}', 'topic "t" has no object of partitions'),
        ('{"t": {"0": "x"}}', 'topic "t", partition "0": "x" is not an offset'),
        ('{"t": {"0": 5, "0": 6}}', '"0" is there twice'),
    ],
)
def test_mistake_in_a_file_of_offsets_is_named(resets: Resets, content: str, message: str):
    Path("wrong.json").write_text(content)
    with pytest.raises(ConfigError) as caught:
        resets.planned("wrong.json")
    assert message in caught.value.message


def test_file_of_offsets(resets: Resets):
    assert resets.planned(AFTER).after == AFTER


def test_offsets_of_another_group(resets: Resets, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def offsets_of_group(_connection: object, group: str, topics: list[str]) -> dict[TopicPartition, int]:
        asked.append((group, topics))
        return {("t", 0): len(asked) * 5}

    monkeypatch.setattr(offsets_reset, "offsets_of_group", offsets_of_group)
    assert resets.planned("group:connect-hits.json").after == {("t", 0): 5, ("t", 1): 9}  # the group has one partition
    assert asked == [("connect-hits.json", ["t"])]
    asked.append(("", []))
    wrong = '"group:a" has offsets that the topics of the source do not have'
    with pytest.raises(ConfigError, match=rf"{wrong}: t/0 15 \(it ends at 9\)") as far:
        resets.planned("group:a")
    assert (far.value.hint or "").endswith("write the others to a JSON file")
    resets.cluster.begins["t", 0] = 21
    with pytest.raises(ConfigError, match=rf"{wrong}: t/0 20 \(it begins at 21\)") as behind:
        resets.planned("group:a")
    assert "'--to remaining' at the acknowledged offsets" in (behind.value.hint or "")


@pytest.mark.parametrize(
    ("acknowledged", "start", "end", "lag", "lost"),
    [(None, 3, 10, 7, 0), (5, 3, 10, 5, 0), (1, 3, 10, 9, 2), (12, 3, 10, 0, 0), (5, None, None, None, 0)],
)
def test_lag_and_loss(acknowledged: int | None, start: int | None, end: int | None, lag: int | None, lost: int):
    offsets = PartitionOffsets("t", 0, acknowledged, None, start, end)
    assert (offsets.lag, offsets.lost) == (lag, lost)


def test_interrupted_replay_into_deferred_updates_comes_first(resets: Resets):
    resets.declare("{attr2hbase: {table: hits}}")
    file = update_replay_file(resets.configuration, "counts")
    make_folder(file.parent)
    write_durably(file, b"{}")
    with pytest.raises(ConflictError, match="neither could continue") as caught:
        resets.planned("earliest")
    assert caught.value.code == "replay_unfinished"


@pytest.mark.parametrize(("table", "after", "is_refused"), [("hits", 7, True), ("hits", 9, False), ("plain", 7, False)])
def test_events_of_deferred_updates_are_not_counted_again(resets: Resets, table: str, after: int, is_refused: bool):
    resets.declare(f"{{attr2hbase: {{table: {table}}}}}")
    if is_refused:
        with pytest.raises(ConfigError, match="deferred updates of hits would have the events from there on twice"):
            resets.planned({("t", 0): after})
    else:
        assert resets.planned({("t", 0): after}).after["t", 0] == after
    resets.begun()
    assert resets.planned({("t", 0): 9}).uncommitted == 5  # the next start compares the positions, removes the rest


def test_remaining_records_follow_the_acknowledged_ones_in_each_partition(resets: Resets) -> None:
    """So a topic that has deleted unread records in one partition is not read again in the others."""
    resets.acknowledged({0: 2, 1: 4})
    resets.cluster = Cluster({0: 5, 1: 0, 2: 3}, {0: 9, 1: 9, 2: 9})
    assert resets.planned("remaining").after == {("t", 0): 5, ("t", 1): 4, ("t", 2): 3}


def test_events_of_an_archive_are_not_archived_again(resets: Resets):
    resets.declare("{archive: {root: ./archive, table: rows}}")
    with pytest.raises(ConfigError, match="the archive would have the events from there on twice"):
        resets.planned({("t", 0): 7})
    assert resets.planned({("t", 0): 9}).uncommitted is None
    resets.begun()
    with pytest.raises(ConfigError, match="batch 5 was not acknowledged, and the archive may have its events"):
        resets.planned({("t", 0): 9})


@pytest.mark.parametrize(
    ("to", "offset"),
    [("2026-01-31T12:00:00Z", 5), ("2026-01-31T12:00:00.001Z", 9), ("2026-01-31T13:00:00", 5), ("latest", 9)],
)
def test_record_of_a_time_is_the_first(resets: Resets, to: str, offset: int):
    """A time without an offset from UTC is of the pipeline's zone."""
    assert resets.planned(to).after == {("t", 0): offset, ("t", 1): 9}


def test_time_in_the_future_is_refused(resets: Resets):
    """A wrong year would skip all records that were not read."""
    with pytest.raises(ConfigError, match="is in the future"):
        resets.planned("2999-01-31T12:00:00Z")


def test_word_is_not_taken_for_a_file(resets: Resets):
    Path("latest").write_text("{}")
    assert resets.planned("latest").after == {("t", 0): 9, ("t", 1): 9}

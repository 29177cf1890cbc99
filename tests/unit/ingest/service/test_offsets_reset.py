"""The new checkpoint of a reset, without a cluster."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from ingest.api import ConfigError, ConflictError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.durable import make_folder, write_durably
from ingest.durable.lock import FolderLock
from ingest.formats.times import milliseconds_of
from ingest.service import offsets_reset
from ingest.service.kafka.positions import acknowledged_offsets
from ingest.service.kafka.topics import TopicIds
from ingest.service.offsets import PartitionOffsets
from ingest.service.state_folders import update_replay_file
from ingest.spark.state import checkpoint_folder
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from tests.support.checkpoint import acknowledge

AFTER = {("t", 0): 7, ("t", 1): 0}
IDS = {"t": "id of the topic"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint with one acknowledged batch, and its lock."""
    folder = tmp_path / "old"
    acknowledge(folder, 4, {"t": {0: 9, 1: 9}})
    BatchTimes(folder / "times", lambda: 5_000).of(4)
    (folder / "identity.json").write_text('{"cluster": "c"}')
    lock = FolderLock(folder, kind="checkpoint", hint="")
    lock.acquire()
    lock.release()
    return folder


def test_new_checkpoint_starts_at_the_offsets_with_the_identity_and_later_times(old: Path, tmp_path: Path):
    new = tmp_path / "replaced" / "new"
    offsets_reset._build(new, old, AFTER, IDS)
    checkpoint = Checkpoint(new)
    assert (checkpoint.exists, checkpoint.newest_commit(), checkpoint.uncommitted()) == (True, None, None)
    assert acknowledged_offsets(checkpoint) == AFTER
    checkpoint.verify()
    checkpoint.claim({"cluster": "c"})
    assert BatchTimes(new / "times", lambda: 10).of(0) == 5_002
    assert (new / "lock").samefile(old / "lock")
    assert TopicIds(new).known() == IDS


def test_second_reset_before_a_start_keeps_the_times(old: Path, tmp_path: Path):
    offsets_reset._build(tmp_path / "second", old, AFTER, IDS)
    offsets_reset._build(tmp_path / "third", tmp_path / "second", AFTER, IDS)
    assert BatchTimes(tmp_path / "third" / "times", lambda: 10).of(0) == 5_002


def test_checkpoint_of_a_killed_reset_is_removed_by_the_next_one(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    root = tmp_path / "replaced"
    monkeypatch.setattr(BatchTimes, "start_after", killed)
    with pytest.raises(KeyboardInterrupt):
        offsets_reset._build(root / "half", old, AFTER, IDS)
    offsets_reset._remove_unused(root)
    assert list(root.iterdir()) == []


def test_only_checkpoints_that_were_never_in_place_are_removed(old: Path, tmp_path: Path):
    root = tmp_path / "replaced"
    offsets_reset._build(root / "unused", old, AFTER, IDS)
    offsets_reset._build(root / "built", old, AFTER, IDS)
    (root / "built").rename(root / "kept")  # replaced by a later reset
    old.rename(root / "first")
    (root / "a file").touch()
    offsets_reset._remove_unused(root)
    assert sorted(path.name for path in root.iterdir()) == ["a file", "first", "kept"]


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
def test_file_without_offsets_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "offsets.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match="is not a file of offsets"):
        offsets_reset._listed(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('["t"]', "it has no object of topics"),
        ('{"t": [1]}', 'topic "t" has no object of partitions'),
        ('{"t": {"0": "x"}}', 'topic "t", partition "0": "x" is not an offset'),
        ('{"t": {"0": 5, "0": 6}}', '"0" is there twice'),
    ],
)
def test_mistake_in_a_file_of_offsets_is_named(tmp_path: Path, content: str, message: str):
    path = tmp_path / "offsets.json"
    path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        offsets_reset._listed(path)
    assert message in caught.value.message


def test_file_of_offsets(tmp_path: Path):
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"t": {"0": 7, "1": 0}}))
    assert offsets_reset._listed(path) == AFTER


@pytest.mark.parametrize(
    ("acknowledged", "start", "end", "lag", "lost"),
    [(None, 3, 10, 7, 0), (5, 3, 10, 5, 0), (1, 3, 10, 9, 2), (12, 3, 10, 0, 0), (5, None, None, None, 0)],
)
def test_lag_and_loss(acknowledged: int | None, start: int | None, end: int | None, lag: int | None, lost: int):
    offsets = PartitionOffsets("t", 0, acknowledged, None, start, end)
    assert (offsets.lag, offsets.lost) == (lag, lost)


COUNTS = """\
version: 1
stores: {s: memory}
tables: {plain: {}, hits: {updates: {processor: count}}}
pipelines:
  counts:
    source: {kafka: {brokers: "localhost:9092", topics: [t]}}
    decorators: [{value: {attribute: "2hb_", value: "%{key}"}}]
    sinks: [{attr2hbase: {table: plain}}, {attr2hbase: {table: TABLE}}]
"""


def test_interrupted_replay_into_deferred_updates_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(COUNTS.replace("TABLE", "hits"))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    pipeline = configuration.pipelines["counts"]
    acknowledge(Path(str(checkpoint_folder(configuration, "counts"))), 0, {"t": {0: 9}})
    file = update_replay_file(configuration, "counts")
    make_folder(file.parent)
    write_durably(file, b"{}")
    with pytest.raises(ConflictError, match="neither could continue") as caught:
        offsets_reset.planned_reset(configuration, pipeline, "earliest")
    assert caught.value.code == "replay_unfinished"


@pytest.mark.parametrize(("table", "after", "is_refused"), [("hits", 7, True), ("hits", 9, False), ("plain", 7, False)])
def test_events_of_deferred_updates_are_not_counted_again(tmp_path: Path, table: str, after: int, is_refused: bool):
    (tmp_path / "p.yaml").write_text(COUNTS.replace("TABLE", table))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    check = partial(offsets_reset._refuse_recount, configuration, configuration.pipelines["counts"])
    if is_refused:
        with pytest.raises(ConfigError, match="deferred updates of hits would have the events from there on twice"):
            check({("t", 0): 9}, {("t", 0): after}, None)
    else:
        check({("t", 0): 9}, {("t", 0): after}, None)
    check({("t", 0): 9}, {("t", 0): 9}, 7)  # the next start compares the positions, and removes what is above them


def test_remaining_records_follow_the_acknowledged_ones_in_each_partition() -> None:
    """So a topic that has deleted unread records in one partition is not read again in the others."""

    class Admin:
        def earliest(self, _topics: list[str]) -> dict[tuple[str, int], int]:
            return {("t", 0): 5, ("t", 1): 0, ("t", 2): 3}

        def ends(self, _topics: list[str]) -> dict[tuple[str, int], int]:
            return {("t", 0): 9, ("t", 1): 9, ("t", 2): 9}

    before = {("t", 0): 2, ("t", 1): 4}
    after = offsets_reset._targets(Admin(), ["t"], "remaining", before, "UTC")
    assert after == {("t", 0): 5, ("t", 1): 4, ("t", 2): 3}


def test_events_of_an_archive_are_not_archived_again(tmp_path: Path):
    sinks = COUNTS.replace("{attr2hbase: {table: TABLE}}", "{archive: {root: ./archive, table: rows}}")
    (tmp_path / "p.yaml").write_text(sinks)
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    check = partial(offsets_reset._refuse_recount, configuration, configuration.pipelines["counts"])
    with pytest.raises(ConfigError, match="the archive would have the events from there on twice"):
        check({("t", 0): 9}, {("t", 0): 7}, None)
    with pytest.raises(ConfigError, match="batch 7 was not acknowledged, and the archive may have its events"):
        check({("t", 0): 9}, {("t", 0): 9}, 7)
    check({("t", 0): 9}, {("t", 0): 9}, None)


class Admin:
    """A topic with one partition."""

    def earliest(self, topics):
        assert topics == ["t"]
        return {("t", 0): 3}

    def ends(self, topics):
        assert topics == ["t"]
        return {("t", 0): 9}

    def offsets_since(self, topics, time_ms):
        """One record is as young as the time below."""
        assert topics == ["t"]
        return {("t", 0): 5} if time_ms <= milliseconds_of(datetime(2026, 1, 31, 12, tzinfo=UTC)) else {}


def test_time_in_the_future_is_refused():
    """A wrong year would skip all records that were not read."""
    with pytest.raises(ConfigError, match="is in the future"):
        offsets_reset._targets(Admin(), ["t"], "2999-01-31T12:00:00Z", {}, "UTC")
    assert offsets_reset._targets(Admin(), ["t"], "2026-01-31T12:00:00Z", {}, "UTC") == {("t", 0): 5}
    assert offsets_reset._targets(Admin(), ["t"], "2026-01-31T12:00:00.001Z", {}, "UTC") == {("t", 0): 9}
    assert offsets_reset._targets(Admin(), ["t"], "2026-01-31T13:00:00", {}, "Europe/Berlin") == {("t", 0): 5}


def test_word_is_not_taken_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latest").write_text("{}")
    assert offsets_reset._targets(Admin(), ["t"], "latest", {}, "UTC") == {("t", 0): 9}

"""Reading a checkpoint the way Spark 4.2 writes it."""

import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from ingest.api import CheckpointError, ConflictError, StoreUnavailableError
from ingest.spark.streaming.checkpoint import Checkpoint, Restart


def spark_writes(path: Path, text: str) -> None:
    """A file and its checksums in Hadoop's format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(content)
    pieces = [content[start : start + 512] for start in range(0, len(content), 512)]
    sums = b"".join(struct.pack(">I", zlib.crc32(piece)) for piece in pieces)
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + sums)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Batches 0 to 2 committed, batch 3 planned."""
    spark_writes(tmp_path / "metadata", '{"id":"8ecc2806"}')
    for number in range(4):
        offsets = json.dumps({"ticks": {"0": number * 10}})
        spark_writes(tmp_path / "offsets" / str(number), f'v1\n{{"batchTimestampMs":1}}\n{offsets}')
        if number < 3:
            spark_writes(tmp_path / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
    (tmp_path / "times").mkdir()
    (tmp_path / "times" / "3").write_text("1700000000000")
    return tmp_path


def test_intact_checkpoint_has_newest_commit_and_offsets(folder: Path):
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    assert (checkpoint.newest_commit(), checkpoint.uncommitted()) == (2, 3)
    assert checkpoint.uncommitted_ms() == 1_700_000_000_000
    assert checkpoint.end_offsets(2) == {"ticks": {"0": 20}}


def test_batch_that_was_only_planned_is_not_uncommitted(folder: Path):
    (folder / "times" / "3").unlink()
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    assert (checkpoint.newest_commit(), checkpoint.uncommitted()) == (2, None)


def test_committed_batch_is_not_uncommitted(folder: Path):
    spark_writes(folder / "commits" / "3", 'v1\n{"nextBatchWatermarkMs":0}')
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    assert (checkpoint.newest_commit(), checkpoint.uncommitted(), checkpoint.uncommitted_ms()) == (3, None, None)


def test_batch_that_has_begun_and_has_no_plan_is_unplanned(folder: Path):
    checkpoint = Checkpoint(folder)
    assert checkpoint.unplanned() == ()
    for number in (10, 4):
        (folder / "times" / str(number)).write_text("1700000000002")
    assert checkpoint.unplanned() == (4, 10)
    (folder / "offsets" / "3").unlink()
    assert (checkpoint.uncommitted(), checkpoint.unplanned()) == (None, (3, 4, 10))


def test_checkpoint_whose_plans_are_all_gone_is_damaged(folder: Path):
    # its start would take back the dead letters of acknowledged batches, whose records it may not read again
    for name in ("offsets", "commits"):
        shutil.rmtree(folder / name)
    Checkpoint(folder).verify()  # the plan of the first batch alone may be lost by a power cut
    (folder / "times" / "4").write_text("1700000000002")
    with pytest.raises(CheckpointError, match='offsets" is empty, but 2 batches have begun; no batch is known to be'):
        Checkpoint(folder).verify()


def test_new_checkpoint_is_intact_and_empty(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path / "new")
    checkpoint.verify()
    assert (checkpoint.exists, checkpoint.newest_commit(), checkpoint.uncommitted()) == (False, None, None)


def test_query_that_has_only_stored_where_its_source_starts_has_started(tmp_path: Path):
    spark_writes(tmp_path / "sources" / "0" / "0", '{"ticks":{"0":0}}')
    assert Checkpoint(tmp_path).exists


@pytest.mark.parametrize(
    ("damage", "file", "good"),
    [
        (lambda folder: (folder / "offsets/3").write_bytes(b""), "offsets/3", 2),
        (lambda folder: (folder / "offsets/2").unlink(), "offsets/2", 1),
        (lambda folder: (folder / "commits/2").unlink(), "commits/2", 1),
        (lambda folder: (folder / "commits/2").write_bytes(b"v1\n"), "commits/2", 1),
        (lambda folder: [(folder / f"offsets/{number}").unlink() for number in (2, 3)], "offsets/2", 1),
        (lambda folder: (folder / "metadata").unlink(), "metadata", 2),
        (lambda folder: (folder / "times/3").write_bytes(b""), "times/3", 2),
    ],
    ids=[
        *("empty-offsets", "offsets-gone", "commit-gone", "commit-truncated", "commit-ahead-of-offsets"),
        *("metadata-gone", "time-empty"),
    ],
)
def test_damage_is_reported_with_file_and_last_good_batch(folder: Path, damage, file: str, good: int):
    damage(folder)
    with pytest.raises(CheckpointError) as refused:
        Checkpoint(folder).verify()
    assert str(folder / file) in str(refused.value)
    assert f"the last good batch is {good}" in str(refused.value)
    assert refused.value.exit_code == 5


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("offsets/3", "v1\n{}", "is truncated"),
        ("offsets/3", "v2\n{}\n{}", "is truncated"),
        ("commits/2", "v1", "is truncated"),
        ("offsets/3", "v1\n{}\n{", "does not have the format of Spark"),
        ("commits/2", "v1\n{", "does not have the format of Spark"),
        ("metadata", "{", "does not have the format of Spark"),
    ],
)
def test_file_that_matches_its_checksum_is_verified(folder: Path, name: str, text: str, problem: str):
    spark_writes(folder / name, text)
    with pytest.raises(CheckpointError, match=f'{folder / name}" {problem}'):
        Checkpoint(folder).verify()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read"),
        ("v1\n{}", "cannot be read"),
        ("v1\n{}\n{", "cannot be read"),
        ("v1\n{}\n[]", "contains no"),
    ],
)
def test_damaged_end_of_a_batch_is_named(folder: Path, text: str | None, problem: str):
    if text is None:
        (folder / "offsets/3").unlink()
    else:
        (folder / "offsets/3").write_text(text)
    with pytest.raises(CheckpointError, match=f'{folder}/offsets/3" {problem}'):
        Checkpoint(folder).end_offsets(3)


@pytest.mark.parametrize("name", ["offsets/2", "commits/1", "times/2"])
def test_batch_before_the_newest_one_is_verified(folder: Path, name: str):
    """Spark reads it at a restart: its offsets are where the newest batch starts."""
    (folder / "times" / "2").write_text("1699999999999")
    Checkpoint(folder).verify()
    (folder / name).write_bytes(b"")
    with pytest.raises(CheckpointError, match=str(folder / name)):
        Checkpoint(folder).verify()


@pytest.mark.parametrize("name", ["offsets/1", "commits/0", "times/1"])
def test_file_of_an_older_batch_is_not_needed(folder: Path, name: str):
    (folder / name).write_bytes(b"")
    Checkpoint(folder).verify()
    (folder / name).unlink()
    Checkpoint(folder).verify()


@pytest.mark.parametrize("name", ["offsets/0", "commits/0"])
def test_first_batch_is_needed_by_the_second(folder: Path, name: str):
    for newer in ("offsets/2", "offsets/3", "commits/1", "commits/2"):
        (folder / newer).unlink()
    Checkpoint(folder).verify()
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=f'{folder / name}" is missing'):
        Checkpoint(folder).verify()


def test_newest_batches_are_those_with_the_largest_numbers(folder: Path):
    """As text, "10" sorts before "2"."""
    for number in range(4, 12):
        spark_writes(folder / "offsets" / str(number), f'v1\n{{"batchTimestampMs":1}}\n{{"ticks":{{"0":{number}}}}}')
        spark_writes(folder / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
    Checkpoint(folder).verify()  # also without a batch that is only planned
    assert Checkpoint(folder).newest_commit() == 11
    for number in (9, 10):
        (folder / "offsets" / str(number)).write_bytes(b"")
    with pytest.raises(CheckpointError, match=str(folder / "offsets/10")):
        Checkpoint(folder).verify()


def test_first_batch_that_was_only_planned_is_verified(folder: Path):
    for number in range(1, 4):
        (folder / "offsets" / str(number)).unlink()
    for number in range(3):
        (folder / "commits" / str(number)).unlink()
    Checkpoint(folder).verify()
    (folder / "offsets/0").write_bytes(b"")
    with pytest.raises(CheckpointError, match=str(folder / "offsets/0")):
        Checkpoint(folder).verify()


def test_commits_without_offsets_are_damage(folder: Path):
    for number in range(4):
        (folder / "offsets" / str(number)).unlink()
    with pytest.raises(CheckpointError, match=r"offsets/2.* is missing, but its commit exists"):
        Checkpoint(folder).verify()


def test_changed_byte_is_detected_by_the_checksum(folder: Path):
    path = folder / "offsets/3"
    path.write_bytes(path.read_bytes().replace(b'"0": 30', b'"0": 31'))
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        Checkpoint(folder).verify()


def test_leftover_temporary_file_is_ignored(folder: Path):
    (folder / "offsets/.3.1b2c.tmp").write_bytes(b"half")
    Checkpoint(folder).verify()


def test_checkpoint_of_other_topics_is_rejected_with_a_hint(folder: Path):
    Checkpoint(folder).claim({"source": "kafka", "topics": "ticks"})
    Checkpoint(folder).claim({"source": "kafka", "topics": "ticks"})
    with pytest.raises(ConflictError, match='made for topics "ticks", the configuration says "other"') as refused:
        Checkpoint(folder, Restart("resume", "run it")).claim({"source": "kafka", "topics": "other"})
    assert (refused.value.hint or "").endswith("give the pipeline another name or state_dir and run it")


def test_new_checkpoint_is_that_of_any_source(tmp_path: Path):
    Checkpoint(tmp_path / "new").check_identity({"source": "kafka", "topics": "ticks"})


def test_other_kind_of_source_is_reported_first(folder: Path):
    Checkpoint(folder).claim({"cluster": "c", "source": "kafka", "topics": "ticks"})
    with pytest.raises(ConflictError, match='made for source "kafka", the configuration says "files"'):
        Checkpoint(folder).claim({"path": "/logs", "source": "files"})


@pytest.mark.parametrize(("content", "problem"), [("{", "is not JSON"), ("[]", "is not a JSON object")])
def test_damaged_identity_is_named(folder: Path, content: str, problem: str):
    (folder / "identity.json").write_text(content)
    with pytest.raises(CheckpointError, match=f'"{folder}/identity.json" {problem}'):
        Checkpoint(folder).claim({"source": "kafka"})


def test_change_of_the_configuration_is_detected(folder: Path):
    checkpoint = Checkpoint(folder)
    assert not checkpoint.is_changed("one")
    checkpoint.note_configuration("one")
    assert not checkpoint.is_changed("one")
    assert checkpoint.is_changed("two")
    checkpoint.note_configuration("two")
    assert not checkpoint.is_changed("two")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is synced, as paths."""
    found: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: found.add(str(Path(f"/proc/self/fd/{descriptor}").readlink())))
    return found


def test_plan_and_the_acknowledgement_before_it_are_synced(folder: Path, synced: set[str]):
    """Spark syncs nothing; what it has written once at its start is synced once."""
    spark_writes(folder / "sources" / "0" / "0", '{"ticks":{"0":0}}')
    checkpoint = Checkpoint(folder)
    batch = {"offsets", "offsets/3", "offsets/.3.crc", "commits", "commits/2", "commits/.2.crc"}
    start = {"", "metadata", ".metadata.crc", "sources/0", "sources/0/0", "sources/0/.0.crc"}
    checkpoint.sync_plan(3)
    assert synced == {str(folder / name) for name in batch | start}
    synced.clear()
    checkpoint.sync_plan(3)
    assert synced == {str(folder / name) for name in batch}


def test_names_that_a_killed_process_has_left_are_synced(folder: Path, synced: set[str]):
    """It may have written them, and not synced their folder."""
    for _ in range(2):
        synced.clear()
        Checkpoint(folder).claim({"source": "kafka"})
        assert str(folder) in synced
    for _ in range(2):
        synced.clear()
        Checkpoint(folder).note_configuration("one")
        assert str(folder) in synced


def test_id_of_the_query_is_that_of_spark(folder: Path, tmp_path: Path):
    assert Checkpoint(folder).query_id() == "8ecc2806"
    assert Checkpoint(tmp_path / "new").query_id() == ""


@pytest.mark.parametrize("content", ["", "{}", "[]", '"id"', "{"])
def test_metadata_without_an_id_are_damaged(folder: Path, content: str):
    (folder / "metadata").write_text(content)
    with pytest.raises(CheckpointError, match="has no id"):
        Checkpoint(folder).query_id()


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path):
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(StoreUnavailableError, match="cannot be used: File exists; a file is where") as refused:
        Checkpoint(tmp_path / "state" / "p").lock()
    assert (refused.value.code, refused.value.exit_code) == ("disk_denied", 3)


def test_second_process_is_rejected_with_the_pid_of_the_first(folder: Path):
    checkpoint = Checkpoint(folder)
    checkpoint.lock()
    script = (
        "from pathlib import Path\n"
        "from ingest.spark.streaming.checkpoint import Checkpoint\n"
        f"Checkpoint(Path({str(folder)!r})).lock()"
    )
    refused = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "is in use by pid" in refused.stderr
    checkpoint.unlock()
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_lock_that_was_lost_is_found_before_a_change(folder: Path):
    checkpoint = Checkpoint(folder)
    checkpoint.lock()
    checkpoint.check_locked()
    assert Checkpoint(folder).is_locked()
    assert checkpoint.lost() is None
    (folder / "lock").unlink()
    with pytest.raises(ConflictError, match="was removed or replaced") as caught:
        checkpoint.check_locked()
    assert caught.value.code == "lease_lost"
    checkpoint.unlock()
    assert not Checkpoint(folder).is_locked()


def test_claimed_checkpoint_has_the_format(tmp_path: Path):
    assert not Checkpoint(tmp_path).is_claimed()
    Checkpoint(tmp_path).claim({"source": "kafka"})
    assert Checkpoint(tmp_path).is_claimed()
    assert (tmp_path / "format").read_bytes() == b"1"
    Checkpoint(tmp_path).verify()


def test_checkpoint_without_a_format_is_claimed(folder: Path):
    (folder / "identity.json").write_text('{"source": "kafka"}')
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    checkpoint.claim({"source": "kafka"})
    assert (folder / "format").read_bytes() == b"1"


def test_checkpoint_of_a_newer_version_is_refused(folder: Path):
    (folder / "format").write_bytes(b"2")
    (folder / "metadata").write_bytes(b"in another format")
    with pytest.raises(CheckpointError) as caught:
        Checkpoint(folder).verify()
    assert caught.value.message == f'checkpoint "{folder}" has format 2, this version reads 1'
    assert caught.value.hint == "run it with the version that wrote it, or a later one"


@pytest.mark.parametrize("content", [b"", b"1\n2", b"\0"])
def test_damaged_format_is_reported(folder: Path, content: bytes):
    (folder / "format").write_bytes(content)
    with pytest.raises(CheckpointError, match=r'damaged: ".*/format" is not a number'):
        Checkpoint(folder).verify()


@pytest.mark.parametrize("permission", [os.R_OK, os.W_OK, os.X_OK], ids=["read", "write", "enter"])
@pytest.mark.parametrize("name", ["", "offsets", "commits", "sources", "times"])
def test_folder_without_permissions_is_not_left_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, permission: int
):
    """The tests may run as root, who has all permissions."""
    folder = tmp_path / "p"
    (folder / name).mkdir(parents=True)
    checkpoint = Checkpoint(folder)
    with monkeypatch.context() as denied:
        denied.setattr("os.access", lambda path, mode: path != folder / name or not mode & permission)
        with pytest.raises(StoreUnavailableError, match="Permission denied") as caught:
            checkpoint.lock()
    assert str(folder / name) in caught.value.message
    other = Checkpoint(folder)
    other.lock()
    other.unlock()

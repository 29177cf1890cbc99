"""State that released versions wrote is read and continued; that of a newer version is refused by name."""

import json
import shutil
from pathlib import Path

import pytest
from rocksdict import Rdict, WriteOptions

from ingest.api import CheckpointError, IntegrityError
from ingest.dead_letters.files import FileDeadLetters
from ingest.service.kafka.topics import TopicIds, TopicRecreatedError
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.rocksdb import tables
from tests.support import golden
from tests.support.checkpoint import CheckpointReader
from tests.support.commands import Folder

NEW_EVENTS = "2239120201:70\n2239120202:71\n"

pytestmark = pytest.mark.parametrize("version", golden.versions())


def test_pipeline_continues_where_it_stopped(version: str, tmp_path: Path) -> None:
    ingest = Folder(golden.unpack(version, tmp_path))
    checkpoint = CheckpointReader(tmp_path / "data/state/checkpoints/ticks")
    before_ms = checkpoint.time_ms(0)
    (tmp_path / "ticks/wednesday.txt").write_text(NEW_EVENTS)

    ran = ingest("run", "--once", "pipeline.yaml", "--output", "json")
    assert {name: json.loads(ran.stdout)["ticks"][name] for name in ("read", "stored")} == {"read": 2, "stored": 2}
    assert checkpoint.commits() == [0, 1]
    assert checkpoint.time_ms(1) > before_ms

    rows = [line for line in ingest("scan", "mytable").stdout.splitlines() if not line.startswith(" ")]
    assert [row.partition(":")[0] for row in rows] == ["monday.txt"] * 6 + ["tuesday.txt"] * 4 + ["wednesday.txt"] * 2
    assert not list((tmp_path / "data/state/incoming").rglob("*/0"))  # the file of a process that was killed


def test_dead_letters_and_marks_are_read(version: str, tmp_path: Path) -> None:
    golden.unpack(version, tmp_path)
    (entry,) = FileDeadLetters(tmp_path / "data/state", "ticks").entries()
    assert (entry.dead_letter.code, entry.dead_letter.record.value) == ("no_match", b"out of paper")
    assert entry.dead_letter.product == version
    assert entry.mark is not None


def test_checkpoint_of_kafka_is_continued(version: str, tmp_path: Path) -> None:
    folder = copied(version, tmp_path)
    checkpoint = Checkpoint(folder)
    checkpoint.verify()
    checkpoint.claim(golden.KAFKA_IDENTITY)
    assert (checkpoint.newest_commit(), checkpoint.uncommitted()) == (0, 1)
    assert checkpoint.end_offsets(1) == {"ticks": {"0": 200, "1": 50}}
    times = BatchTimes(folder / "times", lambda: 0)
    assert [times.of(number) - golden.BATCH_TIME_MS for number in (0, 1, 2)] == [0, 2, 4]
    TopicIds(folder).check(golden.TOPIC_IDS)
    with pytest.raises(TopicRecreatedError):
        TopicIds(folder).check({"ticks": "BBBBBBBBBBBBBBBBBBBBBQ"})


def test_newer_checkpoint_is_refused_by_name(version: str, tmp_path: Path) -> None:
    folder = copied(version, tmp_path)
    newer = int((folder / "format").read_bytes()) + 1
    (folder / "format").write_text(str(newer))
    with pytest.raises(CheckpointError, match=f"has format {newer}, this version reads "):
        Checkpoint(folder).verify()


def test_newer_dead_letter_is_refused_by_name(version: str, tmp_path: Path) -> None:
    ingest = Folder(golden.unpack(version, tmp_path))
    (file,) = (tmp_path / "data/state/dead-letters/ticks").glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"format":1,', b'"format":4,'))
    refused = ingest("dead-letters", "list", code=IntegrityError.exit_code)
    assert "dead letter has format 4, this version reads 1 to 3" in refused.stderr


def test_newer_store_is_refused_by_name(version: str, tmp_path: Path) -> None:
    ingest = Folder(golden.unpack(version, tmp_path))
    path, options = str(tmp_path / "data"), tables.database_options(64)
    others = {name: tables.table_options() for name in Rdict.list_cf(path, options) if name != "default"}
    database = Rdict(path, options, others)
    newer = int(tables.EXTENDED_FORMAT) + 1
    database.put(tables.FORMAT_KEY, b"%d" % newer, WriteOptions())
    database.close()
    refused = ingest("scan", "mytable", code=IntegrityError.exit_code)
    assert f'the store has format "{newer}", this version reads "{newer - 2}" and "{newer - 1}"' in refused.stderr


def copied(version: str, folder: Path) -> Path:
    """The checkpoint of Kafka of a version."""
    return Path(shutil.copytree(golden.GOLDEN / version / "kafka", folder / "checkpoint"))

"""
State that a version wrote, in `tests/golden/VERSION`, for tests that later versions continue it.

    python -m tests.support.golden     write that of the present version; once, for its release

`files` is a folder after `attr2hbase run --once` and `attr2hbase dead-letters replay` of the template for files: its
pipeline file, events, checkpoint, batch times, dead letters with a mark of the replay, a RocksDB store, and a staged
file that a killed process left. `kafka` is the checkpoint of a pipeline that reads Kafka, without a broker. `@FOLDER@`
stands for the folder.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ingest import __version__
from ingest.api import Put
from ingest.service.kafka.topics import TopicIds
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.writing.staging import StagingWriter
from tests.support.checkpoint import acknowledge
from tests.support.commands import ANY_PORT, Folder

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
KAFKA_IDENTITY = {"source": "kafka", "topics": "ticks", "cluster": "golden-cluster"}
TOPIC_IDS = {"ticks": "AAAAAAAAAAAAAAAAAAAAAQ"}
BATCH_TIME_MS = 1_790_000_000_000  # of batch 0 of the Kafka checkpoint
_PLACEHOLDER = "@FOLDER@"
_EVENTS_S = 1_789_000_000  # modification time of the events' files, part of the offsets
_TEXTS = ("data/state/checkpoints/ticks/identity.json", "data/state/checkpoints/ticks/offsets/0")
_DEAD_LETTERS = "data/state/dead-letters/ticks"
_OF_A_PROCESS = ("data/LOG*", "data/state/**/lock", "data/LOCK", "data/state/checkpoints/ticks/offsets/.0.crc")


def versions() -> list[str]:
    """Versions whose state is stored, sorted as text."""
    return sorted(path.name for path in GOLDEN.iterdir())


def unpack(version: str, folder: Path) -> Path:
    """Copy the folder `files` of a version, as if the version had run there; returns the folder."""
    shutil.copytree(GOLDEN / version / "files", folder, dirs_exist_ok=True)
    _replace(folder, _PLACEHOLDER, str(folder))
    _set_times(folder)
    return folder


def _replace(folder: Path, old: str, new: str) -> None:
    for path in (*(folder / name for name in _TEXTS), *(folder / _DEAD_LETTERS).glob("*.jsonl")):
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def _set_times(folder: Path) -> None:
    for path in (folder / "ticks").iterdir():
        os.utime(path, (_EVENTS_S, _EVENTS_S))


def write_files(folder: Path) -> None:
    """Run the template for files."""
    ingest = Folder(folder)
    ingest("init")
    ingest.add(ANY_PORT)
    _set_times(folder)
    ingest("run", "--once", "pipeline.yaml")
    ingest("dead-letters", "replay", code=1)  # the pipeline is the same, so it fails again
    staged = StagingWriter()
    staged.begin(str(folder / "data/state/incoming/logs/ticks/1-1-1/0"), {})
    staged.apply("mytable", [Put(b"staged", {b"colfam:ts": b"x"}, 1)])
    staged.finish()
    for pattern in _OF_A_PROCESS:
        for path in folder.glob(pattern):
            path.unlink()
    _replace(folder, str(folder), _PLACEHOLDER)


def write_kafka(folder: Path) -> None:
    """What the driver writes for two batches of Kafka, and Spark's files of an acknowledged batch."""
    checkpoint = Checkpoint(folder)
    checkpoint.claim(KAFKA_IDENTITY)
    checkpoint.note_configuration("0" * 64)
    TopicIds(folder).check(TOPIC_IDS)
    times = BatchTimes(folder / "times", lambda: BATCH_TIME_MS)
    for number in (0, 1):
        times.of(number)
        acknowledge(folder, number, {"ticks": {0: 100 * (number + 1), 1: 50}})
    (folder / "commits" / "1").unlink()
    (folder / "metadata").write_text(json.dumps({"id": "00000000-0000-0000-0000-000000000000"}))


def main() -> None:
    """Write the state of this version; refuses to replace it."""
    target = GOLDEN / __version__
    if target.exists():
        sys.exit(f"{target} exists; the state of a released version is never changed")
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        for name, write in (("files", write_files), ("kafka", write_kafka)):
            (root / name).mkdir()
            write(root / name)
        shutil.copytree(root, target)


if __name__ == "__main__":
    main()

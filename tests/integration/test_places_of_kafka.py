"""Dead letters by place of a topic, in another one: replayed once, also after a kill, and if some records are gone."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import TopicPartition

from ingest.api import Record
from ingest.catalog import Catalog
from ingest.cli import main
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.queue import Entry
from ingest.plan.assemble import plan_of
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.state_folders import batch_log_folder
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.batch_log import BatchLog, LoggedBatch
from ingest.spark.streaming.batch_time import BatchTimes
from sinks.owning.committed_position import CommittedPosition
from tests.support.checkpoint import acknowledge
from tests.support.servers import Kafka
from tests.support.service import environment

pytestmark = pytest.mark.slow

BATCH_MS = 1_700_000_000_000
LIMIT_S = 120.0
VALUES = ["2", "3", "many", "5", "7", "more", "11"]
"""All of them have failed in the sink that adds them up."""


class Counting:
    """A pipeline that adds up the values of a topic in one row; its only micro-batch is complete."""

    def __init__(self, folder: Path, kafka: Kafka, capfd: pytest.CaptureFixture[str]) -> None:
        self.kafka, self.folder, self.capfd = kafka, folder, capfd
        self.errors = ""  # of the last replay
        self.topic, self.letters = kafka.create_topic("in"), kafka.create_topic("dead")
        self.file = str(folder / "p.yaml")
        kafka.produce(self.topic, VALUES)
        self.write()
        self.configuration = load(Path(self.file), env={}, lookup=Catalog())
        self.queue = dead_letter_queue(self.configuration, self.configuration.pipelines["p"])
        checkpoint, offsets = folder / "state" / "checkpoints" / "p", {0: len(VALUES)}
        acknowledge(checkpoint, 0, {self.topic: offsets})
        assert BatchTimes(checkpoint / "times", lambda: BATCH_MS).of(0) == BATCH_MS
        with ExitStack() as opened:
            plan = plan_of(self.configuration, self.configuration.pipelines["p"], Catalog())
            stores = driver_stores(self.configuration, [plan], opened)
            tables = owned_tables(self.configuration, plan, stores)
            tables.claim()
            tables.move(CommittedPosition(BATCH_MS, {self.topic: {"0": len(VALUES)}}))
        with closing(BatchLog(batch_log_folder(self.configuration, "p"))) as log:
            log.append(LoggedBatch(0, BATCH_MS, {(self.topic, 0): (0, len(VALUES))}, {}, ("sums",)))

    def write(self, *decorators: object) -> None:
        """Write the file of the pipeline, with further decorators."""
        row = {"template": {"attributes": {"2hb_": "sum", "2hb_f:n": "%{body}"}}}
        content = {
            "version": 1,
            "service": {"http": {"listen": "127.0.0.1:1"}},  # no service answers there
            "stores": {"s": {"rocksdb": {"path": str(self.folder / "store")}}},
            "tables": {"sums": {"families": {"f": {}}, "updates": {"processor": "sum"}}},
            "state_dir": str(self.folder / "state"),
            "pipelines": {
                "p": {
                    "source": {"kafka": {"brokers": self.kafka.brokers, "topics": [self.topic]}},
                    "decorators": [*decorators, row],
                    "sinks": [{"attr2hbase": {"table": "sums", "label": "sums"}}],
                    "dead_letters": {"kafka": {"topic": self.letters}},
                }
            },
        }
        Path(self.file).write_text(yaml.safe_dump(content))

    def publish(self, first: int, end: int) -> None:
        """Publish a dead letter by place."""
        record = Record(self.topic, 0, first, None, None, BATCH_MS)
        letter = DeadLetter(
            record=record,
            by_place=PlaceRange(end, was_read=True),
            events=end - first,
            fan_out=0,
            attributes={},
            pipeline="p",
            component="sums",
            code="not_a_number",
            message="no",
            batch_time_ms=BATCH_MS,
            fingerprint="f",
        )
        self.queue.publish([letter.to_json()], 0, BATCH_MS)

    def replay(self, *options: str) -> dict[str, Any]:
        """What `dead-letters replay` prints."""
        self.capfd.readouterr()
        main(["dead-letters", "replay", "-f", self.file, *options, "--output", "json"])
        out, self.errors = self.capfd.readouterr()
        assert out, self.errors
        report: dict[str, Any] = json.loads(out)
        return report

    def total(self) -> int:
        """The sum."""
        self.capfd.readouterr()
        assert main(["get", "-f", self.file, "sums", "sum", "--output", "json"]) == 0
        row = json.loads(self.capfd.readouterr().out)
        return int(row["cells"][0][3])

    def open(self) -> Sequence[Entry]:
        """The dead letters that need a replay."""
        return [entry for entry in self.queue.entries() if not entry.is_replayed]


@pytest.fixture
def counting(tmp_path: Path, kafka: Kafka, capfd: pytest.CaptureFixture[str]) -> Counting:
    return Counting(tmp_path, kafka, capfd)


def failed(counting: Counting) -> list[tuple[int, bytes | None, int, int | None]]:
    """Offset, value, batch time and source of the dead letters of single records that need a replay."""
    letters = [entry.dead_letter for entry in counting.open() if entry.dead_letter.by_place is None]
    return sorted((each.record.offset, each.record.value, each.batch_time_ms, each.source_batch_ms) for each in letters)


MANY, MORE = [(offset, VALUES[offset].encode(), BATCH_MS - 1, BATCH_MS) for offset in (2, 5)]


def test_records_of_a_place_are_counted_once(counting: Counting) -> None:
    counting.publish(0, 7)
    report = counting.replay()
    assert (report["replayed"], report["published"]) == (1, {"not_a_number": 2})
    assert (counting.total(), failed(counting)) == (28, [MANY, MORE])
    assert counting.replay()["failed_again"] == {"not_a_number": 2}
    counting.write({"replace": {"pattern": "m.*", "replacement": "100"}})
    assert counting.replay()["replayed"] == 2
    assert (counting.total(), list(counting.open())) == (228, [])


def test_records_that_the_topic_has_deleted_are_told_and_the_others_are_counted(counting: Counting) -> None:
    counting.publish(0, 7)
    with counting.kafka.admin() as admin:
        admin.delete_records({TopicPartition(counting.topic, 0): 4})
    report = counting.replay()
    assert (report["replayed"], report["published"], report["skipped"]) == (1, {"not_a_number": 1}, {})
    assert '"records":4' in counting.errors.replace(" ", "")
    assert (counting.total(), failed(counting)) == (18, [MORE])
    with counting.kafka.admin() as admin:
        admin.delete_records({TopicPartition(counting.topic, 0): 7})
    report = counting.replay("--all", "--recount", "--code", "not_a_number")
    assert report["skipped"] == {"unread": 1}


def test_replay_that_is_killed_after_it_has_published_counts_once(counting: Counting, tmp_path: Path) -> None:
    """Between the publication of the records that fail again and the mark of their place."""
    counting.publish(0, 7)
    points = {"INGEST_FAILPOINT": "replay_published:1:kill", "INGEST_FAILPOINT_FOLDER": str(tmp_path)}
    killed = subprocess.run(
        [sys.executable, "-m", "ingest", "dead-letters", "replay", "-f", counting.file],
        env={**environment(), **points},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (tmp_path / "replay_published").exists()
    assert (len(counting.open()), failed(counting)) == (3, [MANY, MORE])
    report = counting.replay()
    assert (report["replayed"], report["published"]) == (1, {"not_a_number": 2})
    assert (counting.total(), failed(counting)) == (28, [MANY, MORE])
    counting.write({"replace": {"pattern": "m.*", "replacement": "100"}})
    assert counting.replay()["replayed"] == 2
    assert (counting.total(), list(counting.open())) == (228, [])
    counting.write()
    again = counting.replay("--all", "--recount")
    assert again["published"] == {"not_a_number": 2}
    assert failed(counting) == [MANY, MORE], "published again, so they are open again"

"""`attr2hbase offsets` against a real broker; `test_jobs.py` has a reset by a running service."""

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.api import NotFoundError
from ingest.durable.lock import FolderLock
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.settings import KafkaConnection
from tests.support.audit import rocksdb_table
from tests.support.by_key import PIPELINE, content_of
from tests.support.checkpoint import CheckpointReader, acknowledge
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service, environment

NOON_MS = 1_763_899_200_000


def run_command(service: Service, group: str, command: str, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run a command on the file of a service; returns stdout and stderr."""
    done = service.command(f"{group} {command}", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def shown(service: Service) -> dict[str, Any]:
    """The offsets as JSON."""
    out, _ = run_command(service, "offsets", "show", "--output", "json")
    content: dict[str, Any] = json.loads(out)
    return content


class TestShow:
    def test_offsets_of_checkpoint_group_and_topic(self, kafka: Kafka, tmp_path: Path) -> None:
        topic, group = kafka.create_topic("shown", partitions=2), unique("group")
        kafka.produce(topic, [Given(str(number), key=str(number), partition=0) for number in range(5)])
        service = Service(tmp_path, content_of(kafka, tmp_path, topic, group))

        before = shown(service)
        assert (before["group"], before["batch"], before["replayable_since_ms"]) == (group, None, None)
        nothing = {"acknowledged": None, "group": None, "log_start": 0, "lost": 0, "topic": topic}
        assert before["partitions"] == [
            nothing | {"partition": 0, "log_end": 5, "lag": 5},
            nothing | {"partition": 1, "log_end": 0, "lag": 0},
        ]

        folder = service.checkpoint(PIPELINE).folder
        acknowledge(folder, 3, {topic: {0: 2, 1: 0}})
        (folder / "times").mkdir()
        (folder / "times" / "3").write_text("1763899200000")
        after = shown(service)
        assert (after["batch"], after["batch_time_ms"], after["uncommitted"]) == (3, 1763899200000, None)
        assert [(each["acknowledged"], each["lag"]) for each in after["partitions"]] == [(2, 3), (0, 0)]

        text, summary = run_command(service, "offsets", "show", "--pipeline", PIPELINE)
        assert "3 of 2025-11-23T12:00:00.000Z" in text
        assert "lag 3" in summary


class TestReset:
    """A checkpoint with two acknowledged batches of a topic of two partitions, which no service has used."""

    @pytest.fixture
    def service(self, kafka: Kafka, tmp_path: Path) -> Service:
        self.topic, self.group = kafka.create_topic("reset", partitions=2), unique("group")
        kafka.produce(
            self.topic,
            [
                Given(str(number), key=str(number), partition=number % 2, timestamp_ms=NOON_MS + 1000 * number)
                for number in range(10)
            ],
        )
        service = Service(tmp_path, content_of(kafka, tmp_path, self.topic, self.group))
        folder = service.checkpoint(PIPELINE).folder
        for number in range(2):
            acknowledge(folder, number, {self.topic: {0: 2 + number, 1: 1}})
            (folder / "times").mkdir(exist_ok=True)
            (folder / "times" / str(number)).write_text(str(NOON_MS + number))
        self.kept = tmp_path / "data" / "state" / "replaced-checkpoints" / PIPELINE
        return service

    def reset(self, service: Service, to: str, *more: str, code: int = 0) -> tuple[str, str]:
        """Run the command; returns stdout and stderr."""
        chosen = ("--pipeline", PIPELINE, "--to", to)
        return run_command(service, "offsets", "reset", *chosen, *more, code=code)

    def killed_reset(self, service: Service, to: str, point: str) -> None:
        """Run the command until a failpoint kills it."""
        points = {"INGEST_FAILPOINT": f"{point}:1:kill", "INGEST_FAILPOINT_FOLDER": str(service.folder / "points")}
        done = subprocess.run(
            [sys.executable, "-m", "ingest", "offsets", "reset", "-f", str(service.file), "--to", to],
            cwd=service.folder,
            env={**environment(), **points},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == -9, done.stdout + done.stderr

    def acknowledged(self, service: Service) -> list[int]:
        """Acknowledged offsets of the two partitions."""
        return [each["acknowledged"] for each in shown(service)["partitions"]]

    def test_positions(self, service: Service, kafka: Kafka, tmp_path: Path) -> None:
        planned = json.loads(self.reset(service, "earliest", "--dry-run", "--output", "json")[0])
        assert [(each["from"], each["to"]) for each in planned["partitions"]] == [(3, 0), (1, 0)]
        assert self.acknowledged(service) == [3, 1]

        _, notes = self.reset(service, "2025-11-23T12:00:05Z")
        assert "mv " in notes  # how to undo it
        assert self.acknowledged(service) == [3, 2]
        assert kafka.committed(self.group, self.topic) == {0: 3, 1: 2}
        (kept,) = self.kept.iterdir()
        assert CheckpointReader(kept).commits() == [0, 1]
        assert shown(service)["batch"] is None
        assert (service.checkpoint(PIPELINE).folder / "times" / "floor").read_text() == str(NOON_MS + 1)

        listed = tmp_path / "offsets.json"
        listed.write_text(json.dumps({self.topic: {"1": 4}}))
        self.reset(service, str(listed))
        assert self.acknowledged(service) == [3, 4]
        listed.write_text(json.dumps({self.topic: {"1": 6}}))
        assert f"{self.topic}/1 6" in self.reset(service, str(listed), code=2)[1]

        other = unique("connect-hits")
        self.reset(service, f"group:{other}", code=NotFoundError.exit_code)
        with closing(GroupOffsets(KafkaConnection(brokers=kafka.brokers), other)) as offsets:
            offsets.commit({(self.topic, 0): 2})
        self.reset(service, f"group:{other}")
        assert self.acknowledged(service) == [2, 4]

        self.reset(service, "latest")
        assert self.acknowledged(service) == [5, 5]
        self.reset(service, "earliest")
        assert self.acknowledged(service) == [0, 0]
        assert kafka.committed(self.group, self.topic) == {0: 0, 1: 0}
        assert len(list(self.kept.iterdir())) == 5

    def test_events_of_deferred_updates_are_counted_again_only_on_request(
        self, service: Service, kafka: Kafka, tmp_path: Path
    ) -> None:
        content = content_of(kafka, tmp_path, self.topic, self.group)
        service.write(content | {"tables": {"t": {"families": {"colfam": {}}, "updates": {"processor": "count"}}}})
        assert "--recount" in self.reset(service, "earliest", code=2)[1]
        self.reset(service, "latest")
        self.reset(service, "earliest", "--recount")
        assert self.acknowledged(service) == [0, 0]

    def test_recreated_topic_starts_at_the_offsets_of_its_new_records(self, service: Service, tmp_path: Path) -> None:
        folder = service.checkpoint(PIPELINE).folder
        (folder / "topics.json").write_text(json.dumps({self.topic: "of the deleted topic"}))
        found = shown(service)
        assert found["recreated"] == [self.topic]
        assert [(each["acknowledged"], each["lag"]) for each in found["partitions"]] == [(None, 5), (None, 5)]
        listed = tmp_path / "offsets.json"
        listed.write_text(json.dumps({self.topic: {"1": 4}}))
        self.reset(service, str(listed))
        assert self.acknowledged(service) == [0, 4]  # not 3, an offset of the deleted topic
        assert json.loads((folder / "topics.json").read_text())[self.topic] != "of the deleted topic"

    def test_checkpoint_of_a_newer_version_is_refused(self, service: Service) -> None:
        (service.checkpoint(PIPELINE).folder / "format").write_text("2")
        assert "has format 2" in self.reset(service, "earliest", code=5)[1]
        assert not self.kept.exists()

    def test_refused(self, service: Service, kafka: Kafka, tmp_path: Path) -> None:
        lock = FolderLock(service.checkpoint(PIPELINE).folder, kind="checkpoint", hint="")
        with lock:
            assert "in use by" in self.reset(service, "earliest", code=4)[1]
        assert 'nofile.json"' in self.reset(service, "nofile.json", code=3)[1]
        assert "JSON file of offsets" in self.reset(service, "yesterday", code=2)[1]
        content = content_of(kafka, tmp_path, self.topic, self.group)
        source = content["pipelines"][PIPELINE]["source"]["kafka"]
        source["topics_pattern"] = f"no-{source.pop('topics')[0]}"
        service.write(content)
        assert "no topic matches" in self.reset(service, "earliest", code=3)[1]
        assert not self.kept.exists()
        service.checkpoint(PIPELINE).remove()
        assert "--start-from" in self.reset(service, "earliest", code=3)[1]

    @pytest.mark.parametrize(("point", "offsets"), [("before_exchange", [3, 1]), ("after_exchange", [0, 0])])
    def test_killed_reset_leaves_the_old_checkpoint_or_the_new_one(
        self, service: Service, point: str, offsets: list[int]
    ) -> None:
        self.killed_reset(service, "earliest", point)
        assert self.acknowledged(service) == offsets
        self.reset(service, "latest")
        assert self.acknowledged(service) == [5, 5]
        # a checkpoint that was never in place is removed
        old = [CheckpointReader(folder).commits() for folder in sorted(self.kept.iterdir())]
        assert old == ([[0, 1]] if point == "before_exchange" else [[0, 1], []])

    @pytest.mark.slow
    @pytest.mark.parametrize("point", ["before_exchange", "after_exchange"])
    def test_service_that_is_killed_within_a_reset_starts_with_one_of_the_checkpoints(
        self, service: Service, tmp_path: Path, point: str
    ) -> None:
        shutil.rmtree(service.checkpoint(PIPELINE).folder)
        points = {"INGEST_FAILPOINT": f"{point}:1:kill", "INGEST_FAILPOINT_FOLDER": str(tmp_path / "points")}
        with service:
            service.start(env=points)
            service.wait_for_offsets({0: 5, 1: 5}, PIPELINE, self.topic)
            done = service.command("offsets reset", "--to", "2025-11-23T12:00:06Z")
            assert (done.returncode, "the service has ended" in done.stderr) == (3, True), done.stderr
            assert self.acknowledged(service) == ([5, 5] if point == "before_exchange" else [3, 3])
            service.start()
            self.reset(service, "2025-11-23T12:00:08Z")
            service.wait_for_offsets({0: 5, 1: 5}, PIPELINE, self.topic)
            assert service.stop() == 0, service.last_lines()
        times = {key: cells[0].timestamp_ms for key, cells in rocksdb_table(tmp_path / "store", "t").items()}
        assert len(times) == 10
        first = min(times.values())
        again = {b"8", b"9"} if point == "before_exchange" else {b"6", b"7", b"8", b"9"}
        assert again >= {key for key, time_ms in times.items() if time_ms > first} >= {b"8", b"9"}

    @pytest.mark.slow
    def test_pipeline_starts_at_the_new_offsets_with_later_times(
        self, service: Service, kafka: Kafka, tmp_path: Path
    ) -> None:
        shutil.rmtree(service.checkpoint(PIPELINE).folder)
        with service:
            assert service.run_once() == 0, service.last_lines()
            checkpoint = service.checkpoint(PIPELINE)
            newest = checkpoint.time_ms(checkpoint.commits()[-1])
            self.killed_reset(service, "2025-11-23T12:00:06Z", "after_exchange")
            assert kafka.committed(self.group, self.topic) == {0: 5, 1: 5}
            kafka.produce(self.topic, [Given("new", key="new", partition=0)])
            assert service.run_once() == 0, service.last_lines()
            (batch,) = checkpoint.batches(self.topic)
            assert batch.time_ms > newest
            assert kafka.committed(self.group, self.topic) == {0: 6, 1: 5}
            times = {key: cells[0].timestamp_ms for key, cells in rocksdb_table(tmp_path / "store", "t").items()}
            again = {key for key, time_ms in times.items() if time_ms == batch.time_ms}
            assert again == {b"6", b"7", b"8", b"9", b"new"}

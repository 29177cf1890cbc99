"""Partitions of an archive written again, from a real broker, beside the service that writes them."""

import json
import threading
from pathlib import Path
from typing import Self

import pytest

from tests.support.archived_topic import FIRST_DAY, PIPELINE, SECOND_DAY, ArchivedTopic, rerun
from tests.support.archives import DAY_MS
from tests.support.servers import Given, Kafka
from tests.support.service import Service


class Feeder(threading.Thread):
    """Produces records until the block ends."""

    def __init__(self, archived: ArchivedTopic) -> None:
        super().__init__(name="feeder")
        self._archived = archived
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.wait(1.0):
            self._archived.produce(40)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ending.set()
        self.join()


def test_3c8_partition_is_written_again_beside_the_pipeline(kafka: Kafka, tmp_path: Path) -> None:
    archived = ArchivedTopic(kafka, tmp_path)
    archived.produce(400)
    with Service(tmp_path, archived.content("old")).start() as service:
        service.wait_for_offsets(archived.ends(), PIPELINE, archived.topic)
        first = archived.partition(0).current()
        archived.delete_before(40)
        service.write(archived.content("new"))
        assert "runs another version of pipeline" in rerun(service, FIRST_DAY, code=4)["error"]
        with Feeder(archived):
            done = rerun(service, FIRST_DAY, "--own-process")
        assert (done["before"], archived.partition(0).current()) == (first, done["version"])
        # records that the topic no longer has, and those that the writer has written with its older configuration
        assert done["copied"] == 40
        assert archived.labels(0)["new"] == done["rows"] >= 160
        assert done["dropped"] == {"other_partition": done["records"] - done["rows"]}
        assert archived.labels(1).keys() == {"old"}

        joined = rerun(service, SECOND_DAY, "--keep", command="archive join")
        assert (joined["files_written"], joined["files_read"] > 1) == (1, True)
        assert service.command("reload").returncode == 0
        with Feeder(archived):
            done = rerun(service, SECOND_DAY)
        assert archived.partition(1).current() == done["version"]
        assert archived.labels(1)["new"] >= done["rows"] >= 160
        ended = [(each["kind"], each["state"]) for each in json.loads(service.get("/jobs")[1])["jobs"]]
        assert ended == [("archive-join", "done"), ("archive-rerun", "done")]
        service.wait_for_offsets(archived.ends(), PIPELINE, archived.topic)
        assert service.stop() == 0, service.last_lines()
    archived.assert_complete()
    assert not list((tmp_path / "archive" / "customer" / "_reruns").iterdir())


@pytest.mark.slow
def test_rows_that_fail_now_keep_the_current_version(kafka: Kafka, tmp_path: Path) -> None:
    archived = ArchivedTopic(kafka, tmp_path)
    archived.produce(40)
    with Service(tmp_path, archived.content()) as service:
        assert service.run_once() == 0, service.last_lines()
        current = archived.partition(0).current()
        content = archived.content()
        (sink,) = content["pipelines"][PIPELINE]["sinks"]
        sink["archive"]["columns"]["name"] = {"value": "%{none}", "on_missing": "error"}
        service.write(content)
        refused = rerun(service, FIRST_DAY, code=1)
        assert "fails now for 20 records that have rows in the current version" in refused["error"]
        assert archived.partition(0).current() == current
        empty = rerun(service, "20151201", code=3)
        assert "no event of pipeline" in empty["error"]
        assert not (tmp_path / "archive" / "customer" / "dt=20151201").exists()
        again = rerun(service, FIRST_DAY, "--from", "2015-12-12T00:00:00Z", code=3)
        assert "has acknowledged no record of this range" in again["error"]
    archived.assert_complete()


@pytest.mark.slow
def test_dead_letters_that_cannot_be_read_keep_the_current_version(kafka: Kafka, tmp_path: Path) -> None:
    archived = ArchivedTopic(kafka, tmp_path)
    archived.produce(40)
    kafka.produce(archived.topic, [Given("no number", partition=0, timestamp_ms=DAY_MS)])
    content = archived.content()
    (sink,) = content["pipelines"][PIPELINE]["sinks"]
    sink["archive"]["columns"]["name"] = {"value": "%{body}", "type": "int32"}
    with Service(tmp_path, content) as service:
        assert service.run_once() == 0, service.last_lines()
        current = archived.partition(0).current()
        (letters,) = tmp_path.rglob("dead-letters/*/*.jsonl")
        letters.write_text("damaged\n")
        assert letters.name in rerun(service, FIRST_DAY, code=5)["error"]
        assert archived.partition(0).current() == current
    archived.assert_complete()

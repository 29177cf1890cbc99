"""Counters after deleted records, a removed sink, and a rollback of a replayed dead letter, against a real broker."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition

from ingest.formats.times import moment
from tests.support.commands import Folder
from tests.support.names import unique
from tests.support.servers import Given, Kafka

FILE = "pipeline.yaml"
CORRECTION = {"replace": {"text": "x", "replacement": "5"}}


class Counters:
    """A pipeline with two counters; the second one takes numbers only."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka, self.folder = kafka, folder
        self.topic, self.group = kafka.create_topic("counted"), unique("group")
        self.ingest = Folder(folder)

    def write(self, labels: Sequence[str] = ("la", "lb"), *decorators: Any) -> None:
        """Write the file."""
        content = {
            "version": 1,
            "state_dir": str(self.folder / "state"),
            "service": {"http": {"listen": "127.0.0.1:0"}},
            "stores": {"s": {"rocksdb": {"path": str(self.folder / "store")}}},
            "tables": {
                "hits": {"families": {"c": {}}, "updates": {"processor": "count"}},
                "sums": {"families": {"c": {}}, "updates": {"processor": "sum"}},
            },
            "pipelines": {
                "p": {
                    "source": {"kafka": {"brokers": self.kafka.brokers, "topics": [self.topic], "group": self.group}},
                    "decorators": [*decorators, {"template": {"attributes": {"2hb_": "row", "2hb_c:n": "%{body}"}}}],
                    "sinks": [
                        {"attr2hbase": {"table": table, "label": label}}
                        for table, label in zip(("hits", "sums"), labels, strict=True)
                    ],
                }
            },
        }
        (self.folder / FILE).write_text(json.dumps(content))

    def produce(self, *bodies: str) -> None:
        """Produce records."""
        self.kafka.produce(self.topic, [Given(body, key="k") for body in bodies])

    def run(self, *options: str, code: int = 0) -> str:
        """Run the pipeline until the topic is read; returns stderr."""
        return str(self.ingest("run", "--once", FILE, *options, code=code).stderr)

    def replay_letters(self, code: int = 0) -> dict[str, Any]:
        """Replay the dead letters; returns the result."""
        done = self.ingest("dead-letters", "replay", "-f", FILE, "--output", "json", code=code)
        return dict(json.loads(done.stdout))

    def letter_time(self) -> str:
        """The time of the micro-batch of the dead letter."""
        listed = self.ingest("dead-letters", "list", "-f", FILE, "--all", "--output", "json").stdout
        return moment(json.loads(listed.splitlines()[0])["batch_time_ms"])

    def follow(self, errors: str, command: str, *more: str) -> None:
        """Run the command that a hint names."""
        found = re.search(rf"'attr2hbase ({command} [^']*)'", errors)
        assert found is not None, errors
        self.ingest(*shlex.split(found[1]), *more)

    def counted(self) -> list[str]:
        """The values of the row in both tables."""
        found = []
        for table in ("hits", "sums"):
            line = json.loads(self.ingest("get", "-f", FILE, table, "row", "--output", "json").stdout)
            [[_family, _qualifier, _time_ms, value]] = line["cells"]
            found.append(str(value))
        return found


@pytest.fixture
def counters(kafka: Kafka, tmp_path: Path) -> Counters:
    made = Counters(kafka, tmp_path)
    made.write()
    return made


@pytest.mark.slow
def test_each_event_counts_once_though_hints_are_followed_blindly(counters: Counters) -> None:
    counters.produce("1", "x", "2")
    counters.run("--start-from", "earliest")
    assert counters.counted() == ["3", "3"]
    counters.write(("la", "renamed"), CORRECTION)
    skipped = counters.replay_letters(code=1)
    assert skipped["skipped"] == {"sink_unknown": 1}
    counters.write(("la", "lb"), CORRECTION)
    assert counters.replay_letters()["replayed"] == 1
    assert counters.counted() == ["3", "8"]

    time = counters.letter_time()
    counters.ingest("rollback", "-f", FILE, "sums", "--from", time, "--to", time, "--yes")
    range_of_all = ("--from", "1970-01-01", "--to", "2100-01-01", "--sink", "lb")
    refused = counters.ingest("replay", "-f", FILE, *range_of_all, code=4).stderr
    counters.follow(refused, "rollback", "--yes")
    counters.ingest("replay", "-f", FILE, *range_of_all)
    assert counters.counted() == ["3", "8"]

    counters.produce(*"111111")
    with counters.kafka.admin() as admin:  # like retention
        admin.delete_records({TopicPartition(counters.topic, 0): 7})
    lost = counters.run(code=1)
    assert "position_lost" in lost
    counters.follow(lost, "offsets reset")
    counters.run()
    assert counters.counted() == ["5", "10"]

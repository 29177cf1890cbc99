"""`attr2hbase run` before Spark: what a user sees first. Without Java the command ends there."""

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from kafka.structs import OffsetAndMetadata, TopicPartition

from ingest import cli
from ingest.kafka import admin, offsets
from ingest.kafka.settings import KafkaConnection
from ingest.service import run

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2]), "JAVA_HOME": "/nowhere", "TERM": "xterm"}
SAID = "Spark is starting, which takes some seconds"


def lines(log: str) -> list[dict[str, Any]]:
    """The lines of a log, without those for people."""
    return [json.loads(line) for line in log.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("options", [(), ("--once",)])
def test_the_first_line_of_the_log_is_that_spark_starts(pipeline: Path, options: tuple[str, ...]):
    command = [sys.executable, "-m", "ingest", "run", *options, "pipeline.yaml"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    first, *_ = lines(done.stderr)
    assert (done.returncode != 0, first["level"], first["message"]) == (True, "info", "Spark is starting")
    assert SAID not in done.stdout + done.stderr  # no terminal waits for it


class Cluster:
    """Kafka, whose groups have an offset of the topic "ticks", and perhaps a member."""

    members: ClassVar[list[dict[str, str]]] = []

    def __init__(self, connection: KafkaConnection) -> None:
        self.brokers = connection.brokers

    def describe_cluster(self) -> dict[str, Any]:
        return {"cluster_id": "c"}

    def list_group_offsets(self, group: str) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        return {group: {TopicPartition("ticks", 0): OffsetAndMetadata(7, "", None)}}

    def describe_groups(self, groups: list[str]) -> dict[str, Any]:
        return {group: {"error": None, "members": self.members} for group in groups}

    def close(self) -> None:
        """Nothing to close."""


class TestBeforeSpark:
    """A start that is refused is refused before Spark starts, which takes half a minute on a busy machine."""

    TEXT = """\
version: 1
stores: {s: {rocksdb: {path: store}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:1", topics: [ticks]}}
    decorators: [value: {attribute: "2hb_", value: "%{key}"}]
    sinks: [attr2hbase: {table: t}]
"""

    @pytest.fixture
    def started(self, ingest, folder, monkeypatch):
        def no_spark(*_arguments: object, **_options: object) -> None:
            raise AssertionError("Spark was started")

        monkeypatch.setattr(admin, "admin_client", Cluster)
        monkeypatch.setattr(offsets, "admin_client", Cluster)
        monkeypatch.setattr(run, "open_session", no_spark)
        (folder / "p.yaml").write_text(self.TEXT)
        return lambda *options: ingest("run", "--once", "p.yaml", *options)

    def test_position_must_be_chosen(self, started):
        result = started()
        assert (result.code, "there is no checkpoint" in result.err) == (3, True)

    def test_members_of_the_group_must_end(self, started, monkeypatch):
        monkeypatch.setattr(Cluster, "members", [{"client_id": "connector", "client_host": "/10.0.0.7"}])
        for position in ("group", "group:connect-hits"):
            result = started("--start-from", position)
            assert (result.code, "active member, which would read the same records" in result.err) == (1, True)

    def test_checkpoint_of_other_topics(self, started, folder):
        checkpoint = folder / "data" / "state" / "checkpoints" / "p"
        (checkpoint / "sources" / "0").mkdir(parents=True)
        (checkpoint / "sources" / "0" / "0").write_text('v1\n{"other":{"0":3}}')
        (checkpoint / "identity.json").write_text('{"source": "kafka", "cluster": "c", "topics": "other"}')
        # a start position is for a pipeline without a checkpoint
        result = started("--start-from", "group")
        assert (result.code, 'was made for topics "other"' in result.err) == (4, True)
        assert "the pipeline resumes at its checkpoint" in result.err


@pytest.mark.parametrize("redirected", [False, True], ids=["terminal", "log-in-a-file"])
def test_a_user_at_a_terminal_is_told_also_if_the_log_is_redirected(pipeline: Path, redirected: bool):
    reading, writing = pty.openpty()
    with (pipeline / "run.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ingest", "run", "--once", "pipeline.yaml"],
            env=ENVIRONMENT,
            stdin=writing,
            stdout=writing,
            stderr=log if redirected else writing,
        )
        os.close(writing)
        shown = b""
        with suppress(OSError):  # the end of the terminal
            while piece := os.read(reading, 65536):
                shown += piece
        process.wait()
        os.close(reading)
    assert shown.decode().count(SAID) == 1
    assert SAID not in (pipeline / "run.log").read_text()


@pytest.mark.parametrize(("level", "shown"), [("error", []), ("info", ["Spark is starting"])])
def test_level_of_the_log_is_an_option(pipeline: Path, level: str, shown: list[str]):
    file = pipeline / "pipeline.yaml"
    file.write_text(file.read_text() + "service: {log: {level: warning}}\n")
    command = [sys.executable, "-m", "ingest", "run", "--log-level", level, "pipeline.yaml"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert [line["message"] for line in lines(done.stderr) if line["level"] == "info"][:1] == shown


def test_an_unknown_level_is_refused(ingest, pipeline: Path):
    result = ingest("run", "--log-level", "loud", "pipeline.yaml")
    assert (result.code, "'debug'" in result.err) == (2, True)

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ingest import cli, server_kinds
from ingest.api import ConfigError, FamilySpec, TableSpec
from ingest.doctor import connecting
from ingest.kafka import admin, offsets
from ingest.kafka.settings import KafkaConnection
from ingest.service.endpoint.address import ServiceAddress
from sinks.owning.committed_position import OWNER
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.row_format import UPDATES

TEN_MISTAKES = """\
version: 1
stores:
  logs: {rocksdb: {path: ./data, sink: true}}
pipelines:
  ticks:
    source: {kafak: {brokers: "localhost:9092", topics: [ticks]}}
    decorators:
      - split: {separator: "(", index: 0, attribute: a}
      - split: {separator: ":", attribute: b}
      - value: {attribute: c, value: "%{key"}
      - regexp: {pattern: x}
    sinks:
      - attr2hbase: {store: lgs, table: mytable, write_buffer_size: 2}
    on_error: maybe
    on_error: drop
    trigger: {every: "5"}
"""


def test_all_problems_are_reported_with_their_lines(ingest, folder):
    (folder / "p.yaml").write_text(TEN_MISTAKES)
    result = ingest("validate", "p.yaml", "--output", "json")
    found = [(problem["line"], problem["kind"]) for problem in result.json["problems"]]
    assert (result.code, result.json["valid"]) == (2, False)
    assert found == [
        (3, "unknown-field"),
        (6, "unknown-component"),
        (8, "bad-pattern"),
        (9, "conflict"),
        (10, "bad-expression"),
        (11, "unknown-component"),
        (13, "unknown-reference"),
        (13, "bad-unit"),
        (14, "not-one-of"),
        (15, "duplicate-key"),
        (16, "bad-unit"),
    ]


def test_problems_as_text(ingest, folder):
    (folder / "p.yaml").write_text(TEN_MISTAKES)
    result = ingest("validate", "p.yaml")
    assert (result.code, result.out) == (2, "")
    assert 'p.yaml:6:14: unknown-component: there is no source "kafak"; did you mean "kafka"?\n' in result.err
    assert result.err.endswith("11 errors\n")


def test_valid_file_exits_with_0(ingest, pipeline):
    result = ingest("validate", "pipeline.yaml")
    assert (result.code, result.out) == (0, "")
    assert result.err == "pipeline.yaml: fine, 1 pipeline, 2 tests\nnext: attr2hbase test\n"


def test_valid_file_as_json(ingest, pipeline):
    result = ingest("validate", "pipeline.yaml", "--output", "json")
    assert (result.json, result.err) == ({"valid": True, "problems": []}, "")


class TestWarnings:
    @pytest.fixture
    def warned(self, pipeline):
        text = (pipeline / "pipeline.yaml").read_text()
        (pipeline / "p.yaml").write_text(text + "chains: {spare: [null_deco]}\n")

    def test_file_with_warnings_can_run(self, ingest, warned):
        result = ingest("validate", "p.yaml")
        assert (result.code, "unused: warning: " in result.err, "fine" in result.err) == (0, True, False)
        assert "p.yaml: can run, 1 warning, 1 pipeline, 2 tests\n" in result.err

    def test_strict_refuses_warnings(self, ingest, warned):
        result = ingest("validate", "p.yaml", "--strict")
        assert (result.code, "can run" in result.err) == (2, False)
        assert result.err.endswith("error[config]: 1 warning in p.yaml\n  hint: correct them, or omit --strict\n")

    def test_strict_as_json(self, ingest, warned):
        assert ingest("validate", "p.yaml", "--output", "json").json["valid"]
        result = ingest("validate", "p.yaml", "--strict", "--output", "json")
        (problem,) = result.json["problems"]
        assert (result.code, result.json["valid"], problem["kind"]) == (2, False, "unused")

    def test_strict_accepts_a_file_without_warnings(self, ingest, pipeline):
        assert ingest("validate", "pipeline.yaml", "--strict").code == 0


class TestConnect:
    def test_missing_store_and_existing_files(self, ingest, pipeline):
        result = ingest("validate", "pipeline.yaml", "--connect")
        assert result.code == 0
        assert 'store "logs": does not exist yet, the first write creates it' in result.out
        assert 'source of pipeline "ticks": 2 files' in result.out

    def test_missing_files_are_reported_with_their_location(self, ingest, pipeline):
        text = (pipeline / "pipeline.yaml").read_text()
        (pipeline / "p.yaml").write_text(text.replace("./ticks", "./tocks"))
        result = ingest("validate", "p.yaml", "--connect")
        assert result.code == 3
        assert 'PROBLEM  source of pipeline "ticks" (p.yaml:' in result.out
        assert 'there is no file at "./tocks"' in result.out

    def test_unavailable_servers_are_reported(self, ingest, folder, unused_port):
        ingest("init", "--template", "hbase")
        text = (folder / "pipeline.yaml").read_text()
        text = text.replace("localhost:9092", f"localhost:{unused_port}")
        text = text.replace("{HBASE_PORT:9090}", f"{{HBASE_PORT:{unused_port}}}")
        (folder / "p.yaml").write_text(text)
        # in another process: clients that could not connect leave sockets to the garbage collector
        command = [sys.executable, "-m", "ingest", "validate", "p.yaml", "--connect", "--output", "json"]
        environment = os.environ | {"PYTHONPATH": str(Path(cli.__file__).parents[2])}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        found = json.loads(done.stdout)
        assert (done.returncode, found["valid"]) == (3, False)
        codes = {answer["what"]: answer["error"]["code"] for answer in found["connections"]}
        assert codes == {
            'store "hbase"': "store_unavailable",
            'source of pipeline "hbase-ticks"': "source_unavailable",
        }

    def test_unresponsive_server_is_reported_after_the_timeout(self, ingest, pipeline, monkeypatch):
        """A service waits three minutes."""
        monkeypatch.setattr(connecting, "CONNECT_TIMEOUT_S", 0.2)
        monkeypatch.setattr(server_kinds, "_ALL_ANSWERS_S", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            text = (pipeline / "pipeline.yaml").read_text()
            text = text.replace("rocksdb: {path: ./data}", f"hbase: {{host: 127.0.0.1, port: {port}}}")
            (pipeline / "p.yaml").write_text(text)
            result = ingest("validate", "p.yaml", "--connect")
        assert result.code == 3
        assert f"no answer from 127.0.0.1:{port} in time" in result.out
        assert "do `transport`, `protocol` and `port` match the server's?" in result.out


class Cluster:
    """A fake Kafka client; topics whose names start with "there" exist."""

    members: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, connection: KafkaConnection) -> None:
        self.brokers = connection.brokers

    def describe_cluster(self) -> dict[str, Any]:
        return {"cluster_id": "c"}

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [
            {"name": name, "error_code": 0 if name.startswith("there") else 3, "partitions": [0, 1]} for name in names
        ]

    def describe_configs(self, resources: list[Any], **_: object) -> dict[str, Any]:
        limit, policy = {"value": "1000"}, {"value": "delete"}
        unlimited, week = {"value": "-1"}, {"value": "604800000"}
        known = {
            "there-dead": {"max.message.bytes": limit, "retention.ms": unlimited, "cleanup.policy": policy},
            "there-a-week": {"max.message.bytes": limit, "retention.ms": week, "cleanup.policy": policy},
        }
        return {"topic": {each.name: known.get(each.name, {}) for each in resources}}

    def list_group_offsets(self, group: str) -> dict[str, Any]:
        part, committed = SimpleNamespace(topic="there-read", partition=0), SimpleNamespace(offset=7, metadata="")
        return {group: SimpleNamespace(items=lambda: [(part, committed)])}

    def describe_groups(self, groups: list[str]) -> dict[str, Any]:
        return {group: {"error": None, "members": self.members} for group in groups}

    def close(self) -> None:
        """Nothing to close."""


def test_next_command_beside_a_running_service_is_a_reload(ingest, pipeline):
    untested = (pipeline / "pipeline.yaml").read_text().partition("\ntests:")[0]
    (pipeline / "pipeline.yaml").write_text(untested)
    assert ingest("validate").err.splitlines()[-1] == "next: attr2hbase run --once"
    address = ServiceAddress(pipeline / "data" / "state")
    address.take()
    try:
        assert ingest("validate").err.splitlines()[-1] == "next: attr2hbase reload"
    finally:
        address.release()
    assert ingest("validate").err.splitlines()[-1] == "next: attr2hbase run --once"


class TestTopics:
    """Topics of the source and of dead letters."""

    TEXT = """\
version: 1
stores: {mem: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "localhost:1", topics: [%s]}}
    sinks: [attr2hbase: {table: t}]
    dead_letters: {kafka: {topic: %s}}
"""

    @pytest.fixture
    def validated(self, ingest, folder, monkeypatch):
        monkeypatch.setattr(admin, "admin_client", Cluster)
        monkeypatch.setattr(offsets, "admin_client", Cluster)

        def validate(topic, dead_letter_topic, *more):
            (folder / "p.yaml").write_text(self.TEXT % (topic, dead_letter_topic))
            return ingest("validate", "p.yaml", "--connect", *more)

        return validate

    def test_existing_topics_are_described(self, validated):
        result = validated("there", "there-dead")
        assert result.code == 0
        assert 'fine     source of pipeline "p": 1 topic, 2 partitions' in result.out
        assert 'fine     dead-letter topic of pipeline "p": records of at most 1000 bytes' in result.out
        assert "WARNING" not in result.out

    def test_dead_letters_in_the_topic_of_a_sink_are_refused_whatever_the_brokers_are_called(
        self, validated, folder, monkeypatch
    ):
        there = ", brokers: '127.0.0.1:2'"
        sink = f"sinks: [{{kafka: {{topic: there-dead{there}}}}}, attr2hbase: {{table: t}}]"
        monkeypatch.setattr(self, "TEXT", self.TEXT.replace("sinks: [attr2hbase: {table: t}]", sink), raising=False)
        result = validated("there", "there-dead")
        assert result.code == ConfigError.exit_code
        assert 'dead letters are written to "there-dead", and so are the records of the sink kafka' in result.out

    def test_retention_of_the_dead_letter_topic_is_a_warning(self, validated):
        result = validated("there", "there-a-week")
        assert result.code == 0
        assert (
            'fine     dead-letter topic of pipeline "p": records of at most 1000 bytes\n'
            'WARNING  dead-letter topic of pipeline "p" (p.yaml:7:20): '
            'topic "there-a-week" deletes dead letters: retention.ms is 604800000\n'
            "         run 'kafka-configs.sh --alter --entity-type topics --entity-name there-a-week "
            "--add-config retention.ms=-1'\n"
        ) in result.out
        assert validated("there", "there-a-week", "--strict").code == 2
        result = validated("there", "there-a-week", "--output", "json")
        *_, source, dead_letters = result.json["connections"]
        assert (result.code, source["warning"]) == (0, None)
        assert dead_letters["warning"]["message"].endswith("retention.ms is 604800000")
        assert dead_letters["warning"]["hint"].endswith("--add-config retention.ms=-1'")

    def test_offsets_of_a_group_without_a_checkpoint_are_a_warning(self, validated, folder):
        """As after another pipeline of the same name: a start without options would be refused."""
        result = validated("there-read", "there-dead")
        assert result.code == 0
        warning = (
            'WARNING  source of pipeline "p" (p.yaml:5:14): group "attr2hbase-p" has acknowledged offsets, but there '
        )
        assert warning in result.out
        advice = "restore the folder, or choose where to resume: 'attr2hbase run --start-from group|"
        assert f"         {advice}" in result.out
        assert validated("there-read", "there-dead", "--strict").code == 2
        planned = folder / "data" / "state" / "checkpoints" / "p" / "offsets" / "0"
        assert result.err.splitlines()[-1].startswith("p.yaml: can run, ")  # and no command that would be refused
        planned.parent.mkdir(parents=True)
        planned.touch()
        assert "WARNING" not in validated("there-read", "there-dead").out

    def test_members_of_the_group_are_a_warning(self, validated, monkeypatch):
        """The connector whose place the pipeline takes still runs."""
        members = [{"client_id": f"connector-{number}", "client_host": "/10.0.0.7"} for number in range(7)]
        monkeypatch.setattr(Cluster, "members", members)
        found = validated("there-read", "there-dead").out
        assert 'group "attr2hbase-p" has 7 active members, which would read the same records: connector-0' in found
        assert "connector-4 at 10.0.0.7 and 2 more" in found
        assert "wait until they have left the group" in found

    def test_other_topics_than_those_of_the_checkpoint_are_a_warning(self, validated, folder):
        checkpoint = folder / "data" / "state" / "checkpoints" / "p"
        (checkpoint / "offsets").mkdir(parents=True)
        (checkpoint / "offsets" / "0").touch()
        identity = {"source": "kafka", "cluster": "c", "topics": "there"}
        (checkpoint / "identity.json").write_text(json.dumps(identity))
        assert "WARNING" not in validated("there", "there-dead").out
        result = validated("there, there-too", "there-dead")
        assert 'was made for topics "there", the configuration says "there,there-too"' in result.out
        assert "'attr2hbase offsets reset --to remaining'" in result.out
        assert result.err.splitlines()[-1].startswith("p.yaml: can run, ")

    def test_missing_topics_are_reported(self, validated):
        result = validated("ticks", "ticks-dead")
        assert result.code == 3
        for location, what, topic, command in (
            ("5:14", "source", "ticks", "produce --events EVENTS"),
            ("7:20", "dead-letter topic", "ticks-dead", "admin dead-letters create-topic"),
        ):
            assert (
                f'PROBLEM  {what} of pipeline "p" (p.yaml:{location}): no topic "{topic}" in the cluster\n'
                f"         check the name, and the cluster at localhost:1; 'attr2hbase {command}' creates the topic\n"
            ) in result.out


OWNED = """\
version: 1
stores: {local: {rocksdb: {path: ./rows}}}
tables: {counters: {families: {c: {}}, updates: {processor: sum}}}
pipelines:
  counting:
    source: {files: {path: ./in}}
    decorators: [value: {attribute: "2hb_", value: "%{body}"}, value: {attribute: "2hb_c:hits", value: "1"}]
    sinks: [attr2hbase: {table: counters}]
"""


@pytest.mark.parametrize(("owner", "code"), [("counting", 0), ("another", 4)])
def test_table_that_another_pipeline_owns_is_a_problem(ingest, folder, owner, code):
    (folder / "p.yaml").write_text(OWNED)
    (folder / "in").mkdir()
    (folder / "in" / "a.log").write_text("k\n")
    store = RocksDBStore(RocksDBSettings(path="./rows"))
    store.open()
    store.ensure_table(TableSpec("counters", (FamilySpec(b"c"),)))
    store.set_property("counters", UPDATES, None, '{"processor":"sum"}')
    store.set_property("counters", OWNER, None, owner)
    store.close()
    for command in (("validate", "p.yaml", "--connect"), ("doctor", "p.yaml", "--fail-on", "critical")):
        result = ingest(*command)
        problem = f'pipeline "{owner}" owns table "counters" with its deferred updates'
        assert (problem in result.out) == (code != 0)
        assert ("run with --take-over" in result.out) == (code != 0)
        assert result.code == (code if command[0] == "validate" else 0)


def test_file_may_be_stdin(ingest, pipeline, monkeypatch):
    text = (pipeline / "pipeline.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert ingest("validate", "-").code == 0


def test_json_error_contains_the_problems(ingest, folder):
    (folder / "p.yaml").write_text("version: 2\n")
    error = json.loads(ingest("explain", "p.yaml", "--output", "json").err)["error"]
    assert error["problems"][0]["line"] == 1


PLUGIN = """
from ingest.api import Decorator, Example, NotFoundError, Settings


class Reader(Decorator[Settings]):
    "Reads zones."

    kind = "reader"
    examples = (Example("nothing"), Example("nothing again"))

    def split_start(self):
        raise NotFoundError("there is no file of zones")

    def decorate(self, event):
        return True
"""


@pytest.mark.parametrize("command", ["validate", "explain", "test"])
def test_decorator_that_cannot_start_a_split_is_reported(ingest, folder, command):
    (folder / "zone_plugin.py").write_text(PLUGIN)
    content = """\
version: 1
plugins: [zone_plugin]
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: in}}
    decorators: [reader: {label: zones}]
    sinks: [attr2hbase: {table: t}]
tests: [{name: any, given: [{body: x}], expect: {}}]
"""
    (folder / "p.yaml").write_text(content)
    result = ingest(command, "p.yaml")
    assert (result.code, '"zones": there is no file of zones' in result.err) == (3, True)

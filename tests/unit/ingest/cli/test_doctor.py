"""`attr2hbase doctor`: this machine, the ways to the servers of a file, and what is behind them."""

import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ingest import cli
from ingest.api import FamilySpec, Put, TableSpec
from ingest.clock import now_ms
from ingest.doctor.pipelines import guide
from ingest.kafka import admin, offsets
from ingest.kafka.settings import KafkaConnection
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution

ROOT = Path(cli.__file__).resolve().parents[2]
FILE = """\
version: 1
stores: {mem: {memory: {}}}
pipelines:
  p:
    source: {kafka: {brokers: "127.0.0.1:%d", topics: [ticks]%s}}
    sinks: [attr2hbase: {table: t}]
"""


@pytest.fixture
def port():
    """A port that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


class Cluster:
    """A fake Kafka client: a topic with one partition of 100 records, and a group that has read 80 of them."""

    version: ClassVar[tuple[int, ...]] = (4, 1)
    features: ClassVar[dict[str, Any]] = {}
    operations: ClassVar[list[str] | None] = ["READ", "WRITE", "DESCRIBE"]
    settings: ClassVar[dict[str, str]] = {
        "max.message.bytes": "1048588",
        "max.decompressed.message.bytes": "1114112",
        "retention.ms": "604800000",
        "cleanup.policy": "delete",
    }
    advertised: ClassVar[tuple[str, int]] = ("", 0)
    earliest: ClassVar[int] = 0
    behind_ms: ClassVar[int] = 0
    young: ClassVar[int] = 10

    def __init__(self, connection: KafkaConnection) -> None:
        host, _, port = connection.brokers.rpartition(":")
        self.address = self.advertised if self.advertised[1] else (host, int(port))

    def describe_cluster(self) -> dict[str, Any]:
        return {
            "cluster_id": "abc",
            "brokers": [{"broker_id": 1, "host": self.address[0], "port": self.address[1]}],
        }

    def get_broker_version_data(self, broker: int) -> Any:
        assert broker == 1
        return SimpleNamespace(broker_version=self.version)

    def describe_metadata_quorum(self) -> dict[str, Any]:
        leader = {"replica_id": 1, "last_caught_up_timestamp": now_ms() - self.behind_ms}
        return {"topics": [{"partitions": [{"leader_id": 1, "current_voters": [leader]}]}]}

    def describe_features(self) -> dict[str, Any]:
        return self.features

    def describe_topics(self, names: list[str]) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "error_code": 0 if name.startswith("ticks") else 3,
                "partitions": [0],
                "authorized_operations": self.operations,
            }
            for name in names
        ]

    def describe_groups(self, names: list[str]) -> dict[str, Any]:
        return {name: {"error": None, "authorized_operations": self.operations} for name in names}

    def describe_configs(self, resources: list[Any], **_: object) -> dict[str, Any]:
        return {
            "topic": {each.name: {key: {"value": text} for key, text in self.settings.items()} for each in resources}
        }

    def list_partition_offsets(self, specs: dict[Any, int], **_: object) -> dict[Any, Any]:
        known = {-2: self.earliest, -1: 100}
        return {part: SimpleNamespace(offset=known.get(int(spec), self.young)) for part, spec in specs.items()}

    def list_group_offsets(self, group: str) -> dict[str, Any]:
        part = SimpleNamespace(topic="ticks", partition=0)
        return {group: HashableParts({"ticks": (part, SimpleNamespace(offset=80, metadata=""))})}

    def close(self) -> None:
        """Nothing to close."""


class HashableParts(dict):
    """Offsets by partition, like those of kafka-python."""

    def items(self):
        return list(self.values())


@pytest.fixture
def examined(ingest, folder, port, monkeypatch):
    """The result of `doctor` for a file, with a checkpoint, that reads from a fake cluster with these attributes."""
    planned = folder / "data" / "state" / "checkpoints" / "p" / "offsets" / "0"
    planned.parent.mkdir(parents=True)
    planned.touch()

    def run(*arguments, options="", **attributes):
        fake = type("Fake", (Cluster,), attributes)
        monkeypatch.setattr(admin, "admin_client", fake)
        monkeypatch.setattr(offsets, "admin_client", fake)
        (folder / "p.yaml").write_text(FILE % (port, options))
        return ingest("doctor", "p.yaml", "--output", "json", *arguments)

    return run


def of_kafka(result):
    """Check -> severity and message, without those of this machine."""
    local = {"python", "spark", "java", "jars", "open_files", "memory", "disk"}
    return {
        each["check"]: (each["severity"], each["message"])
        for each in result.json["findings"]
        if each["check"] not in local
    }


def test_everything_behind_a_file_is_checked_in_order(examined):
    result = examined()
    assert of_kafka(result) == {}
    passed = {(each["check"], each["subject"].partition(" ")[0]): each["found"] for each in result.json["passed"]}
    assert passed["kafka", "Kafka"] == "cluster abc"
    assert passed["kafka_version", "Kafka"] == "Kafka 4.1"
    assert passed["source", "source"] == "1 topic, 1 partition"
    assert passed["topic_rights", "source"] == "may READ 1 topic"
    assert passed["group", "source"] == 'may READ group "attr2hbase-p"'
    assert passed["retention", "source"] == "20 unread records"
    assert passed["record_size", "source"] == "records of at most 1.00 MiB"
    order = [each["check"] for each in result.json["passed"]]
    assert order[-14:] == [
        "disk",
        "names",
        "ports",
        "kafka",
        "kafka_version",
        "clock",
        "listeners",
        "store",
        "source",
        "topic_rights",
        "group",
        "retention",
        "record_size",
        "decompressed_size",
    ]


def test_each_finding_links_to_a_section_of_the_guide(examined):
    settings = {**Cluster.settings, "max.message.bytes": "2000000", "max.decompressed.message.bytes": "2147483639"}
    result = examined(operations=["DESCRIBE"], young=90, version=(2, 0), settings=settings)
    headings = {
        line.removeprefix("### ").strip("`")
        for line in (ROOT / guide.GUIDE).read_text().splitlines()
        if line.startswith("### ")
    }
    docs = {each["docs"] for each in result.json["findings"]}
    assert {
        f"{guide.GUIDE}#{check}" for check in ("topic_rights", "group", "retention", "record_size", "decompressed_size")
    } <= docs
    assert {each.partition("#")[2] for each in docs} <= headings
    assert {each["check"] for each in result.json["passed"]} <= headings


def test_missing_rights_are_errors(examined):
    result = examined(operations=["DESCRIBE"])
    assert (result.code, of_kafka(result)) == (
        1,
        {
            "topic_rights": ("error", 'no right to READ topic "ticks"'),
            "group": ("error", 'no right to READ group "attr2hbase-p"'),
        },
    )


def test_cluster_without_rights_is_skipped(examined):
    skipped = {each["check"]: each["reason"] for each in examined(operations=None).json["skipped"]}
    assert skipped == {
        "topic_rights": "the cluster does not report rights",
        "group": 'the cluster does not report rights on group "attr2hbase-p"',
    }


@pytest.mark.parametrize(
    ("attributes", "severity"), [({"young": 90}, "error"), ({"young": -1}, "error"), ({"earliest": 81}, "critical")]
)
def test_unread_records_that_are_deleted_soon_are_found(examined, attributes, severity):
    assert of_kafka(examined(**attributes))["retention"][0] == severity


def test_topic_that_keeps_all_records_has_no_retention_to_exceed(examined):
    settings = {**Cluster.settings, "retention.ms": "-1"}
    assert of_kafka(examined(settings=settings, young=90)) == {}


def test_records_that_the_source_refuses_are_a_warning(examined):
    result = examined(options=", max_event_bytes: 1000B")
    assert of_kafka(result)["record_size"][0] == "warning"
    assert examined("--fail-on", "error", options=", max_event_bytes: 1000B").code == 0


def test_settings_that_may_not_be_read_are_skipped(examined):
    skipped = {each["check"]: each["reason"] for each in examined(settings={}).json["skipped"]}
    reason = 'no permission to read the settings of topic "ticks"'
    assert skipped == dict.fromkeys(("retention", "record_size", "decompressed_size"), reason)


def test_offsets_of_a_group_without_a_checkpoint_are_a_warning(examined, folder):
    """As after another pipeline of the same name: a start without options would be refused."""
    (folder / "data" / "state").rename(folder / "moved")
    result = examined()
    severity, message = of_kafka(result)["source"]
    assert (severity, message.startswith('group "attr2hbase-p" has acknowledged offsets, but there is no')) == (
        "warning",
        True,
    )
    (finding,) = (each for each in result.json["findings"] if each["check"] == "source")
    assert ("--start-from group" in finding["hint"], result.code) == (True, 1)
    # what depends on the topic is examined all the same
    assert {"group", "retention"} <= {each["check"] for each in result.json["passed"]}
    assert "source" not in of_kafka(examined(list_group_offsets=lambda _self, group: {group: {}}))


def test_old_cluster_is_a_warning(examined):
    assert of_kafka(examined(version=(2, 7)))["kafka_version"][0] == "warning"


def test_cluster_whose_clock_is_behind_is_a_warning(examined):
    severity, message = of_kafka(examined(behind_ms=3_600_000))["clock"]
    assert (severity, "3,600 s ahead of the cluster's" in message) == ("warning", True)


def test_features_show_the_version_exactly_and_that_of_the_cluster(examined):
    result = examined(version=(4, 0), features={"metadata.version": {"supported": (7, 27), "finalized": (21, 21)}})
    (found,) = (each["found"] for each in result.json["passed"] if each["check"] == "kafka_version")
    assert found == "Kafka 4.1, the cluster uses the features of 3.9 until 'kafka-features.sh upgrade'"


def test_advertised_address_that_cannot_be_reached_is_an_error(examined, unused_port):
    result = examined(advertised=("127.0.0.1", unused_port))
    severity, message = of_kafka(result)["listeners"]
    assert (severity, message.startswith(f"127.0.0.1:{unused_port} does not accept connections")) == ("error", True)


def test_missing_topic_skips_what_depends_on_it(examined, ingest, folder, port):
    examined()
    (folder / "p.yaml").write_text((FILE % (port, "")).replace("[ticks]", "[tocks]"))
    result = ingest("doctor", "p.yaml", "--output", "json")
    assert of_kafka(result) == {"source": ("error", 'no topic "tocks" in the cluster')}
    skipped = {each["check"]: each["reason"] for each in result.json["skipped"]}
    reason = 'check "source" of source of pipeline "p" failed'
    assert skipped == dict.fromkeys(("topic_rights", "group", "retention", "record_size", "decompressed_size"), reason)


def test_dead_letter_topic_is_examined(examined, ingest, folder, port):
    examined(operations=["READ", "DESCRIBE"], earliest=100)
    (folder / "p.yaml").write_text(FILE % (port, "") + "    dead_letters: {kafka: {topic: ticks-dead}}\n")
    result = ingest("doctor", "p.yaml", "--output", "json")
    severity, message = of_kafka(result)["dead_letters"]
    assert (severity, "deletes dead letters" in message) == ("warning", True)
    assert of_kafka(result)["topic_rights"] == ("error", 'no right to WRITE topic "ticks-dead"')
    # one cluster, although two components name it
    assert [each["check"] for each in result.json["passed"]].count("ports") == 1


def test_servers_that_do_not_answer_skip_what_is_behind_them(ingest, folder, unused_port):
    ingest("init", "--template", "hbase")
    text = (folder / "pipeline.yaml").read_text()
    text = text.replace("localhost:9092", f"localhost:{unused_port}")
    text = text.replace("{HBASE_PORT:9090}", f"{{HBASE_PORT:{unused_port}}}")
    (folder / "p.yaml").write_text(text)
    # in another process: no client connects, so none leaves sockets to the garbage collector
    command = [sys.executable, "-m", "ingest", "doctor", "p.yaml", "--output", "json"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, check=False)
    found = json.loads(done.stdout)
    subjects = {each["subject"] for each in found["findings"] if each["check"] == "ports"}
    assert (done.returncode, subjects) == (1, {f"Kafka localhost:{unused_port}", 'store "hbase"'})
    skipped = {each["check"] for each in found["skipped"]}
    assert skipped >= {"kafka", "kafka_version", "listeners", "source", "store", "tables", "retention"}


def test_outcomes_are_a_table_with_hints_below(ingest, folder, unused_port):
    (folder / "p.yaml").write_text(FILE % (unused_port, ""))
    result = ingest("doctor", "p.yaml")
    rows = [" ".join(line.split()) for line in result.out.splitlines()]
    subject = f"Kafka 127.0.0.1:{unused_port}"
    assert f"ports {subject} error 127.0.0.1:{unused_port} does not accept connections: Connection refused" in rows
    assert f'kafka {subject} skipped check "ports" of {subject} failed' in rows
    assert "ports: check that the server runs, its port, and firewalls docs/guides/doctor.md#ports" in rows
    assert (result.code, "1 error, " in result.err, "checks skipped\n" in result.err) == (1, True, True)


def test_local_file_is_fine(ingest, pipeline, monkeypatch):
    result = ingest("doctor", "pipeline.yaml", "--output", "json", "--fail-on", "critical")
    passed = {(each["check"], each["subject"]): each["found"] for each in result.json["passed"]}
    assert result.code == 0
    assert passed["store", 'store "logs"'] == "does not exist yet, the first write creates it"
    assert passed["source", 'source of pipeline "ticks"'] == "2 files"
    assert passed["jars", "source files"] == "needs none"


SALTED = """\
version: 1
stores: {db: {rocksdb: {path: ./db}}}
tables: {t: {families: {f: {}}, distribute: {hash: 16}}, absent: {families: {f: {}}, distribute: {hash: 16}}}
pipelines: {p: {source: {files: {path: ./in.log}}, sinks: [attr2hbase: {table: t}]}}
"""


@pytest.mark.parametrize(
    ("recorded", "rows", "message"),
    [
        (16, [Distribution(16).physical(b"row-1")], None),
        (16, [b"row-1"], "which is in none of its 16 buckets"),
        (8, [], None),
        (8, [Distribution(8).physical(b"row-1")], "has `distribute: {hash: 8}`, but the file says that it has"),
        (None, [b"row-1"], "has no `distribute`, but the file says that it has `distribute: {hash: 16}`"),
    ],
)
def test_rows_of_another_number_of_buckets_are_an_error(ingest, folder, recorded, rows, message):
    (folder / "p.yaml").write_text(SALTED)
    with closing(RocksDBStore(RocksDBSettings(path="./db"))) as store:
        store.open()
        store.ensure_table(TableSpec("t", (FamilySpec(b"f"),), buckets=recorded))
        store.apply("t", [Put(row, {b"f:q": b"v"}, 1) for row in rows])
        content = ingest("doctor", "p.yaml", "--output", "json").json
    found = [each for each in content["findings"] if each["check"] == "tables"]
    assert [each["severity"] for each in found] == ([] if message is None else ["error"])
    assert message is None or message in found[0]["message"]


def test_wrong_file_is_reported_as_by_validate(ingest, folder):
    (folder / "p.yaml").write_text("version: 2\n")
    result = ingest("doctor", "p.yaml")
    assert (result.code, "p.yaml:1:10" in result.err) == (2, True)

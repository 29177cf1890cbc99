"""`doctor` against real servers."""

import json
import random
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic

from ingest.api import IngestError
from ingest.doctor.examination import Found
from ingest.doctor.hbase.jmx import Sample
from ingest.doctor.http import fetched
from ingest.doctor.pipelines.kafka import retention
from ingest.kafka.offsets import GroupOffsets
from ingest.kafka.settings import KafkaConnection
from ingest.sources.kafka import KafkaSourceSettings
from tests.support.in_process import run_here
from tests.support.local import HBaseServer, free_ports, jars
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka
from tests.support.waiting import reached

LOCAL = {"python", "spark", "java", "jars", "open_files", "memory", "disk"}
MINUTE_MS = 60_000


def doctor(*arguments: object) -> tuple[int, dict[str, Any]]:
    """Run the command in this process."""
    return ingest("doctor", *arguments)


def ingest(*arguments: object) -> tuple[int, dict[str, Any]]:
    """Run a command in this process."""
    done = run_here([*map(str, arguments), "--output", "json"], Path.cwd())
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def above_info(found: dict[str, Any]) -> dict[str, str]:
    """Check -> severity, without those of this machine."""
    findings = [each for each in found["findings"] if each["severity"] != "info" and each["check"] not in LOCAL]
    return {each["check"]: each["severity"] for each in findings}


def written(
    folder: Path, *, brokers: str, topics: tuple[str, str], group: str, hbase: tuple[str, int], table: str
) -> Path:
    """From Kafka to HBase and to the topic `NAME.clean`; the second topic is that of dead letters."""
    host, port = hbase
    content = {
        "version": 1,
        "state_dir": str(folder / "state"),
        "stores": {"cluster": {"hbase": {"host": host, "port": port}}},
        "tables": {table: {"families": {"cf": {}}}},
        "pipelines": {
            "p": {
                "source": {"kafka": {"brokers": brokers, "topics": [topics[0]], "group": group}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{key}"}}],
                "sinks": [
                    {"attr2hbase": {"table": table}},
                    {"kafka": {"topic": f"{topics[0]}.clean", "label": "clean"}},
                ],
                "dead_letters": {"kafka": {"topic": topics[1]}},
            }
        },
    }
    file = folder / "pipeline.yaml"
    file.write_text(json.dumps(content))
    return file


@pytest.mark.one_protocol("test_way_to_hbase_is_shown has both")
def test_servers_of_a_file_are_examined(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    topic, dead = kafka.create_topic("ticks"), kafka.create_topic("dead")
    group, table, address = unique("group"), hbase.create_table("web"), (hbase.host, hbase.port)
    with kafka.admin() as admin:
        admin.create_topics([NewTopic(f"{topic}.clean", 1, 1)])
    kafka.produce(topic, [Given(b"1", key=b"k", timestamp_ms=int(time.time() * 1000) - 40 * MINUTE_MS)] * 10)
    file = written(tmp_path, brokers=kafka.brokers, topics=(topic, dead), group=group, hbase=address, table=table)
    _, found = doctor(file)
    assert above_info(found) == {}, found["findings"]
    passed = {each["check"]: each["found"] for each in found["passed"] if each["check"] not in LOCAL}
    assert (passed["source"], passed["sink"]) == ("1 topic, 1 partition", "partitions: 1")
    assert (passed["kafka_version"], passed["tables"]) == ("Kafka 4.1", "1 table can be read")
    assert {"names", "ports", "kafka", "clock", "listeners", "store", "topic_rights", "record_size"} < set(passed)
    # before the first commit, and Thrift does not tell the version
    assert {each["check"] for each in found["skipped"]} == {"group", "retention", "hbase_version"}
    offsets = GroupOffsets(KafkaConnection.model_validate({"brokers": kafka.brokers}), group)
    offsets.commit({(topic, 0): 4})
    offsets.close()
    _, found = doctor(file)
    passed = {each["check"]: each["found"] for each in found["passed"]}
    assert (passed["group"], passed["retention"]) == (f'may READ group "{group}"', "6 unread records")
    _set_retention(kafka, topic, 60 * MINUTE_MS)
    code, found = doctor(file)
    # the group has offsets, and there is no checkpoint
    assert (code, above_info(found)) == (1, {"source": "warning", "retention": "warning"})


def test_records_behind_an_open_transaction_are_unread(kafka: Kafka) -> None:
    topic, group = kafka.create_topic("open"), unique("group")
    settings = KafkaSourceSettings.model_validate({"brokers": kafka.brokers, "topics": [topic]})
    with closing(GroupOffsets(settings, group)) as offsets:
        offsets.commit({(topic, 0): 0})
    with closing(KafkaProducer(bootstrap_servers=kafka.brokers, transactional_id=unique("open"))) as sender:
        sender.init_transactions()
        sender.begin_transaction()
        for _ in range(6):
            sender.send(topic, b"held")
        sender.flush()
        found = retention(settings, group, subject="p")
        sender.abort_transaction()
    assert isinstance(found, Found)
    assert found.text == "6 unread records"


@pytest.mark.parametrize(
    ("protocol", "way", "regions"),
    [("thrift", "a Thrift server", ""), ("rpc", "HBase's native RPC", "1 region on 1 server, below 1 MiB")],
)
def test_way_to_hbase_is_shown(hbase: HBase, tmp_path: Path, protocol: str, way: str, regions: str) -> None:
    table = hbase.create_table("way")
    (tmp_path / "in").write_text("text\n")
    content = {
        "version": 1,
        "state_dir": str(tmp_path / "state"),
        "stores": {"cluster": {"hbase": hbase.store_options(protocol)}},
        "tables": {table: {"families": {"cf": {}}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": str(tmp_path / "in")}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "%{offset}"}}],
                "sinks": [{"attr2hbase": {"table": table}}],
            }
        },
    }
    file = tmp_path / "pipeline.yaml"
    file.write_text(json.dumps(content))
    code, found = ingest("validate", file, "--connect")
    assert code == 0, found
    connected = {each["what"]: each["found"] for each in found["connections"]}['store "cluster"']
    assert connected.endswith(f" through {way}")
    _, found = doctor(file)
    passed = {each["check"]: each["found"] for each in found["passed"]}
    assert passed["store"] == connected
    assert passed["tables"] == "1 table can be read" + (f'; table "{table}" has {regions}' if regions else "")


@pytest.mark.one_protocol("test_way_to_hbase_is_shown has both")
def test_missing_table_and_topic_are_found(kafka: Kafka, hbase: HBase, tmp_path: Path) -> None:
    topics, address = (unique("none"), unique("none")), (hbase.host, hbase.port)
    file = written(
        tmp_path, brokers=kafka.brokers, topics=topics, group=unique("group"), hbase=address, table=unique("none")
    )
    code, found = doctor(file)
    assert (code, above_info(found)) == (
        1,
        {"store": "error", "source": "error", "sink": "error", "dead_letters": "error"},
    )
    content = json.loads(file.read_text())
    (table,) = content.pop("tables")
    file.write_text(json.dumps(content))
    code, found = ingest("validate", file, "--connect")
    assert code == 3, found
    (error,) = [each["error"] for each in found["connections"] if each["what"] == 'store "cluster"']
    assert error["message"] == f'table "{table}" does not exist'
    assert "if it is declared under `tables`; else declare it" in error["hint"]
    # all of them are named, and a template that reads the topic alone names some, too
    (pipeline,) = content["pipelines"].values()

    def checked(*tables: str) -> dict[str, Any]:
        pipeline["sinks"] = [{"attr2hbase": {"table": each, "label": each[:4]}} for each in tables]
        file.write_text(json.dumps(content))
        _, found = ingest("validate", file, "--connect")
        return next(each for each in found["connections"] if each["what"] == 'store "cluster"')

    assert checked(f"a{table}", f"b{table}")["error"]["message"] == f'tables "a{table}", "b{table}" do not exist'
    warning = checked("eu_%{topic}")["warning"]["message"]
    assert warning == f'table "eu_{topics[0]}" does not exist, which a topic of a source names'


def _set_retention(kafka: Kafka, topic: str, retention_ms: int) -> None:
    from kafka.admin import ConfigResource, ConfigResourceType

    with kafka.admin() as admin:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic, configs={"retention.ms": str(retention_ms)})]
        )


GLOBAL = "hbase.regionserver.global.memstore"
WRONG = {
    "M2": {f"{GLOBAL}.size": "0.9"},
    "M3": {f"{GLOBAL}.upperLimit": "0.4"},
    "M4": {f"{GLOBAL}.size.lower.limit": "0.5"},
    "M5": {"hbase.regionserver.hlog.blocksize": str(16 << 20), "hbase.regionserver.maxlogs": "16"},
    "M11": {"hbase.hregion.memstore.flush.size": str(8 << 20)},
    "M19": {"hbase.regionserver.handler.count": "100"},
}
"""Check -> settings with which HBase runs, and that no other check finds."""


@pytest.fixture
def wrong(request: pytest.FixtureRequest, servers_folder: Path) -> Iterator[tuple[str, set[str]]]:
    """The URL of a region server with three wrong settings, and the checks that must find them."""
    chosen = set(random.Random(request.param).sample(sorted(WRONG), 3))
    (port,) = free_ports(1)
    properties = {"hbase.regionserver.info.port": str(port), "hbase.regionserver.info.bindAddress": "127.0.0.1"}
    for check in chosen:
        properties |= WRONG[check]
    server = HBaseServer(servers_folder / unique("wrong"), properties=properties, java_options=jars.SHORT_LIVED)
    url = f"http://127.0.0.1:{port}"
    try:
        server.start_one(server.hbase)
        assert reached(lambda: _has_regions(url), 180)
        yield url, chosen
    finally:
        server.hbase.kill()


def _has_regions(url: str) -> bool:
    try:
        sample = Sample.parse(fetched(f"{url}/jmx"), url=url, at_s=0.0)
    except IngestError:
        return False
    return sample.metrics.get("regionCount", 0) > 0


@pytest.mark.parametrize("wrong", [1, pytest.param(2, marks=pytest.mark.slow)], indirect=True)
def test_wrong_settings_of_a_region_server_are_found(wrong: tuple[str, set[str]], tmp_path: Path) -> None:
    url, chosen = wrong
    address = ("localhost", free_ports(1)[0])
    file = written(tmp_path, brokers="localhost:1", topics=("ticks", "dead"), group="g", hbase=address, table="web")
    load = ("--write-rate", "100KiB", "--regions", "1", "--families", "1")
    code, found = doctor("hbase", file, "--jmx", f"{url}/jmx", "--interval", "1s", *load)
    assert (code, set(above_info(found))) == (1, chosen)
    assert found["inputs"]["heap"]["from"] == "--jmx"
    assert {each["check"] for each in found["skipped"]} == set()
    sample = Sample.parse(fetched(f"{url}/jmx"), url=url, at_s=0.0)
    # without --write-rate and --regions both would be measured
    assert sample.wal_bytes is not None
    assert sample.wal_bytes > 0
    assert sum(sample.region_writes.values()) > 0

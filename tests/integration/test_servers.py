"""The servers of the tests: data is stored, also after a kill."""

from pathlib import Path

import pytest

from tests.support.local import HBaseServer, ServerError, jars
from tests.support.names import unique
from tests.support.servers import Given, HBase, Kafka


def test_kafka_keeps_keys_headers_partitions_and_timestamps(kafka: Kafka) -> None:
    topic = kafka.create_topic("kept", partitions=2)
    assert (
        kafka.produce(
            topic, [Given("a", key="k", headers=[("h", b"1"), ("h", b"")], partition=1, timestamp_ms=7), b"b"]
        )
        == 2
    )
    found = {record.value: record for record in kafka.records(topic)}
    assert (found[b"a"].key, found[b"a"].partition, found[b"a"].timestamp) == (b"k", 1, 7)
    assert list(found[b"a"].headers) == [("h", b"1"), ("h", b"")]
    assert sum(kafka.ends(topic).values()) == 2


def test_killed_kafka_restarts_with_its_records(kafka: Kafka) -> None:
    topic = kafka.create_topic("killed")
    kafka.produce(topic, ["x"])
    kafka.kill()
    kafka.start()
    kafka.produce(topic, ["y"])
    assert [record.value for record in kafka.records(topic)] == [b"x", b"y"]


@pytest.mark.slow
@pytest.mark.one_protocol("the servers of the tests are tested")
def test_killed_hbase_restarts_with_its_rows(hbase: HBase) -> None:
    table = hbase.create_table(unique("killed"), families=["cf"])
    with hbase.connection() as connection:
        connection.table(table).put(b"r", {b"cf:q": b"v"}, timestamp=5)
    hbase.kill()
    hbase.start()
    assert hbase.rows(table) == {b"r": {b"cf:q": (b"v", 5)}}


@pytest.mark.one_protocol("the servers of the tests are tested")
def test_paused_hbase_resumes(hbase: HBase) -> None:
    table = hbase.create_table("paused")
    hbase.pause("thrift")
    hbase.start()
    assert hbase.rows(table) == {}


def test_processes_of_hbase_read_whole_settings_while_others_are_started(tmp_path: Path) -> None:
    server = HBaseServer(tmp_path)
    server.command("Master", heap="1m")
    with (tmp_path / "conf" / "hbase-site.xml").open() as opened:
        server.properties["later"] = "1"
        server.command("ThriftServer", heap="1m")
        assert "later" not in opened.read()
    assert "later" in (tmp_path / "conf" / "hbase-site.xml").read_text()


def test_hbase_that_cannot_start_is_reported_with_its_reason(tmp_path: Path) -> None:
    server = HBaseServer(tmp_path, java_options=jars.SHORT_LIVED, properties={"hbase.rootdir": "nosuch:///"})
    server.start()
    try:
        with pytest.raises(
            ServerError, match=r"hbase ended while it was starting; HBase: .*nosuch.*; see .*hbase\.log"
        ):
            server.wait()
    finally:
        server.stop()

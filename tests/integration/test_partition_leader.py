"""The only leader of a partition is killed: the pipeline reports it long before Spark does."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import NewTopic

from tests.support import by_key
from tests.support.local import KafkaServer, free_ports, jars
from tests.support.names import unique
from tests.support.servers import Given, Kafka
from tests.support.service import Service

SOON_S = 60.0  # the broker is fenced after 3 s, and reported 10 s later; Spark's readers report it after two minutes


def second_broker(first: Kafka, folder: Path) -> KafkaServer:
    """A second broker of the cluster; the first one is the controller."""
    settings = dict(line.split("=", 1) for line in (first.server.folder / "server.properties").read_text().splitlines())
    properties_text = (first.server.folder / "data" / "meta.properties").read_text()
    cluster = next(line for line in properties_text.splitlines() if line.startswith("cluster.id="))
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "meta.properties").write_text(f"version=1\nnode.id=2\n{cluster}\n")
    ports = free_ports(2)
    (folder / "ports.json").write_text(json.dumps(ports))
    properties = {
        "process.roles": "broker",
        "node.id": "2",
        "controller.quorum.voters": settings["controller.quorum.voters"],
        "listeners": f"PLAINTEXT://127.0.0.1:{ports[0]}",
    }
    return KafkaServer(folder, heap="256m", properties=properties, java_options=jars.SHORT_LIVED)


@pytest.fixture
def cluster(servers_folder: Path) -> Iterator[tuple[Kafka, KafkaServer]]:
    """The two brokers."""
    first = Kafka(servers_folder / unique("first"))
    first.start()
    second = second_broker(first, servers_folder / unique("second"))
    try:
        second.start()
        second.wait()
        yield first, second
    finally:
        second.process.kill()
        first.close()


@pytest.mark.slow
def test_partition_without_its_leader_blocks_the_pipeline(cluster: tuple[Kafka, KafkaServer], tmp_path: Path) -> None:
    first, second = cluster
    topic = unique("led")
    with first.admin() as admin:
        admin.create_topics([NewTopic(topic, -1, -1, replica_assignments={0: [1], 1: [2]})])
        admin.wait_for_topics([topic])
    first.produce(topic, [Given("1", key="a", partition=0), Given("2", key="b", partition=1)])
    with Service(tmp_path, by_key.content_of(first, tmp_path, topic, unique("group"))) as service:
        service.start()
        service.wait_for_offsets({0: 1, 1: 1}, by_key.PIPELINE, topic)
        service.wait_for_state("running", by_key.PIPELINE)
        second.process.kill()
        reason = f'no broker leads partition \\"{topic}/1\\"'
        service.wait_for(lambda: reason in service.get("/pipelines")[1], "blocked by the missing leader", SOON_S)
        assert service.states() == {by_key.PIPELINE: "blocked"}
        second.start()
        second.wait()
        service.wait_for_state("running", by_key.PIPELINE, SOON_S)
        first.produce(topic, [Given("3", key="c", partition=1)])
        service.wait_for_offsets({0: 1, 1: 2}, by_key.PIPELINE, topic)
        assert service.stop() == 0, service.last_lines()

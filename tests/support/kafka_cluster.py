"""Three Kafka brokers, the first of which is also the controller."""

from collections.abc import Sequence
from pathlib import Path

from kafka.admin import NewTopic
from kafka.errors import KafkaError

from tests.support.local import KafkaServer, jars, new_cluster_id
from tests.support.names import unique
from tests.support.servers import Kafka

BROKERS = (1, 2, 3)
CONTROLLER = 1


class KafkaCluster:
    """
    Running brokers; the topics of the cluster itself have a replica on each.

    Do not stop broker 1: it is the only controller.
    """

    def __init__(self, folder: Path) -> None:
        self._brokers: dict[int, Kafka] = {}
        cluster, voters = new_cluster_id(), ""
        for node in BROKERS:
            properties = {
                "node.id": str(node),
                "offsets.topic.replication.factor": "3",
                "transaction.state.log.replication.factor": "3",
                "replica.lag.time.max.ms": "3000",
            }
            if node != CONTROLLER:
                properties |= {"process.roles": "broker", "controller.quorum.voters": voters}
            server = KafkaServer(
                folder / f"broker-{node}",
                heap="256m",
                properties=properties,
                java_options=jars.SHORT_LIVED,
                cluster=cluster,
            )
            if node != CONTROLLER:
                properties["listeners"] = f"PLAINTEXT://127.0.0.1:{server.port}"
            else:
                voters = f"{CONTROLLER}@{server.controller}"
            self._brokers[node] = Kafka(folder, server=server)

    def start(self) -> None:
        """Start all brokers; returns when they are ready."""
        for broker in self._brokers.values():
            broker.server.start()
        for broker in self._brokers.values():
            broker.server.wait()

    def broker(self, node: int) -> Kafka:
        """One of the brokers."""
        return self._brokers[node]

    @property
    def brokers(self) -> str:
        """HOST:PORT of all."""
        return ",".join(broker.brokers for broker in self._brokers.values())

    def create_topic(self, name: str, replicas: Sequence[int], config: dict[str, str]) -> str:
        """Create a topic with one partition on these brokers; the first one leads it."""
        topic = unique(name)
        with self._brokers[CONTROLLER].admin() as admin:
            admin.create_topics([NewTopic(topic, replica_assignments={0: list(replicas)}, topic_configs=config)])
            admin.wait_for_topics([topic])
        return topic

    def leader(self, topic: str) -> tuple[int, list[int]]:
        """The broker that leads the partition of a topic, and the replicas in sync; -1 and none if it is not known."""
        try:
            with self._brokers[CONTROLLER].admin() as admin:
                (partition,) = admin.describe_topics([topic])[0]["partitions"]
        except KafkaError:  # the client may have chosen a broker that was just killed
            return -1, []
        return partition["leader_id"], list(partition["isr_nodes"])

    def close(self) -> None:
        """Kill all brokers."""
        for broker in self._brokers.values():
            broker.close()

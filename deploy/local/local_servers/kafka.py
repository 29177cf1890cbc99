"""A Kafka broker that is its own controller (KRaft)."""

import base64
import json
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_servers import jars, versions
from local_servers.errors import ServerError
from local_servers.probes import kafka_is_ready
from local_servers.processes import ServerProcess, free_ports

_READY_TIMEOUT_S = 90.0
# formatting ends before a compiler pays off, and needs no second core
_TOOL = [*jars.SHORT_LIVED, "-XX:+UseSerialGC", "-Xshare:auto"]


class KafkaServer:
    """
    A broker with its data in a folder; a restart keeps data and port.

    Args:
        properties: of the broker, besides or instead of those that `_write_settings` has.
        java_options: additional options of its JVM.
        version: of Kafka; None for the chosen one.
        cluster: id of the cluster, the same for all its brokers; a new one if None.
        listeners: name -> security protocol of additional listeners; `properties` has their certificates and users.
    """

    name = "kafka"

    def __init__(
        self,
        folder: Path,
        *,
        heap: str = "512m",
        properties: dict[str, str] | None = None,
        java_options: Sequence[str] = (),
        version: str | None = None,
        listeners: Mapping[str, str] | None = None,
        cluster: str | None = None,
    ) -> None:
        self._cluster = cluster
        self.folder = folder
        self._listeners = dict(listeners or {})
        self.process = ServerProcess("kafka", folder)
        self._heap = heap
        self._java_options = tuple(java_options)
        self._properties = properties or {}
        self.version = versions.chosen(self.name, version)

    @property
    def port(self) -> int:
        """Port of the broker; chosen at the first start."""
        return self._ports()[0]

    @property
    def controller(self) -> str:
        """HOST:PORT of its controller."""
        return f"127.0.0.1:{self._ports()[1]}"

    def port_of(self, listener: str) -> int:
        """Port of an additional listener."""
        return self._ports()[2 + list(self._listeners).index(listener)]

    @property
    def endpoints(self) -> dict[str, str]:
        """Addresses for clients."""
        return {"brokers": f"127.0.0.1:{self.port}"}

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self.process.pid is not None

    def start(self) -> None:
        """
        Start the process; call `wait` next.

        Raises:
            ServerError: Java, Maven or the jars are missing, the storage cannot be formatted, or the data are of a
                newer version.
        """
        versions.remember(self.folder, self.version, is_running=self.is_running)
        if self.is_running:
            return
        java, class_path = jars.java(), jars.class_path("kafka", version=self.version)
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self._write_settings()
        log = ["-Dlog4j2.level=WARN", "-Djava.awt.headless=true"]
        if not (self.folder / "data" / "meta.properties").exists():
            cluster = self._cluster or new_cluster_id()
            done = subprocess.run(
                [
                    java,
                    *_TOOL,
                    *log,
                    "-cp",
                    class_path,
                    "kafka.tools.StorageTool",
                    "format",
                    "-t",
                    cluster,
                    "-c",
                    settings,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise ServerError(f"Kafka's storage cannot be formatted: {(done.stderr or done.stdout).strip()[-300:]}")
        memory = [f"-Xmx{self._heap}", f"-Xms{self._heap}", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"]
        self.process.start([java, *memory, *self._java_options, *log, "-cp", class_path, "kafka.Kafka", settings])

    def wait(self) -> None:
        """
        Wait until the broker responds.

        Raises:
            ServerError: it ended or took too long.
        """
        self.process.wait_until(lambda: kafka_is_ready(self.port), timeout_s=_READY_TIMEOUT_S)

    def stop(self) -> bool:
        """Stop the broker; returns False if it was not running."""
        return self.process.stop()

    def _ports(self) -> list[int]:
        file = self.folder / "ports.json"
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(free_ports(2 + len(self._listeners))))
        return list(json.loads(file.read_text()))

    def _write_settings(self) -> str:
        port, controller = self._ports()[:2]
        clients = {"PLAINTEXT": port} | {name: self.port_of(name) for name in self._listeners}
        addresses = ",".join(f"{name}://127.0.0.1:{number}" for name, number in clients.items())
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **self._listeners}
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": addresses,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "log.dirs": str(self.folder / "data"),
            "num.partitions": "1",
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",  # the default of 50 takes seconds to create
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # a killed broker can register again only after its session has expired; default 9000
            "broker.session.timeout.ms": "3000",
            "broker.heartbeat.interval.ms": "1000",
            **self._properties,
        }
        path = self.folder / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return str(path)


def new_cluster_id() -> str:
    """A random id of a cluster."""
    # a leading letter, so that it does not look like an option
    return "K" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:21]

"""Real Kafka and HBase for tests, in a temporary folder."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import happybase
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from ingest.kafka.decompression import read_all_codecs
from tests.support.local import HBaseServer, KafkaServer, ServerProcess, jars
from tests.support.names import unique
from tests.support.proxy import Proxy
from tests.support.region_proxy import RegionServerProxy
from tests.support.waiting import reached

HBaseProcess = Literal["hbase", "thrift", "thrift2"]
Protocol = Literal["thrift", "rpc"]
"""Of a store that is HBase: Thrift, or HBase's own."""
PROTOCOLS: Sequence[Protocol] = get_args(Protocol)


class TestFolder:
    """A temporary folder whose servers end when it is closed, or when this process ends."""

    __test__ = False

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="attr2hbase-tests-"))
        self._watchdog = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("watchdog.py")), str(self.path)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def close(self) -> None:
        """Stop the servers and remove the folder."""
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait(60)


@dataclass(frozen=True)
class Given:
    """A record to produce; a `str` is encoded as UTF-8."""

    value: bytes | str | None
    key: bytes | str | None = None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class Kafka:
    """
    A running broker.

    Args:
        java_options: options of its JVM; empty for benchmarks.
        version: of the broker; None for that of kafka.pom.xml.
        server: a variant of the broker in that folder; None for the standard one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        java_options: Sequence[str] = jars.SHORT_LIVED,
        version: str | None = None,
        server: KafkaServer | None = None,
    ) -> None:
        self.server = server or KafkaServer(folder, java_options=java_options, version=version)
        self._producer: KafkaProducer | None = None

    @property
    def brokers(self) -> str:
        """host:port."""
        return f"127.0.0.1:{self.server.port}"

    def create_topic(self, name: str = "topic", *, partitions: int = 1, config: dict[str, str] | None = None) -> str:
        """Create a topic with a unique name that begins with `name`."""
        topic = unique(name)
        # else records with old timestamps are deleted half a minute after the broker's start
        config = {"retention.ms": "-1", **(config or {})}
        with self.admin() as admin:
            admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config)])
            admin.wait_for_topics([topic])
        return topic

    def produce(self, topic: str, records: Iterable[Given | bytes | str]) -> int:
        """
        Send records and wait for their acknowledgement; about 45,000 a second.

        Returns:
            The number of records.
        """
        producer = self.producer()
        sent = []
        for record in records:
            given = record if isinstance(record, Given) else Given(record)
            sent.append(
                producer.send(
                    topic,
                    value=_bytes(given.value),
                    key=_bytes(given.key),
                    headers=[(name, value) for name, value in given.headers],
                    partition=given.partition,
                    timestamp_ms=given.timestamp_ms,
                )
            )
        producer.flush()
        for future in sent:
            future.get(timeout=0)
        return len(sent)

    def records(self, topic: str, *, read_committed: bool = False) -> list:
        """All records of a topic up to its current end, by partition and offset (kafka-python's ConsumerRecord)."""
        read_all_codecs()
        consumer = KafkaConsumer(
            bootstrap_servers=self.brokers,
            enable_auto_commit=False,
            isolation_level="read_committed" if read_committed else "read_uncommitted",
        )
        try:
            parts = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
            ends = consumer.end_offsets(parts)
            consumer.assign(parts)
            consumer.seek_to_beginning(*parts)
            found = []
            while any(consumer.position(part) < ends[part] for part in parts):
                for records in consumer.poll(timeout_ms=200).values():
                    found += records
        finally:
            consumer.close()
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def ends(self, topic: str) -> dict[int, int]:
        """Partition -> offset after its last record."""
        consumer = KafkaConsumer(bootstrap_servers=self.brokers, enable_auto_commit=False)
        try:
            parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            return {part.partition: offset for part, offset in consumer.end_offsets(parts).items()}
        finally:
            consumer.close()

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Partition -> committed offset of a consumer group; partitions without one are left out."""
        with self.admin() as admin:
            found = admin.list_group_offsets({group: None})[group]
        return {part.partition: each.offset for part, each in found.items() if part.topic == topic and each.offset >= 0}

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        """A kafka-python admin client."""
        admin = KafkaAdminClient(bootstrap_servers=self.brokers)
        try:
            yield admin
        finally:
            admin.close()

    def producer(self) -> KafkaProducer:
        """A producer, shared by the tests of the session."""
        if self._producer is None:
            self._producer = KafkaProducer(
                bootstrap_servers=self.brokers, linger_ms=10, batch_size=256 * 1024, max_request_size=16 * 1024 * 1024
            )
        return self._producer

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and wait until it is gone; the shared producer forgets it, else it logs that it is missing."""
        with self.admin() as admin:
            admin.delete_topics([topic])
            assert reached(lambda: topic not in admin.list_topics(), 20.0)
        if self._producer is not None:
            self._producer.close(timeout=5)
            self._producer = None

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        self.server.process.kill()

    def stop(self) -> None:
        """Stop the broker with SIGTERM."""
        self.server.stop()

    def pause(self) -> None:
        """Freeze the broker: connections stay open without responses."""
        _freeze(self.server.process)

    def resume(self) -> None:
        """Resume a frozen broker."""
        self.server.process.signal(signal.SIGCONT)

    def start(self) -> None:
        """Restart the broker on its data and port, if it does not run; returns when it is ready."""
        self.resume()
        if not self.server.is_running:
            self.server.start()
            self.server.wait()

    def close(self) -> None:
        """Close the client and kill the broker."""
        if self._producer is not None:
            self._producer.close(timeout=5)
            self._producer = None
        self.kill()


class HBase:
    """
    A running HBase with a Thrift and a Thrift2 server, each in its own process.

    Args:
        server: a variant of HBase in that folder; None for the standard one.
    """

    host = "127.0.0.1"

    def __init__(self, folder: Path, server: HBaseServer | None = None) -> None:
        self.server = server or HBaseServer(folder, java_options=jars.SHORT_LIVED)

    @property
    def port(self) -> int:
        """Port of the Thrift server."""
        return self.server.port

    @property
    def thrift2_port(self) -> int:
        """Port of the Thrift2 server."""
        return self.server.thrift2_port

    @property
    def bootstrap_servers(self) -> str:
        """Addresses for HBase's native RPC."""
        return self.server.bootstrap_servers

    def proxy(self, protocol: Protocol = "thrift") -> Proxy:
        """A proxy in front of the server that a store talks to: the Thrift server, or with rpc the region server."""
        if protocol == "rpc":
            return RegionServerProxy(self.server.region_server_port, self.server.master_port)
        return Proxy((self.host, self.port))

    def store_options(
        self, protocol: Protocol = "thrift", *, thrift2: bool = False, port: int | None = None
    ) -> dict[str, object]:
        """
        Options of a store that name the servers.

        Args:
            protocol: thrift, or rpc for HBase's own.
            thrift2: with Thrift, also name the Thrift2 server.
            port: of a proxy on this machine, in place of the servers.
        """
        if protocol == "rpc":
            return {"bootstrap_servers": self.bootstrap_servers if port is None else f"localhost:{port}"}
        found: dict[str, object] = {"host": self.host, "port": port or self.port}
        return found | ({"thrift2": {"host": self.host, "port": self.thrift2_port}} if thrift2 else {})

    def kill(self, process: HBaseProcess = "hbase") -> None:
        """Kill a process with SIGKILL."""
        self._process(process).kill()

    def stop(self, process: HBaseProcess = "hbase") -> None:
        """Stop a process with SIGTERM."""
        self._process(process).stop()

    def pause(self, process: HBaseProcess = "hbase") -> None:
        """Freeze a process: connections stay open without responses."""
        _freeze(self._process(process))

    def resume(self, process: HBaseProcess = "hbase") -> None:
        """Resume a frozen process."""
        self._process(process).signal(signal.SIGCONT)

    def start(self) -> None:
        """Resume frozen processes and restart those that do not run; returns when all are ready."""
        was_running = self.server.is_running
        for process in self.server.processes:
            process.signal(signal.SIGCONT)
        if not was_running:
            self.server.start()
            self.server.wait()

    @contextmanager
    def connection(self, *, timeout_ms: int = 60_000) -> Iterator[happybase.Connection]:
        """A happybase connection, to read tables without the product."""
        connection = happybase.Connection(self.host, self.port, timeout=timeout_ms)
        try:
            yield connection
        finally:
            connection.close()

    def create_table(self, name: str = "table", *, families: Sequence[str] = ("cf",), versions: int = 1) -> str:
        """Create a table with a unique name that begins with `name`."""
        table = unique(name)
        with self.connection() as connection:
            connection.create_table(table, {family: {"max_versions": versions} for family in families})
        return table

    def rows(self, table: str) -> dict[bytes, dict[bytes, tuple[bytes, int]]]:
        """Row key -> column -> (value, timestamp) of a whole table."""
        with self.connection() as connection:
            return dict(connection.table(table).scan(include_timestamp=True))

    def versions(self, table: str, row: bytes, column: bytes, *, most: int = 100) -> list[tuple[bytes, int]]:
        """(value, timestamp) of each version of a cell, newest first."""
        with self.connection() as connection:
            return connection.table(table).cells(row, column, versions=most, include_timestamp=True)

    def ended(self) -> str:
        """The processes that do not run, each with the last error of its log."""
        return "\n".join(f"{each.name}: {each.last_error()}" for each in self.server.processes if each.pid is None)

    def close(self) -> None:
        """Kill all its processes."""
        for process in self.server.processes:
            process.kill()

    def _process(self, name: HBaseProcess) -> ServerProcess:
        return {process.name: process for process in self.server.processes}[name]


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _freeze(process: ServerProcess) -> None:
    assert process.signal(signal.SIGSTOP)
    threads = Path(f"/proc/{process.pid}/task")

    def are_stopped() -> bool:
        states = [each.read_text().rpartition(")")[2].split()[0] for each in threads.glob("*/stat")]
        return set(states) == {"T"}

    # each thread stops by itself; until then it may answer
    assert reached(are_stopped, 10, 0.01)

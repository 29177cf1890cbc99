"""Peers that commit the offsets of what they have stored: Flink SQL, and consumers with happybase."""

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka import KafkaAdminClient

from tests.bench.peer import OPENED, Peer
from tests.bench.workload import COLUMNS, FAMILY, PATTERN
from tests.support.local import jars
from tests.support.names import unique

HERE = Path(__file__).parent
CONSUMED = 600_000
"""The consumers with happybase are measured over so many events at most: the others take a fraction of their time."""


class CommittingPeer(Peer):
    """
    A peer whose committed offsets count what is stored.

    Args:
        table: name of the table.
    """

    def __init__(self, folder: Path, *, brokers: str, topic: str, table: str) -> None:
        super().__init__(folder)
        self.brokers, self.topic, self.table = brokers, topic, table
        self.group = unique(type(self).__name__)
        self._admin: KafkaAdminClient | None = None

    @abstractmethod
    def commands(self) -> Mapping[str, Sequence[str]]:
        """Name of a process -> its command."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Also connect to the broker: a new connection for each look would take CPU from what is measured."""
        self._admin = KafkaAdminClient(bootstrap_servers=self.brokers)
        try:
            with super().running():
                yield
        finally:
            self._admin.close()

    def stored(self) -> int:
        """Sum of the committed offsets."""
        assert self._admin is not None
        found = self._admin.list_group_offsets({self.group: None})[self.group]
        return sum(max(0, each.offset) for part, each in found.items() if part.topic == self.topic)


class HappybaseConsumers(CommittingPeer):
    """
    happybase_consumer.py, once for each task of attr2hbase, in one consumer group.

    Args:
        port: of the Thrift server.
        consumers: their number.
    """

    def __init__(self, folder: Path, *, port: int, consumers: int, brokers: str, topic: str, table: str) -> None:
        super().__init__(folder, brokers=brokers, topic=topic, table=table)
        self._port, self._consumers = port, consumers

    def commands(self) -> Mapping[str, Sequence[str]]:
        """Name of a process -> its command."""
        columns = ",".join(f"{FAMILY}:{name}" for name in COLUMNS)
        command = [
            sys.executable, str(HERE / "happybase_consumer.py"), self.brokers, self.topic, self.group, str(self._port),
            self.table, PATTERN, columns,
        ]  # fmt: skip
        return {f"happybase-{number}": command for number in range(self._consumers)}

    def last(self, events: int) -> int:
        """At most `CONSUMED`."""
        return min(events, CONSUMED)


class Flink(CommittingPeer):
    """
    Flink SQL 1.20.1 in one JVM: its Kafka source, REGEXP_EXTRACT, its HBase sink, at least once.

    Its sink flushes at each checkpoint until nothing is pending, and the source commits the offsets of a completed
    checkpoint. Checkpoints are on disk.

    Args:
        zookeeper: address of HBase's ZooKeeper.
        tasks: Flink's parallelism.
    """

    def __init__(self, folder: Path, *, zookeeper: str, tasks: int, brokers: str, topic: str, table: str) -> None:
        super().__init__(folder, brokers=brokers, topic=topic, table=table)
        self._statements = folder / "statements.sql"
        self._statements.write_text(sql(brokers, topic, self.group, table, zookeeper))
        self._tasks = tasks

    def commands(self) -> Mapping[str, Sequence[str]]:
        """Name of a process -> its command."""
        settings = {
            "parallelism.default": str(self._tasks),
            "execution.checkpointing.interval": "1 s",
            "execution.checkpointing.mode": "AT_LEAST_ONCE",
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": (self.folder / "checkpoints").as_uri(),
        }
        command = [
            jars.java(), "-Xmx1g", *OPENED, "-cp", jars.class_path("flink", HERE), str(HERE / "FlinkJob.java"),
            str(self._statements), *(f"{name}={value}" for name, value in settings.items()),
        ]  # fmt: skip
        return {"flink": command}

    def last(self, events: int) -> int:
        """At the end of a topic the source waits for ten seconds for more, and its checkpoint with it."""
        return events - events // 16


def sql(brokers: str, topic: str, group: str, table: str, zookeeper: str) -> str:
    """The statements of the job, with a blank line between them; the last inserts."""
    pattern = PATTERN.replace("'", "''")
    cells = ", ".join(f"REGEXP_EXTRACT(line, '{pattern}', {number})" for number in range(1, len(COLUMNS) + 1))
    row = ", ".join(f"`{name}` STRING" for name in COLUMNS)
    source = {
        "connector": "kafka", "topic": topic, "properties.bootstrap.servers": brokers, "properties.group.id": group,
        "scan.startup.mode": "earliest-offset", "format": "raw",
    }  # fmt: skip
    sink = {
        "connector": "hbase-2.2", "table-name": table, "zookeeper.quorum": zookeeper,
        "sink.buffer-flush.max-size": "2mb", "sink.buffer-flush.max-rows": "5000", "sink.buffer-flush.interval": "1s",
    }  # fmt: skip
    key = f"'{topic}:' || CAST(`partition` AS STRING) || ':' || CAST(`offset` AS STRING)"
    lines = "lines (line STRING, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL)"
    target = f"target (rowkey STRING, {FAMILY} ROW<{row}>, PRIMARY KEY (rowkey) NOT ENFORCED)"
    statements = (
        f"CREATE TABLE {lines} WITH ({_options(source)})",
        f"CREATE TABLE {target} WITH ({_options(sink)})",
        f"INSERT INTO target SELECT {key}, ROW({cells}) FROM lines",  # noqa: S608 - our own names
    )
    return "\n\n".join(statements)


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())

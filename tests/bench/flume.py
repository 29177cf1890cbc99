"""The peer Flume 1.11: Kafka source, memory or file channel, HBase2 sink with the regex serializer."""

import json
import urllib.request
from pathlib import Path

from tests.bench.watching import Processes, Sample, follow_peer
from tests.bench.workload import COLUMNS, FAMILY, LINE, PATTERN
from tests.support.local import ServerProcess, free_ports, jars

OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.util")
]


class Flume:
    """
    One agent for one topic and table.

    Args:
        channel: `memory`, which loses its events in a crash, or `file`, which does not.
        sinks: number of sinks of the channel, each with its own connection.
        body: whether the line is also stored, as a further cell.
    """

    def __init__(
        self,
        folder: Path,
        *,
        brokers: str,
        topic: str,
        table: str,
        zookeeper: str,
        channel: str,
        sinks: int,
        body: bool,
    ) -> None:
        self._folder = folder
        self._topic = topic
        self._sinks = [f"h{number}" for number in range(sinks)]
        (self._port,) = free_ports(1)
        self._process = ServerProcess(f"flume-{channel}", folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._settings = folder / "flume.conf"
        self._settings.write_text(self._content(brokers, topic, table, zookeeper, channel, body))

    def run(self, events: int, servers: Processes) -> Sample:
        """Store this number of events."""
        command = [
            jars.java(), "-Xmx1g", *OPENED, "-Dflume.monitoring.type=http", f"-Dflume.monitoring.port={self._port}",
            "-cp", jars.class_path("flume", Path(__file__).parent), "org.apache.flume.node.Application",
            "-n", "a", "-f", str(self._settings), "--no-reload-conf",
        ]  # fmt: skip
        # after a failed transaction Flume repeats its events
        return follow_peer(self._process, command, events, self._stored, servers=servers, repeats=True)

    def _stored(self) -> int:
        """Number of events in HBase; 0 while the agent does not respond."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                counters = json.load(answer)
        except (OSError, ValueError):
            return 0
        return sum(int(counters.get(f"SINK.{sink}", {}).get("EventDrainSuccessCount", 0)) for sink in self._sinks)

    def _content(self, brokers: str, topic: str, table: str, zookeeper: str, channel: str, body: bool) -> str:
        regex, names = PATTERN + ".*", ",".join(COLUMNS)
        if body:  # a group around all of them
            regex, names = f"({regex})", f"{LINE},{names}"
        lines = {
            "a.sources": "s",
            "a.channels": "c",
            "a.sinks": " ".join(self._sinks),
            "a.sources.s.type": "org.apache.flume.source.kafka.KafkaSource",
            "a.sources.s.channels": "c",
            "a.sources.s.kafka.bootstrap.servers": brokers,
            "a.sources.s.kafka.topics": topic,
            "a.sources.s.kafka.consumer.group.id": f"flume-{self._folder.name}",
            "a.sources.s.kafka.consumer.auto.offset.reset": "earliest",
            "a.sources.s.batchSize": "5000",
            "a.channels.c.type": channel,
            "a.channels.c.capacity": "200000",
            "a.channels.c.transactionCapacity": "10000",
        }
        if channel == "file":
            lines["a.channels.c.checkpointDir"] = str(self._folder / "checkpoint")
            lines["a.channels.c.dataDirs"] = str(self._folder / "data")
        for sink in self._sinks:
            serializer = "org.apache.flume.sink.hbase2.RegexHBase2EventSerializer"
            lines |= {
                f"a.sinks.{sink}.type": "hbase2",
                f"a.sinks.{sink}.channel": "c",
                f"a.sinks.{sink}.table": table,
                f"a.sinks.{sink}.columnFamily": FAMILY,
                f"a.sinks.{sink}.zookeeperQuorum": zookeeper,
                f"a.sinks.{sink}.batchSize": "1000",
                f"a.sinks.{sink}.enableWal": "true",
                f"a.sinks.{sink}.serializer": serializer,
                # properties files need two backslashes for one
                f"a.sinks.{sink}.serializer.regex": regex.replace("\\", "\\\\"),
                f"a.sinks.{sink}.serializer.colNames": names,
            }
        return "".join(f"{name} = {value}\n" for name, value in lines.items())

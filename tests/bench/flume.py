"""The peer Flume 1.11: Kafka source, memory or file channel, HBase2 sink with the regex serializer."""

import json
import re
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.peer import OPENED, Peer
from tests.bench.workload import COLUMNS, FAMILY, LINE, PATTERN
from tests.support.local import free_ports, jars

PATH = "path"
"""The column that is different in each line."""
_ROW_KEY = "ROW_KEY"
"""The serializer's name for the group that is the row key."""


class Flume(Peer):
    """
    One agent for one topic and table.

    Args:
        channel: `memory`, which loses its events in a crash, or `file`, which does not.
        sinks: number of sinks of the channel, each with its own connection.
        body: whether the line is also stored, as a further cell.
        keyed: whether the row key is the path of the line, by which a row can be found, in place of one of Flume's.
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
        body: bool = False,
        keyed: bool = False,
    ) -> None:
        super().__init__(folder)
        self._sinks = [f"h{number}" for number in range(sinks)]
        (self._port,) = free_ports(1)
        self._settings = folder / "flume.conf"
        self._settings.write_text(self._content(brokers, topic, table, zookeeper, channel, *_parsed(body, keyed)))

    def commands(self) -> Mapping[str, Sequence[str]]:
        """The command of the agent."""
        command = [
            jars.java(), "-Xmx1g", *OPENED, "-Dflume.monitoring.type=http", f"-Dflume.monitoring.port={self._port}",
            "-cp", jars.class_path("flume", Path(__file__).parent), "org.apache.flume.node.Application",
            "-n", "a", "-f", str(self._settings), "--no-reload-conf",
        ]  # fmt: skip
        return {"flume": command}

    def stored(self) -> int:
        """Number of events in HBase; 0 while the agent does not respond."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
                counters = json.load(answer)
        except (OSError, ValueError):
            return 0
        return sum(int(counters.get(f"SINK.{sink}", {}).get("EventDrainSuccessCount", 0)) for sink in self._sinks)

    def _content(
        self, brokers: str, topic: str, table: str, zookeeper: str, channel: str, regex: str, names: Sequence[str]
    ) -> str:
        lines = {
            "a.sources": "s",
            "a.channels": "c",
            "a.sinks": " ".join(self._sinks),
            "a.sources.s.type": "org.apache.flume.source.kafka.KafkaSource",
            "a.sources.s.channels": "c",
            "a.sources.s.kafka.bootstrap.servers": brokers,
            "a.sources.s.kafka.topics": topic,
            "a.sources.s.kafka.consumer.group.id": f"flume-{self.folder.name}",
            "a.sources.s.kafka.consumer.auto.offset.reset": "earliest",
            "a.sources.s.batchSize": "5000",
            "a.channels.c.type": channel,
            "a.channels.c.capacity": "200000",
            "a.channels.c.transactionCapacity": "10000",
        }
        if channel == "file":
            lines["a.channels.c.checkpointDir"] = str(self.folder / "checkpoint")
            lines["a.channels.c.dataDirs"] = str(self.folder / "data")
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
                f"a.sinks.{sink}.serializer.colNames": ",".join(names),
            }
            if _ROW_KEY in names:
                lines[f"a.sinks.{sink}.serializer.rowKeyIndex"] = str(names.index(_ROW_KEY))
        return "".join(f"{name} = {value}\n" for name, value in lines.items())


def _parsed(body: bool, keyed: bool) -> tuple[str, list[str]]:
    """The regex, and the names of its groups."""
    regex, names = PATTERN + ".*", list(COLUMNS)
    if keyed:  # a second group around that of the path, so that there are as many cells
        before = names.index(PATH)
        start = [match.start() for match in re.finditer(r"(?<!\\)\(", regex)][before]
        end = regex.index(")", start) + 1
        regex = f"{regex[:start]}({regex[start:end]}){regex[end:]}"
        names.insert(before, _ROW_KEY)
    if body:  # a group around all of them
        regex, names = f"({regex})", [LINE, *names]
    return regex, names

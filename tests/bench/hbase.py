"""Kafka to HBase: the product, the ceiling of the way it goes, and Flume; one topic, an emptied table, WAL on."""

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ingest.api import Record
from ingest.build import live_chain, live_decoder, live_mappers, plan_of
from ingest.catalog import Catalog
from ingest.chain import Kept
from ingest.config import load
from sinks.buffer import Chunk, WriteBuffer
from sinks.hbase.connection import Connection
from sinks.hbase.encoding import Encoder
from sinks.hbase.message import METHOD
from sinks.hbase.settings import HBaseSettings
from tests.bench.flume import Flume
from tests.bench.rungs import TASKS, Sample, open_spark, seconds_of
from tests.bench.watching import Watch, ours
from tests.bench.workload import FAMILY, lines, pipeline
from tests.support.servers import HBase, Kafka

FLUME = {"flume file channel": "file", "flume memory channel": "memory"}
FLUME_START_S, FLUME_END_S = 120.0, 1_800.0
BATCH_MS = 1_785_000_000_000


class HBaseRungs:
    """
    The rungs over one topic and one HBase.

    Args:
        events: lines in the topic, the same as `lines` gives.
    """

    def __init__(self, kafka: Kafka, hbase: HBase, *, topic: str, partitions: int, events: int, folder: Path) -> None:
        self._kafka = kafka
        self._hbase = hbase
        self._topic = topic
        self._partitions = partitions
        self._events = events
        self._folder = folder
        self._catalog = Catalog()
        self._messages: list[list[bytes]] | None = None

    def names(self) -> list[str]:
        """All rungs, in the order in which they take their turns."""
        return ["hbase", "ceiling", *FLUME]

    def run(self, rung: str, number: int) -> Sample:
        """Run one rung once, into an empty table."""
        folder = self._folder / f"{rung.replace(' ', '-')}-{number}"
        folder.mkdir(parents=True)
        table = "access"
        with self._hbase.connection() as connection:
            if table.encode() in connection.tables():
                connection.delete_table(table, disable=True)
            connection.create_table(table, {FAMILY: {"max_versions": 1}})
        match rung:
            case "hbase":
                return self._product(folder, table)
            case "ceiling":
                return self._ceiling(table)
            case _:
                return self._flume(rung, folder, table)

    def _product(self, folder: Path, table: str) -> Sample:
        configuration = self._configuration(folder, table)
        open_spark()
        with Watch(ours) as watch:
            seconds = seconds_of(configuration, self._catalog, self._events)
        return Sample(self._events, seconds, watch.cpu_s, watch.peak_mib)

    def _ceiling(self, table: str) -> Sample:
        """Ready-made bytes by as many connections as the product has: what nobody who goes this way can pass."""
        if self._messages is None:
            self._messages = self._made(table)
        failed: list[BaseException] = []

        def send(messages: Sequence[bytes]) -> None:
            connection = Connection(self._settings())
            connection.open()
            try:
                for message in messages:
                    connection.call(lambda client, message=message: client.send(METHOD, message))
            except BaseException as error:  # noqa: BLE001 - raised below
                failed.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=send, args=(messages,)) for messages in self._messages]
        with Watch(lambda: [psutil.Process()]) as watch:
            started = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - started
        if failed:
            raise failed[0]
        return Sample(self._events, seconds, watch.cpu_s, watch.peak_mib)

    def _flume(self, rung: str, folder: Path, table: str) -> Sample:
        flume = Flume(
            folder,
            brokers=self._kafka.brokers,
            topic=self._topic,
            table=table,
            zookeeper=self._hbase.server.endpoints["zookeeper"],
            channel=FLUME[rung],
            sinks=TASKS,
        )
        with flume.running():
            # its start-up is over with the first events, which do not count then
            first = flume.wait_stored(1, FLUME_START_S)
            with Watch(lambda: flume.processes) as watch:
                started = time.perf_counter()
                last = flume.wait_stored(self._events, FLUME_END_S)
                seconds = time.perf_counter() - started
        return Sample(last - first, seconds, watch.cpu_s, watch.peak_mib)

    def _settings(self) -> HBaseSettings:
        return HBaseSettings(host=self._hbase.host, port=self._hbase.port)

    def _configuration(self, folder: Path, table: str):
        file = folder / "pipeline.yaml"
        store = f"{{hbase: {{host: {self._hbase.host}, port: {self._hbase.port}}}}}"
        content = pipeline(brokers=self._kafka.brokers, topic=self._topic, folder=str(folder), table=table, store=store)
        file.write_text(content)
        return load(str(file), env=dict(os.environ), lookup=self._catalog)

    def _made(self, table: str) -> list[list[bytes]]:
        """Connection -> the calls that the product would make of the topic."""
        folder = self._folder / "made"
        folder.mkdir()
        configuration = self._configuration(folder, table)
        plan = plan_of(configuration, configuration.pipelines["access"], self._catalog)
        decode, chain = live_decoder(plan).decode, live_chain(plan).run
        ((part, mapper),) = live_mappers(plan)
        encoder = Encoder(self._settings())
        made: list[list[bytes]] = []
        for number in range(TASKS):
            messages: list[bytes] = []

            def keep(chunk: Chunk, messages: list[bytes] = messages) -> None:
                messages.extend(call.message for call in encoder.calls(chunk.table, chunk.mutations, tuple))

            buffer = WriteBuffer(part.settings.write_buffer_size, keep)
            for index, line in enumerate(lines(self._events)):
                partition = index % self._partitions
                if partition % TASKS != number:
                    continue
                record = Record(self._topic, partition, index // self._partitions, None, line, BATCH_MS)
                for outcome in chain(decode(record)):
                    if isinstance(outcome, Kept):
                        mapped = mapper.map(outcome.event, BATCH_MS)
                        buffer.add(mapped.table, mapped.mutation)
            buffer.flush()
            made.append(messages)
        return made

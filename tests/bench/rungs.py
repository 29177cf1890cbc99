"""Benchmarks on real Kafka and Spark: each stage adds one part of the pipeline; the last is the whole service."""

import os
import pickle
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession, functions

from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import plan_of
from ingest.spark.jars import fetch
from ingest.spark.session import close_session, open_session
from ingest.spark.streaming.reading import read_kafka
from tests.bench import benthos, stages
from tests.bench.base_build import is_of_base, python_of, without_base
from tests.bench.watching import Processes, Sample, follow, ours
from tests.bench.workload import PIPELINE, Workload, archived, written
from tests.support.names import unique
from tests.support.service import Service

LONG_LIVED = {"SPARK_SUBMIT_OPTS": ""}
"""JVM options as users have them; those of tests are for short-lived JVMs."""
TASKS = 2
"""Number of task slots; each task has its own connection."""
READ, INTO_ROCKSDB = "read", "rocksdb"
ROCKSDB_NO_SYNC, ROCKSDB_NO_WAL = "rocksdb, no sync", "rocksdb, no WAL"
ROCKSDB_FEED, ROCKSDB_TTL, ROCKSDB_AGAIN = "rocksdb, feed", "rocksdb, ttl", "rocksdb, rows written again"
STAGES = (READ, *stages.STAGES)
"""The shortest first."""
CHAINS = {"chain of 1": 1, "chain of 4": 4, "chain of 8": 8}
ROCKSDB = {
    INTO_ROCKSDB: (Workload(), {}),
    ROCKSDB_NO_SYNC: (Workload(), {"sync": False}),
    ROCKSDB_NO_WAL: (Workload(sink={"write_to_wal": False}), {}),
    ROCKSDB_FEED: (Workload(feed=True), {}),
    ROCKSDB_TTL: (Workload(family={"ttl": "30d"}), {}),
    ROCKSDB_AGAIN: (Workload(row="%{pad_left(mod(mul(%{offset}, 30103), 50000), 5, '0')}"), {}),
}
"""Name -> workload, options of the store."""
ARCHIVE = "archive"
PEER = "benthos"
"""Runs the same decorator as `chain`, and writes its result."""
ROCKSDB_RUNGS = (INTO_ROCKSDB, ROCKSDB_FEED, ARCHIVE)
STAGE_RUNGS = (*STAGES, PEER)
COMPARED = (INTO_ROCKSDB,)
"""Those that the base build runs too."""
OPTION_RUNGS = tuple(name for name in ROCKSDB if name not in ROCKSDB_RUNGS)


class Ladder:
    """
    The benchmarks over one topic.

    Args:
        events: number of events in the topic.
        servers: processes of its broker.
        base: commit of the base build; empty if there is none.
    """

    def __init__(
        self, *, brokers: str, topic: str, partitions: int, events: int, folder: Path, servers: Processes,
        base: str = "",
    ) -> None:  # fmt: skip
        self._folder = folder
        self._events = events
        self._brokers = brokers
        self._topic = topic
        self._partitions = {topic: partitions}
        self._servers = servers
        self._base = base
        self._catalog = Catalog()

    def run(self, rung: str, turn: str) -> Sample:
        """Run one benchmark once, with a new checkpoint and an empty store."""
        folder = self._folder / f"{rung}-{turn}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            if (plain := without_base(rung)) in ROCKSDB:
                workload, options = ROCKSDB[plain]
                store = {"rocksdb": {"path": "./store", **options}}
                python = python_of(self._base) if is_of_base(rung) else sys.executable
                return self.product(workload, folder, store, python)
            if rung == ARCHIVE:
                content = archived(self._content(Workload(), unique("bench"), {"rocksdb": {"path": "./store"}}))
                return product(folder, content, self._events, self._servers)
            if rung == PEER:
                return self._peer(folder)
            if rung in CHAINS:
                return self._stage("chain", Workload(chain=CHAINS[rung]), folder)
            return self._stage(rung, Workload(), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def product(self, workload: Workload, folder: Path, store: dict[str, Any], python: str = sys.executable) -> Sample:
        """Run the service until every event is acknowledged."""
        return product(folder, self._content(workload, unique("bench"), store), self._events, self._servers, python)

    def _content(self, workload: Workload, group: str, store: dict[str, Any]) -> dict[str, Any]:
        return workload.content(brokers=self._brokers, topic=self._topic, group=group, store=store)

    def _peer(self, folder: Path) -> Sample:
        peer = benthos.Benthos(
            benthos.built(), folder, brokers=self._brokers, topic=self._topic, group=unique("benthos")
        )
        with peer.running():
            return peer.measured(self._events, self._servers)

    def _stage(self, name: str, workload: Workload, folder: Path) -> Sample:
        content = self._content(workload, "bench", {"rocksdb": {"path": "./store"}})
        configuration = load(written(content, folder), env=dict(os.environ), lookup=self._catalog)
        pipeline = configuration.pipelines[PIPELINE]
        function = partial(stages.stage, name, pickle.dumps(plan_of(configuration, pipeline, self._catalog)))

        def count(batch: DataFrame) -> int:
            if name == READ:
                return _drained(batch)
            return sum(row.events for row in batch.mapInArrow(function, stages.SCHEMA).collect())

        session = open_spark()
        try:
            source = pipeline.source.settings
            frame = read_kafka(session, source, source.start, self._partitions)
            seen = _Seen(count)
            writer = frame.writeStream.foreachBatch(seen.batch).trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
            sample = follow(
                self._events, lambda: seen.events, its=ours, servers=self._servers, runs=lambda: query.isActive
            )
            query.awaitTermination()
            return sample
        finally:
            close_session(session)


def product(
    folder: Path, content: dict[str, Any], events: int, servers: Processes, python: str = sys.executable
) -> Sample:
    """
    Run `attr2hbase run` until every event of the topic is acknowledged.

    Args:
        python: of the build that runs.
    """
    with Service(folder, content) as service:
        service.start_command([python, "-m", "ingest", "run", str(service.file)], env=LONG_LIVED)
        try:
            sample = follow(
                events,
                lambda: int(service.metric("attr2hbase_events_stored_total")),
                its=service.processes,
                servers=servers,
                runs=lambda: service.is_running,
            )
        except RuntimeError as error:
            error.add_note(service.last_lines())  # its folder is removed
            raise
        loaded = service.metric("attr2hbase_bulk_load_rows_total")
        service.stop()
        return replace(sample, share_of_files=loaded / events)


def open_spark() -> SparkSession:
    """A Spark session for a stage."""
    master = f"local[{TASKS},4]"
    return open_session(
        "bench",
        master=master,
        driver_memory_bytes=2 << 30,
        conf={},
        secret_names=(),
        jars=fetch(),
        java_properties={},
    )


class _Seen:
    """Counts the events of finished micro-batches."""

    def __init__(self, count: Callable[[DataFrame], int]) -> None:
        self._count = count
        self.events = 0

    def batch(self, frame: DataFrame, _number: int) -> None:
        """Count the events of a micro-batch."""
        self.events += self._count(frame)


def _drained(frame: DataFrame) -> int:
    """Read all columns of all records in the JVM, discard them, and return their number."""
    seen = Observation("read")
    frame.observe(seen, functions.count(functions.lit(1)).alias("events")).write.format("noop").mode("overwrite").save()
    return int(seen.get["events"])

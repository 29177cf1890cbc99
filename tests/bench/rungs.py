"""Each rung on real Kafka and Spark: the same topic, one more stage each time; the last one is the product itself."""

import os
import pickle
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession, functions

from ingest.build import plan_of
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Configuration
from ingest.service.lifecycle import Stop
from ingest.service.run import RunOptions, run
from ingest.spark.jars import fetch
from ingest.spark.reading import read_kafka
from ingest.spark.session import open_session
from tests.bench import stages
from tests.bench.watching import Watch, ours
from tests.bench.workload import pipeline

TASKS = 2
"""At work at a time, each with a connection of its own."""
RUNGS = ("read", *stages.STAGES, "rocksdb")
"""The shortest way first."""


@dataclass(frozen=True)
class Sample:
    """
    One run of one rung or peer; the start of its processes is no part of it.

    Attributes:
        events: that were seen or stored while it was watched.
        seconds: for those.
        cpu_s: of all its processes, servers apart.
        peak_mib: resident memory of all of them together.
    """

    events: int
    seconds: float
    cpu_s: float
    peak_mib: float


class Ladder:
    """The rungs over one topic."""

    def __init__(self, *, brokers: str, topic: str, partitions: int, events: int, folder: Path) -> None:
        self._folder = folder
        self._events = events
        self._brokers = brokers
        self._topic = topic
        file = folder / "pipeline.yaml"
        file.write_text(pipeline(brokers=brokers, topic=topic, folder=str(folder / "warm")))
        self._catalog = Catalog()
        self._configuration = load(str(file), env=dict(os.environ), lookup=self._catalog)
        self._pipeline = self._configuration.pipelines["access"]
        self._plan = pickle.dumps(plan_of(self._configuration, self._pipeline, self._catalog))
        self._partitions = {topic: partitions}

    def run(self, rung: str, number: int) -> Sample:
        """Run one rung once, from an empty checkpoint and an empty store."""
        folder = self._folder / f"{rung}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        session = open_spark()
        with Watch(ours) as watch:
            seconds = self._product(folder) if rung == "rocksdb" else self._stage(session, rung, folder)
        shutil.rmtree(folder, ignore_errors=True)
        return Sample(self._events, seconds, watch.cpu_s, watch.peak_mib)

    def _stage(self, session: SparkSession, rung: str, folder: Path) -> float:
        source = self._pipeline.source.settings
        frame = read_kafka(session, source, source.start, self._partitions)
        function = partial(stages.stage, rung, self._plan)

        def count(batch: DataFrame) -> int:
            if rung == "read":
                return _drained(batch)
            return sum(row.events for row in batch.mapInArrow(function, stages.SCHEMA).collect())

        seen = _Seen(count)
        query = frame.writeStream.foreachBatch(seen.batch).trigger(availableNow=True)
        query.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
        if seen.events != self._events:
            raise RuntimeError(f"{rung} saw {seen.events} of {self._events} events")
        return seen.seconds

    def _product(self, folder: Path) -> float:
        file = folder / "pipeline.yaml"
        file.write_text(pipeline(brokers=self._brokers, topic=self._topic, folder=str(folder)))
        configuration = load(str(file), env=dict(os.environ), lookup=self._catalog)
        return seconds_of(configuration, self._catalog, self._events)


def seconds_of(configuration: Configuration, catalog: Catalog, events: int) -> float:
    """Run the product over all that is there; what it took, once every event is stored."""
    outcome = run(configuration, catalog, RunOptions(once=True), Stop())
    if outcome.errors:
        raise outcome.errors[0]
    totals = outcome.totals["access"]
    if totals.counts.stored != events:
        raise RuntimeError(f"stored {totals.counts.stored} of {events} events")
    return totals.seconds


def open_spark() -> SparkSession:
    """Spark for all rungs; the product takes the session that is there, and closes it."""
    master = f"local[{TASKS},4]"
    return open_session("bench", master=master, driver_memory_bytes=2 << 30, conf={}, jars=fetch(), java_properties={})


class _Seen:
    """
    Micro-batches and what was seen in them.

    Attributes:
        seconds: from the start of the first to the end of the last.
    """

    def __init__(self, count: Callable[[DataFrame], int]) -> None:
        self._count = count
        self._started: float | None = None
        self.events = 0
        self.seconds = 0.0

    def batch(self, frame: DataFrame, _number: int) -> None:
        """Take the next one."""
        if self._started is None:
            self._started = time.perf_counter()
        self.events += self._count(frame)
        self.seconds = time.perf_counter() - self._started


def _drained(frame: DataFrame) -> int:
    """Read every column of every record in the JVM, keep nothing, and count."""
    seen = Observation("read")
    frame.observe(seen, functions.count(functions.lit(1)).alias("events")).write.format("noop").mode("overwrite").save()
    return int(seen.get["events"])

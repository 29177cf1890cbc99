"""Each rung on real Kafka and Spark: the same topic, one more stage each time; the last one is the product itself."""

import os
import pickle
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

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

MASTER = "local[2,4]"


@dataclass(frozen=True)
class Sample:
    """
    One run of one rung.

    Attributes:
        seconds: from the start of the first micro-batch to the end of the last; start-up is apart.
        cpu_s: of this process, its JVM and its workers.
        peak_mib: resident memory of all of them together.
    """

    rung: str
    events: int
    seconds: float
    cpu_s: float
    peak_mib: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


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

    def names(self) -> list[str]:
        """All rungs, the shortest way first."""
        return ["read", *stages.STAGES, "rocksdb"]

    def run(self, rung: str, number: int) -> Sample:
        """Run one rung once, from an empty checkpoint and an empty store."""
        folder = self._folder / f"{rung}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with Watch(ours) as watch:
            events, seconds = self._product(folder) if rung == "rocksdb" else self._stage(rung, folder)
        shutil.rmtree(folder, ignore_errors=True)
        return Sample(rung, events, seconds, watch.cpu_s, watch.peak_mib)

    def _stage(self, rung: str, folder: Path) -> tuple[int, float]:
        session = open_spark()
        frame = read_kafka(
            session, self._pipeline.source.settings, self._pipeline.source.settings.start, self._partitions
        )
        seen = _Seen()
        if rung == "read":
            work: Callable[[DataFrame, int], None] = lambda batch, _: seen.took(_drain(batch))  # noqa: E731 - one line says it
        else:
            function = partial(stages.stage, rung, self._plan)
            work = lambda batch, _: seen.took(  # noqa: E731 - one line says it
                sum(row.events for row in batch.mapInArrow(function, stages.SCHEMA).collect())
            )
        query = frame.writeStream.foreachBatch(seen.timed(work)).trigger(availableNow=True)
        query.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
        return seen.events, seen.seconds

    def _product(self, folder: Path) -> tuple[int, float]:
        file = folder / "pipeline.yaml"
        file.write_text(pipeline(brokers=self._brokers, topic=self._topic, folder=str(folder)))
        configuration = load(str(file), env=dict(os.environ), lookup=self._catalog)
        open_spark()
        return self._events, seconds_of(configuration, self._catalog, self._events)


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
    return open_session("bench", master=MASTER, driver_memory_bytes=2 << 30, conf={}, jars=fetch(), java_properties={})


class _Seen:
    def __init__(self) -> None:
        self.events = 0
        self._started: float | None = None
        self.seconds = 0.0

    def took(self, events: int) -> None:
        self.events += events

    def timed(self, work: Callable[[DataFrame, int], None]) -> Callable[[DataFrame, int], None]:
        def batch(frame: DataFrame, number: int) -> None:
            started = time.perf_counter()
            self._started = self._started or started
            work(frame, number)
            self.seconds = time.perf_counter() - self._started

        return batch


def _drain(frame: DataFrame) -> int:
    """Read every column of every record in the JVM and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()
    return 0

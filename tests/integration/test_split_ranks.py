"""The ranks of splits that tasks of Spark see, whatever the number of tasks."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.plan.plan import Plan
from ingest.service import pipeline as pipeline_module
from ingest.service.building import build_pipeline
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.shared import Shared
from ingest.service.stores import SharedStores
from ingest.spark.jars import connector_jars
from ingest.spark.session import close_session, forget_java, open_session
from ingest.spark.streaming.reading import Session
from ingest.spark.streaming.timed_caller import TimedCaller
from tests.support.checkpoint import CheckpointReader
from tests.support.servers import Given, Kafka
from tests.support.short_lived import java_options
from tests.support.waiting import reached

LIMIT_S = 120.0
MIB = 1 << 20
RANKS = """\
import json
import os
from pathlib import Path

from ingest.api import Committer, Example, Sink, SinkResult, SinkSettings, SinkWriter, option


class RanksSettings(SinkSettings):
    path: str = option("Folder of the files.", example="./ranks")


class Ranks(Sink[RanksSettings]):
    "Write the splits of each micro-batch: task, rank, topic, partition, first and last offset, number of events."

    kind = "ranks"
    examples = (Example("a folder", settings="{path: ./ranks}"),)

    def writer(self, context):
        return RanksWriter()

    def committer(self, context):
        return RanksCommitter(Path(self.settings.path))


class RanksWriter(SinkWriter):
    def begin(self, spec, prepared, counts):
        self.task, self.splits = spec.task_id, []

    def split_start(self, rank):
        self.split = [self.task, rank]

    def write(self, event):
        origin = event.origin
        if len(self.split) == 2:
            self.split += [origin.topic, origin.partition, origin.offset, origin.offset, 0]
        assert self.split[2:4] == [origin.topic, origin.partition]
        self.split[5] = origin.offset
        self.split[6] += 1

    def split_end(self):
        self.splits.append(self.split)

    def flush(self):
        return SinkResult(json.dumps(self.splits).encode())

    def close(self):
        pass


class RanksCommitter(Committer):
    def __init__(self, folder):
        self.folder = folder

    def commit(self, batch, results):
        self.folder.mkdir(exist_ok=True)
        splits = [split for result in results for split in json.loads(result)]
        (self.folder / batch.name).write_text(json.dumps(splits))
"""


@dataclass(frozen=True)
class Splits:
    """
    The splits of a micro-batch.

    Attributes:
        tasks: number of tasks that had records.
        by_rank: rank -> topic, partition, first offset, last offset, number of records.
    """

    tasks: int
    by_rank: Mapping[int, tuple[str, int, int, int, int]]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    forget_java()  # that of another test in this process may lack the connector
    session = open_session(
        "test",
        master="local[4]",
        driver_memory_bytes=512 * MIB,
        conf={"spark.driver.extraJavaOptions": java_options()},
        secret_names=(),
        jars=connector_jars(),
        java_properties={},
    )
    try:
        yield session
    finally:
        close_session(session)


class Pipeline:
    """A pipeline whose sink needs the ranks of the splits; it runs in this process."""

    def __init__(self, folder: Path, session: Session, monkeypatch: pytest.MonkeyPatch, source: object) -> None:
        self._folder = folder
        self._session = session
        self._monkeypatch = monkeypatch
        content = {
            "version": 1,
            "plugins": ["ranking"],
            "state_dir": str(folder / "state"),
            "pipelines": {"p": {"source": source, "sinks": [{"ranks": {"path": str(folder / "ranks")}}]}},
        }
        (folder / "ranking.py").write_text(RANKS)
        (folder / "pipeline.yaml").write_text(json.dumps(content))
        self.checkpoint = CheckpointReader(folder / "state" / "checkpoints" / "p")

    def run(self, task_slots: int) -> None:
        """Read the existing records."""
        self._monkeypatch.setattr(pipeline_module, "max_tasks", lambda _session: task_slots)
        configuration = load(self._folder / "pipeline.yaml", env={}, lookup=Catalog())
        catalog = Catalog(configuration.plugins)
        self._monkeypatch.setattr(Plan, "needs_splits", True)
        plan = plan_of(configuration, configuration.pipelines["p"], catalog)
        shared = Shared(
            configuration,
            catalog,
            Metrics(["p"], process=False),
            Health(["p"]),
            Activity(),
            SharedStores(configuration, [plan]),
            retention=RetentionWatches(Metrics(process=False), Activity()),
            once=True,
            follow=lambda _pipeline, _totals: None,
        )
        made = build_pipeline(shared, plan)
        try:
            made.attach(self._session, TimedCaller(), TimedCaller())
            made.start()
            assert reached(made.query.ended, LIMIT_S)
            assert made.query.failure() is None
        finally:
            made.stop()
            made.close()

    def run_again(self, task_slots: int) -> Splits:
        """Run the newest micro-batch again, as if the process was killed before its acknowledgement."""
        number = self.checkpoint.forget_commit()
        written = self._folder / "ranks" / str(self.checkpoint.time_ms(number))
        written.unlink()
        self.run(task_slots)
        assert self.checkpoint.commits()[-1] == number
        return self.splits(number)

    def splits(self, number: int) -> Splits:
        """The splits of a micro-batch."""
        found = json.loads((self._folder / "ranks" / str(self.checkpoint.time_ms(number))).read_text())
        by_rank = {rank: tuple(split) for _, rank, *split in found}
        assert len(by_rank) == len(found)
        return Splits(len({task for task, *_ in found}), by_rank)


@pytest.mark.slow
def test_ranks_of_the_ranges_of_a_large_file(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    pipeline = Pipeline(tmp_path, session, monkeypatch, {"files": {"path": str(logs)}})
    (logs / "a.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    (logs / "b").write_text("three\n")
    pipeline.run(4)
    assert pipeline.splits(0).by_rank == {0: (str(logs / "a.gz"), 0, 0, 4, 2), 1: (str(logs / "b"), 0, 0, 0, 1)}

    large, line = str(logs / "c"), 10_000  # no divisor of a range
    Path(large).write_bytes((b"x" * (line - 1) + b"\n") * (64 * MIB // line))
    count = Path(large).stat().st_size // line
    firsts = [-(-start // line) for start in range(0, 64 * MIB, 16 * MIB)]
    expected = {
        rank: (large, 0, first * line, (stop - 1) * line, stop - first)
        for rank, (first, stop) in enumerate(zip(firsts, [*firsts[1:], count], strict=True))
    }
    pipeline.run(4)
    assert pipeline.splits(1) == Splits(4, expected)
    for slots in (2, 1):
        assert pipeline.run_again(slots) == Splits(slots, expected)


def test_ranks_of_kafka_partitions(
    session: Session, kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [kafka.create_topic("b"), kafka.create_topic("a", partitions=5)]
    source = {"kafka": {"brokers": kafka.brokers, "topics": topics}}
    pipeline = Pipeline(tmp_path, session, monkeypatch, source)
    few, many = topics
    kafka.produce(many, [Given("x", partition=partition) for partition in (0, 1, 1, 3)])
    pipeline.run(4)
    assert pipeline.splits(0).by_rank == {0: (many, 0, 0, 0, 1), 1: (many, 1, 0, 1, 2), 2: (many, 3, 0, 0, 1)}

    kafka.produce(many, [Given("x", partition=partition) for partition in (1, 2, 2, 3, 4)])
    kafka.produce(few, ["x", "y"])
    expected = {
        0: (many, 1, 2, 2, 1),
        1: (many, 2, 0, 1, 2),
        2: (many, 3, 1, 1, 1),
        3: (many, 4, 0, 0, 1),
        4: (few, 0, 0, 1, 2),
    }
    pipeline.run(4)
    assert pipeline.splits(1) == Splits(4, expected)
    for slots in (2, 1):
        assert pipeline.run_again(slots) == Splits(slots, expected)

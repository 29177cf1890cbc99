"""A replay of a rolled-back micro-batch that was interrupted, and whose topic has deleted records of it since."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from ingest.api import ConflictError, PositionLostError, Put
from ingest.kafka.stored import TopicSettings
from ingest.plan.assemble import plan_of
from ingest.plan.stores import owned_store
from ingest.receipt import Counts
from ingest.service.replay import interrupted as interrupted_module
from ingest.service.replay import range_replay
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.range_replay import RangeReplay
from ingest.service.replay.rolled_back_batches import UnfinishedBatch
from ingest.service.replay.update_replay import UpdateReplay
from ingest.service.state_folders import update_replay_file
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.rewriting.rolled_back import add_rolled_back, rolled_back
from sinks.updates.intervals import Interval
from sinks.updates.keys import UpdateKey, update_id_of
from tests.support.place import borrowed, own_process, replay_options
from tests.support.update_pipeline import BATCH_MS, CATALOG, Pipeline

P0 = ("t", 0)
BATCH = ReplayBatch(BatchKind.WHOLE, 0, BATCH_MS, {P0: (0, 10)})
INTERRUPTED = UnfinishedBatch(BATCH, frozenset({"counts"}))


class Cluster:
    """A topic that begins at an offset."""

    first = 0
    topics = frozenset({"t"})
    id_ = "a"

    def __init__(self, _settings: object = None) -> None:
        """The settings have no cluster."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Nothing is open."""

    def existing(self, topics: object) -> frozenset[str]:
        assert topics == ["t"]
        return self.topics

    def topic_ids(self, topics: object) -> dict[str, str]:
        assert topics == ["t"]
        return {"t": self.id_}

    def earliest(self, topics: object) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: self.first}

    def settings(self, topic: str) -> TopicSettings:
        assert topic == "t"
        return TopicSettings(1_000, -1, -1, "delete")

    def ends(self, topics: object) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: 10}

    def offsets_since(self, topics: object, time_ms: int) -> dict[tuple[str, int], int]:
        assert topics == ["t"]
        return {P0: self.first} if time_ms <= BATCH_MS else {}


class Runner:
    """Writes an update of a batch, as `ReplayRunner` does, until its records are gone."""

    def __init__(
        self,
        pipeline: Pipeline,
        opened: ExitStack,
        end: type[BaseException],
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.updates = updates_of(pipeline, opened, checkpoint)
        self.store = self.updates._tables._stores["s"]
        self.end = end

    def delay_s(self) -> float:
        return 0

    def until_possible(self, action: Callable[[], object]) -> object:
        return action()

    def run(self, batch: ReplayBatch) -> Counts:
        assert batch == BATCH
        self.updates.run(INTERRUPTED.to_plain(), self.write)
        return Counts()

    def write(self, time_ms: int) -> None:
        key = UpdateKey(b"row", update_id_of(time_ms, 0))
        with self.store.held() as store:
            store.apply("counts", [Put(key.encoded(), {b"c:n": b"7"}, time_ms)])
        raise self.end("the records are gone")

    def stop(self) -> None:
        """It is not stopped."""


def updates_of(pipeline: Pipeline, opened: ExitStack, checkpoint: Checkpoint | None = None) -> UpdateReplay:
    configuration = pipeline.load()
    plan = plan_of(configuration, configuration.pipelines["p"], CATALOG)
    tables = owned_tables(configuration, plan, driver_stores(configuration, [plan], opened))
    return UpdateReplay(
        configuration,
        configuration.pipelines["p"],
        checkpoint or borrowed(configuration, configuration.pipelines["p"], opened),
        tables,
    )


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Its only micro-batch is rolled back, and the topic has its records."""
    made = Pipeline(tmp_path)
    for module in (range_replay, interrupted_module):
        monkeypatch.setattr(module, "KafkaAdmin", Cluster)
    monkeypatch.setattr(range_replay, "required_topics_of", lambda _settings, _admin: ["t"])
    monkeypatch.setattr(Cluster, "first", 0)
    with owned_store(made.load().stores["s"], CATALOG) as store:
        add_rolled_back(store, "counts", [Interval(BATCH_MS, BATCH_MS)])
    return made


def replay_of(pipeline: Pipeline) -> RangeReplay:
    configuration = pipeline.load()
    request = replay_options(BATCH_MS, BATCH_MS + 1)
    return RangeReplay(own_process(configuration, CATALOG), configuration.pipelines["p"], request)


@contextmanager
def runner_that_ends(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> Iterator[pytest.MonkeyPatch]:
    def runner(*arguments: object, checkpoint: Checkpoint, **_options: object) -> Runner:
        opened = arguments[3]
        assert isinstance(opened, ExitStack)
        return Runner(pipeline, opened, end, checkpoint)

    with monkeypatch.context() as patched:
        patched.setattr(range_replay, "ReplayRunner", runner)
        yield patched


def is_unfinished(pipeline: Pipeline) -> bool:
    return update_replay_file(pipeline.load(), "p").exists()


def are_rolled_back(pipeline: Pipeline) -> tuple[Interval, ...]:
    with owned_store(pipeline.load().stores["s"], CATALOG) as store:
        return rolled_back(store, "counts")


def interrupted(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    with runner_that_ends(pipeline, monkeypatch, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        list(replay_of(pipeline).steps())
    assert (len(pipeline.updates()), is_unfinished(pipeline)) == (1, True)


def test_what_is_left_of_it_is_planned_and_the_rest_is_counted(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cluster, "first", 4)
    plan = replay_of(pipeline).plan()
    assert plan.batches == [replace(BATCH, kind=BatchKind.REST, number=plan.batches[0].number, ranges={P0: (4, 10)})]
    assert plan.totals.gone == 4


def test_records_that_go_while_it_runs_leave_nothing(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(pipeline, monkeypatch)
    replay = replay_of(pipeline)
    write = Runner.write

    def gone(runner: Runner, time_ms: int) -> None:
        monkeypatch.setattr(Cluster, "first", 5)
        write(runner, time_ms)

    with runner_that_ends(pipeline, monkeypatch, PositionLostError) as patched:
        patched.setattr(Runner, "write", gone)
        with pytest.raises(PositionLostError, match="stopped after 0 of 1"):
            list(replay.steps())
    assert (pipeline.updates(), is_unfinished(pipeline)) == ([], False)


def test_it_stays_while_its_records_are_there(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(pipeline, monkeypatch)
    before = pipeline.updates()
    interrupted(pipeline, monkeypatch)
    assert pipeline.updates() == before, "the same row again"


def test_it_counts_as_replayed_if_its_committed_positions_have_moved(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as opened:
        runner = Runner(pipeline, opened, ValueError)

        def write(time_ms: int) -> None:
            with pytest.raises(ValueError, match="gone"):
                runner.write(time_ms)

        runner.updates.run(INTERRUPTED.to_plain(), write)  # killed before its progress is stored
    before = pipeline.updates()
    monkeypatch.setattr(Cluster, "first", 5)
    with pytest.raises(ConflictError, match="was rolled back from counts"):
        list(replay_of(pipeline).steps())
    assert (pipeline.updates(), is_unfinished(pipeline), are_rolled_back(pipeline)) == (before, False, ())

"""Pipelines of one service are built, fail and are closed independently."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.api import (
    CheckpointError,
    ConflictError,
    FamilySpec,
    IngestError,
    IntegrityError,
    LifecycleError,
    NotFoundError,
    Record,
    TableSpec,
)
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dead_letters.envelope import DeadLetter, PlaceRange
from ingest.dead_letters.files import FileDeadLetters
from ingest.observe.activity import Activity
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.receipt import Counts
from ingest.service.building import build_pipeline
from ingest.service.files_source import FilesSource
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.kafka.topics import TopicIds
from ingest.service.pipeline import LivePipeline
from ingest.service.shared import Shared
from ingest.service.stores import SharedStores
from ingest.service.tables import OwnerOptions
from ingest.spark.streaming.batch_time import newest_time
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.archive.placement import LastCommit
from sinks.rocksdb.store import RocksDBStore
from tests.support.checkpoint import acknowledge

CATALOG = Catalog()


class Service:
    """A service with two pipelines that write into one embedded store, "a" and "b"."""

    def __init__(self, folder: Path, *sinks: dict[str, Any]) -> None:
        pipeline = {
            "source": {"files": {"path": str(folder)}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{topic}:%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "t"}}, *sinks],
        }
        content = {
            "version": 1,
            "state_dir": str(folder / "state"),
            "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
            "pipelines": {"a": pipeline, "b": pipeline},
        }
        (folder / "pipeline.yaml").write_text(json.dumps(content))
        configuration = load(folder / "pipeline.yaml", env={}, lookup=CATALOG)
        self.plans = {name: plan_of(configuration, each, CATALOG) for name, each in configuration.pipelines.items()}
        self.health = Health(self.plans)
        self.stores = SharedStores(configuration, self.plans.values())
        self.shared = Shared(
            configuration,
            CATALOG,
            Metrics(process=False),
            self.health,
            Activity(),
            self.stores,
            retention=RetentionWatches(Metrics(process=False), Activity()),
            once=False,
            follow=lambda _pipeline, _totals: None,
        )
        self.opened = ExitStack()

    def build(self, name: str) -> LivePipeline:
        """Build a pipeline; it is closed at the end of the test."""
        pipeline = build_pipeline(self.shared, self.plans[name])
        self.opened.callback(pipeline.close)
        return pipeline

    def checkpoint(self, name: str) -> Path:
        """The checkpoint folder of a pipeline."""
        return self.shared.configuration.local_dir / "checkpoints" / name


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    with service.opened:
        yield service


def damage(service: Service) -> None:
    """Damage a checkpoint: a commit without its offsets."""
    commits = service.checkpoint("a") / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text("v1\n{}")


def lock(service: Service) -> None:
    """Lock a checkpoint as another process would."""
    other = Checkpoint(service.checkpoint("a"))
    other.lock()
    service.opened.callback(other.unlock)


@pytest.mark.parametrize(("prepare", "error"), [(damage, CheckpointError), (lock, ConflictError)])
def test_pipeline_that_cannot_start_does_not_affect_another(
    service: Service, prepare: Callable[[Service], None], error: type[IngestError]
):
    prepare(service)
    with pytest.raises(error):
        service.build("a")
    service.build("b")


def test_pipeline_that_cannot_start_leaves_nothing_locked(service: Service):
    damage(service)
    with pytest.raises(CheckpointError):
        service.build("a")
    (service.checkpoint("a") / "commits" / "0").unlink()
    service.build("a")


def test_missing_jars_leave_nothing_open(service: Service, monkeypatch: pytest.MonkeyPatch):
    def missing(_source: FilesSource) -> list[Path]:
        raise NotFoundError("no jars")

    with monkeypatch.context() as changed:
        changed.setattr(FilesSource, "jars", missing)
        with pytest.raises(NotFoundError, match="no jars") as kept:
            service.build("a")
        assert service.stores.in_use() == {}
    service.build("a")
    assert kept.value.code == "not_found"


def test_next_build_retries_a_store_that_could_not_be_opened(service: Service, tmp_path: Path):
    service.build("a").close()
    current = tmp_path / "store" / "CURRENT"
    sound = current.read_text()
    current.write_text("MANIFEST-000099\n")
    with pytest.raises(IntegrityError):
        service.build("a")
    assert service.stores.in_use() == {}
    current.write_text(sound)
    service.build("a")


@pytest.mark.parametrize("once", [True, False])
def test_missing_table_ends_a_once_run_at_its_start(service: Service, monkeypatch: pytest.MonkeyPatch, once: bool):
    monkeypatch.setattr(RocksDBStore, "capabilities", replace(RocksDBStore.capabilities, creates_tables=False))
    service.shared = replace(service.shared, once=once)
    refused = pytest.raises(
        NotFoundError, match=r'^table t does not exist in store "s"; run \'attr2hbase table apply\' if'
    )
    with refused if once else nullcontext():
        service.build("a")
    if once:
        assert service.stores.in_use() == {}
        with service.stores.used_by(service.plans["a"], service.opened)["s"].held() as store:
            store.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
        service.build("a")


@pytest.fixture
def closed_sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pipelines whose sources were closed."""
    closed: list[str] = []
    monkeypatch.setattr(FilesSource, "close", lambda source: closed.append(source.context.pipeline))
    return closed


def test_source_is_closed_once(service: Service, closed_sources: list[str]):
    pipeline = service.build("a")
    for _ in range(2):
        pipeline.stop()
        pipeline.close()
    assert closed_sources == ["a"]


def test_source_of_a_pipeline_that_is_never_started_is_closed(service: Service, closed_sources: list[str]):
    service.build("a").close()
    assert closed_sources == ["a"]


def test_source_of_a_pipeline_that_cannot_be_built_is_closed(
    service: Service, closed_sources: list[str], tmp_path: Path
):
    service.build("a").close()
    (tmp_path / "store" / "CURRENT").write_text("MANIFEST-000099\n")
    with pytest.raises(IntegrityError):
        service.build("b")
    assert closed_sources == ["a", "b"]


def test_totals_go_on_in_the_pipeline_of_a_reload(service: Service):
    first = service.build("a")
    first.observer.durable(0, 1_000, Counts(read=5, stored=5), 0.1)
    first.close()
    again = service.build("a")
    again.observer.durable(1, 2_000, Counts(read=2, stored=2), 0.1)
    totals = service.shared.totals["a"]
    assert (totals.batches, totals.counts.read, totals.seconds >= 0.1) == (2, 7, True)


@pytest.mark.parametrize(("once", "expected"), [(False, ["a"]), (True, [])])
def test_retention_is_watched_unless_the_run_ends_by_itself(
    service: Service, monkeypatch: pytest.MonkeyPatch, once: bool, expected: list[str]
):
    watched: list[str] = []
    monkeypatch.setattr(service.shared.retention, "watch", lambda pipeline, _checkpoint: watched.append(pipeline.name))
    service.shared = replace(service.shared, once=once)
    service.build("a")
    assert watched == expected


def test_retention_of_a_pipeline_that_cannot_be_built_is_watched(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    watched: list[str] = []
    monkeypatch.setattr(service.shared.retention, "watch", lambda pipeline, _checkpoint: watched.append(pipeline.name))
    service.build("a").close()
    (tmp_path / "store" / "CURRENT").write_text("MANIFEST-000099\n")
    with pytest.raises(IntegrityError):
        service.build("a")
    assert watched == ["a", "a"]


def test_shared_store_stays_open_until_its_last_pipeline_is_closed(service: Service):
    first, second = service.build("a"), service.build("b")
    store = service.stores.in_use()["s"]
    first.close()
    with store.held() as held:
        assert held.tables() == ()
    third = service.build("a")
    assert service.stores.in_use() == {"s": store}
    for pipeline in (second, third):
        pipeline.close()
    assert service.stores.in_use() == {}
    with pytest.raises(LifecycleError), store.held():
        pass


def test_closed_pipeline_can_be_rebuilt_while_another_is_open(service: Service):
    first = service.build("a")
    service.build("b")
    with pytest.raises(ConflictError):
        service.build("a")
    first.stop()
    assert first.has_stopped()
    first.close()
    first.close()
    service.health.change("a", State.STOPPED)
    service.build("a")
    assert [each.state for each in service.health.snapshot()] == [State.STARTING, State.STARTING]


def test_start_before_attach_is_an_error(service: Service):
    with pytest.raises(LifecycleError, match='pipeline "a" is used before it is attached'):
        service.build("a").start()


class TestOlderState:
    """State that was restored, or lost, beside an archive."""

    @pytest.fixture
    def archived(self, tmp_path: Path) -> Path:
        """The record of the micro-batch that pipeline "a" has committed last."""
        return tmp_path / "archive" / "rows" / "_writers" / "a+archive.json"

    @pytest.fixture
    def service(self, tmp_path: Path, archived: Path) -> Iterator[Service]:
        archive = {"archive": {"root": str(tmp_path / "archive"), "table": "rows"}}
        service = Service(tmp_path, archive)
        archived.parent.mkdir(parents=True)
        archived.write_bytes(LastCommit("5000", 5_000).to_bytes())
        with service.opened:
            yield service

    def started(self, service: Service) -> None:
        pipeline = service.build("a")
        for committer in pipeline._committers.values():
            committer.recover()
        pipeline._refuse_older_state()

    @pytest.mark.parametrize("known", [None, "4000"])
    def test_is_refused(self, service: Service, known: str | None):
        if known is not None:
            times = service.checkpoint("a") / "times"
            times.mkdir(parents=True)
            (times / "7").write_text(known)
        with pytest.raises(ConflictError, match="the sink archive has a micro-batch of 1970-01-01T00:00:05"):
            self.started(service)

    @pytest.mark.parametrize("name", ["7", "floor"])
    def test_newer_state_is_not(self, service: Service, name: str):
        times = service.checkpoint("a") / "times"
        times.mkdir(parents=True)
        (times / name).write_text("5000")
        self.started(service)

    @pytest.mark.parametrize(("times", "is_refused"), [((4_000, 5_000), False), ((3_000, 4_000, 5_000), True)])
    def test_only_the_first_batch_whose_plan_is_lost_is_replaced(
        self, service: Service, times: tuple[int, ...], is_refused: bool
    ):
        """Batch 0 is acknowledged; the others have begun and are not planned any more."""
        folder = service.checkpoint("a")
        acknowledge(folder, 0, {"t": {0: 1}})
        (folder / "metadata").write_text('{"id":"a"}')
        (folder / "times").mkdir()
        for number, time_ms in enumerate(times):
            (folder / "times" / str(number)).write_text(str(time_ms))
        if is_refused:
            with pytest.raises(ConflictError) as caught:
                self.started(service)
            assert caught.value.code == "state_too_old"
        else:
            self.started(service)

    def test_recount_starts_after_the_archive(self, service: Service):
        """Else a join beside the stream would take its micro-batches for ones that the archive has."""
        service.shared = replace(service.shared, owner=OwnerOptions(recount=True))
        self.started(service)
        assert newest_time(service.checkpoint("a") / "times") == 5_000


def test_dead_letters_by_place_have_the_ids_of_their_topics(service: Service):
    """The batch log, which has them too, is kept for some days."""
    pipeline = service.build("a")
    TopicIds(service.checkpoint("a")).check({"t": "id"})
    letter = DeadLetter(
        record=Record("t", 0, 5, None, None, 500),
        fan_out=0,
        attributes={},
        pipeline="a",
        component="value",
        code="no_match",
        message="",
        batch_time_ms=1_000,
        fingerprint="",
        by_place=PlaceRange(9, was_read=True),
    )
    pipeline._publish([letter.to_json()], 0, 1_000)
    (entry,) = FileDeadLetters(service.shared.configuration.local_dir, "a").entries()
    assert entry.dead_letter == letter.in_topic("id")

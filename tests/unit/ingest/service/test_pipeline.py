"""Pipelines of one service: each is built, fails and is closed apart from the others."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.api import CheckpointError, ConflictError, IngestError, IntegrityError, LifecycleError
from ingest.catalog import Catalog
from ingest.config import load
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.service.pipeline import LivePipeline, Shared, build_pipeline
from ingest.service.stores import SharedStores
from ingest.spark.streaming.checkpoint import Checkpoint

CATALOG = Catalog()


class House:
    """A service with two pipelines that write into one embedded store, "a" and "b"."""

    def __init__(self, folder: Path) -> None:
        pipeline = {
            "source": {"files": {"path": str(folder)}},
            "decorators": [{"value": {"attribute": "2hb_", "value": "%{topic}:%{offset}"}}],
            "sinks": [{"attr2hbase": {"table": "t"}}],
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
            self.stores,
            once=False,
            follow=lambda _pipeline, _totals: None,
        )
        self.opened = ExitStack()

    def build(self, name: str) -> LivePipeline:
        """Build one; it is closed with the house."""
        pipeline = build_pipeline(self.shared, self.plans[name])
        self.opened.callback(pipeline.close)
        return pipeline

    def checkpoint(self, name: str) -> Path:
        """Where one stands."""
        return self.shared.configuration.state_dir / "checkpoints" / name


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    with made.opened:
        yield made


def damage(house: House) -> None:
    """Leave a commit without the offsets it belongs to."""
    commits = house.checkpoint("a") / "commits"
    commits.mkdir(parents=True)
    (commits / "0").write_text("v1\n{}")


def lock(house: House) -> None:
    """Run on it already."""
    other = Checkpoint(house.checkpoint("a"))
    other.lock()
    house.opened.callback(other.unlock)


@pytest.mark.parametrize(("hurt", "error"), [(damage, CheckpointError), (lock, ConflictError)])
def test_pipeline_that_cannot_start_keeps_no_other_from_starting(
    house: House, hurt: Callable[[House], None], error: type[IngestError]
):
    hurt(house)
    with pytest.raises(error):
        house.build("a")
    house.build("b")


def test_pipeline_that_cannot_start_leaves_nothing_locked(house: House):
    damage(house)
    with pytest.raises(CheckpointError):
        house.build("a")
    (house.checkpoint("a") / "commits" / "0").unlink()
    house.build("a")


def test_store_that_cannot_be_opened_is_tried_anew_by_the_next_build(house: House, tmp_path: Path):
    house.build("a").close()
    current = tmp_path / "store" / "CURRENT"
    sound = current.read_text()
    current.write_text("MANIFEST-000099\n")
    with pytest.raises(IntegrityError):
        house.build("a")
    assert house.stores.in_use() == {}
    current.write_text(sound)
    house.build("a")


def test_shared_store_stays_open_until_its_last_pipeline_is_closed(house: House):
    first, second = house.build("a"), house.build("b")
    store = house.stores.in_use()["s"]
    first.close()
    with store.held() as held:
        assert held.tables() == ()
    third = house.build("a")
    assert house.stores.in_use() == {"s": store}
    for pipeline in (second, third):
        pipeline.close()
    assert house.stores.in_use() == {}
    with pytest.raises(LifecycleError), store.held():
        pass


def test_closed_pipeline_can_be_built_anew_while_another_holds_its_own(house: House):
    first = house.build("a")
    house.build("b")
    with pytest.raises(ConflictError):
        house.build("a")
    first.stop()
    assert first.has_stopped()
    first.close()
    first.close()
    house.health.change("a", State.STOPPED)
    house.build("a")
    assert [each.state for each in house.health.snapshot()] == [State.STARTING, State.STARTING]


def test_pipeline_is_not_started_before_it_is_attached(house: House):
    with pytest.raises(LifecycleError, match='pipeline "a" is used before it is attached'):
        house.build("a").start()

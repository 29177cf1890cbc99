"""Metrics of consumer groups, and changes of shards, through the stores of a service."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.api import ConfigError, ConflictError, StoreUnavailableError
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.observe.metrics import Metrics
from ingest.plan.assemble import plan_of
from ingest.plan.open_feeds import open_feed
from ingest.service.feed_shards import ShardRequest, apply_in_service
from ingest.service.feed_watch import FeedWatch
from ingest.service.stores import SharedStores
from sinks.feed.errors import FeedDisabledError, ShardNotFoundError
from sinks.feed.group import GroupMember, GroupOptions
from sinks.writing.driver_store import DriverStore
from tests.support.feeds import FeedFixture

FILE = """
version: 1
stores: {local: {rocksdb: {path: ./store}}}
tables: {orders: {families: {d: {}}, feed: {shards: 1}}, plain: {families: {d: {}}}}
pipelines:
  p:
    source: {files: {path: "*.jsonl"}}
    decorators: [json]
    sinks:
      - hbase: {table: orders, row_key: {template: "%{host}"}, cells: [{family: d, qualifier: a, value: "1"}]}
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What the pipelines of a service share; one of them has the store open, with a change feed."""
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(FILE)
    catalog = Catalog()
    configuration = load("p.yaml", env={}, lookup=catalog)
    plan = plan_of(configuration, configuration.pipelines["p"], catalog)
    stores = SharedStores(configuration, [plan])
    with ExitStack() as used:
        driver = stores.used_by(plan, used)["local"]
        with driver.held() as store:
            FeedFixture(store, time_ms=now_ms() - 1000).put(b"a")
        yield SimpleNamespace(configuration=configuration, catalog=catalog, stores=stores, driver=driver)


def rendered(shared: Any) -> list[str]:
    metrics = Metrics(process=False)
    FeedWatch(lambda: shared, metrics).check()
    return [line for line in metrics.render()[1].decode().splitlines() if line.startswith("attr2hbase_feed_")]


def test_metrics_of_a_group(shared: Any):
    assert rendered(shared) == []
    with open_feed(shared.configuration, shared.catalog, "orders") as feed:
        member = GroupMember(feed.client, feed.leases, GroupOptions("search", "w"))
        delivery = member.poll()
        assert delivery is not None
        delivery.checkpoint()
        member.close()
    labels = '{group="search",table="orders"}'
    assert f"attr2hbase_feed_consumer_lag_seconds{labels} 0.0" in rendered(shared)
    with shared.driver.held() as store:
        writer = FeedFixture.of(store, "orders")
        first_ms = writer.put(b"b")
        writer.put(b"c", time_ms=first_ms + 2_000)
    lag, used, gaps, lost = (float(line.rpartition(" ")[2]) for line in sorted(rendered(shared), key=_order))
    assert 2.0 <= lag < 60
    assert 0.0 <= used < 0.01
    assert (gaps, lost) == (0.0, 0.0)
    with open_feed(shared.configuration, shared.catalog, "orders") as feed:
        feed.leases.replace("search", 1, feed.leases.read("search")[1], None)
    assert f"attr2hbase_feed_lost_leases{labels} 1.0" in rendered(shared)


def _order(line: str) -> int:
    return [each in line for each in ("_lag_", "_used_", "_gaps", "_lost_")].index(True)


def test_store_that_is_away_has_no_metrics(shared: Any, monkeypatch: pytest.MonkeyPatch):
    def away(_store: DriverStore) -> None:
        raise StoreUnavailableError("away")

    monkeypatch.setattr(DriverStore, "held", away)
    assert rendered(shared) == []


def test_watch_ends(shared: Any):
    with FeedWatch(lambda: shared, Metrics(process=False)):
        pass
    assert rendered(None) == []


def test_shards_are_changed_by_the_service(shared: Any):
    answer = apply_in_service(shared, "orders", ShardRequest.of(b'{"split": 1, "at": "6d"}'))
    assert (answer["table"], answer["requested"]) == ("orders", [{"split": 1, "at": "m"}])
    with shared.driver.held() as store:
        FeedFixture.of(store, "orders").put(b"b")
    apply_in_service(shared, "orders", ShardRequest.of(b'{"merge": [2, 3]}'))
    with pytest.raises(ShardNotFoundError):
        apply_in_service(shared, "orders", ShardRequest(split=9, at="6d"))
    with pytest.raises(FeedDisabledError):
        apply_in_service(shared, "plain", ShardRequest(split=1, at="6d"))
    with pytest.raises(ConflictError, match="has not opened the store"):
        apply_in_service(None, "orders", ShardRequest(split=1, at="6d"))


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b'{"split": 1, "merge": [1, 2]}', b'{"merge": [1]}', b'{"split": 1, "at": "x"}']
)
def test_request_that_is_none_is_refused(content: bytes):
    with pytest.raises(ConfigError):
        ShardRequest.of(content)

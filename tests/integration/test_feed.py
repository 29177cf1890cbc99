"""
Feeds of tables in RocksDB: every change of every micro-batch, in order, nothing above the committed position:
`attr2hbase run`.
"""

import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.api import FamilySpec, Row, Scan, Store, TableSpec
from ingest.api.feeds import FEED
from ingest.testing.tables import scanned
from sinks.feed.change_feed import ChangeFeed, SplitRequest
from sinks.feed.changes import Change, Op
from sinks.feed.keys import FeedKey
from sinks.memory import MemoryStore
from sinks.owning.committed_position import COMMITTED, OWNER, CommittedPosition
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from tests.support.service import Service

pytestmark = pytest.mark.slow


def content(folder: Path, feed: Mapping[str, Any] | None, pipeline: str = "p") -> dict[str, Any]:
    table: dict[str, Any] = {"families": {"f": {}}}
    return {
        "stores": {"s": {"rocksdb": {"path": str(folder / "store")}}},
        "tables": {"t": table if feed is None else {**table, "feed": feed}},
        "pipelines": {
            pipeline: {
                "source": {"files": {"path": str(folder / "in")}},
                "decorators": [{"json": {"prefix": "2hb_"}}],
                "sinks": [{"attr2hbase": {"table": "t"}}],
            }
        },
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def add(folder: Path, name: str, *rows: tuple[str, str]) -> None:
    lines = [json.dumps({"": row, "f:q": value}) for row, value in rows]
    (folder / "in" / name).write_text("\n".join(lines) + "\n")


@contextmanager
def opened(folder: Path) -> Iterator[Store[Any]]:
    store = RocksDBStore(RocksDBSettings(path=str(folder / "store")))
    store.open()
    try:
        yield store
    finally:
        store.close()


def changes(store: Store[Any]) -> list[tuple[int, Change]]:
    found = []
    for row in scanned(store, "t_feed"):
        key = FeedKey.decoded(row.key)
        found.append((key.shard, Change.decoded(key, row.cells[0].value)))
    return found


def replica(store: Store[Any]) -> list[Row]:
    """The rows of a table to which all changes were applied."""
    made = MemoryStore()
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"),)))
    for _, change in changes(store):
        made.apply("t", change.mutations())
    return list(made.scan("t", Scan()))


def feed_of(store: Store[Any]) -> ChangeFeed:
    return ChangeFeed.of(store.properties("t")[FEED], "t")


def test_4c1_4c5_4c16_every_change_is_in_the_feed(folder: Path) -> None:
    with Service(folder, content(folder, {"before": True, "shards": 1})) as service:
        add(folder, "1", ("pk1", "1"), ("pk3", "1"))
        assert service.run_once() == 0, service.last_lines()
        with opened(folder) as store:
            change_feed = feed_of(store)
            requested = change_feed.with_request(SplitRequest(1, b"pk2"))
            assert store.set_property("t", FEED, change_feed.to_text(), requested.to_text())
        add(folder, "2", ("pk1", "2"), ("pk3", "2"), ("pk3", "3"))
        assert service.run_once() == 0, service.last_lines()
    with opened(folder) as store:
        found = changes(store)
        first_ms, second_ms = sorted({change.time_ms for _, change in found})
        assert [(shard, change.row, change.op, change.time_ms) for shard, change in found] == [
            (1, b"pk1", Op.PUT_ROW, first_ms),
            (1, b"pk3", Op.PUT_ROW, first_ms),
            (2, b"pk1", Op.UPDATE_ROW, second_ms),
            (3, b"pk3", Op.UPDATE_ROW, second_ms),
        ]
        change_feed = feed_of(store)
        assert [(shard.number, shard.parents, shard.from_ms, shard.until_ms) for shard in change_feed.shards] == [
            (1, (), first_ms, second_ms),
            (2, (1,), second_ms, None),
            (3, (1,), second_ms, None),
        ]
        assert change_feed.since_ms == first_ms
        properties = store.properties("t")
        assert (properties[OWNER], CommittedPosition.of(properties[COMMITTED], "t").time_ms) == ("p", second_ms)
        assert replica(store) == scanned(store, "t")


def test_4c4_a_feed_that_was_switched_off_and_on_is_another_feed(folder: Path) -> None:
    with Service(folder, content(folder, {"shards": 2})) as service:
        add(folder, "1", ("a", "1"))
        assert service.run_once() == 0, service.last_lines()
        with opened(folder) as store:
            first = feed_of(store)
        service.write(content(folder, None))
        add(folder, "2", ("b", "1"))
        assert service.run_once() == 0, service.last_lines()
        with opened(folder) as store:
            assert store.properties("t").keys() == {COMMITTED}
        service.write(content(folder, {"shards": 2}))
        add(folder, "3", ("c", "1"))
        assert service.run_once() == 0, service.last_lines()
    with opened(folder) as store:
        second = feed_of(store)
        assert second.id != first.id
        assert [change.row for _, change in changes(store)] == [b"a", b"c"]
        assert second.since_ms == changes(store)[-1][1].time_ms


def test_4c8_killed_between_feed_and_rows_the_batch_is_completed_before_a_changed_configuration(folder: Path) -> None:
    with Service(folder, content(folder, {"shards": 2})) as service:
        add(folder, "1", ("a", "1"))
        assert service.run_once() == 0, service.last_lines()
        add(folder, "2", ("a", "2"), ("z", "2"))
        # after the feed rows, before the rows
        service.start(
            "--once", env={"INGEST_FAILPOINT": "between_sends:1:kill", "INGEST_FAILPOINT_FOLDER": str(folder)}
        )
        assert service.wait_for_exit(120) == -signal.SIGKILL
        with opened(folder) as store:
            assert {change.row for _, change in changes(store)} == {b"a", b"z"}
            assert len(scanned(store, "t")) == 1
        changed = content(folder, {"shards": 2})
        changed["pipelines"]["p"]["decorators"].append({"static": {"attributes": {"2hb_f:new": "x"}}})
        service.write(changed)
        assert service.run_once() == 0, service.last_lines()
    with opened(folder) as store:
        times = sorted({change.time_ms for _, change in changes(store)})
        assert len(times) == 3
        assert [change.row for _, change in changes(store) if change.time_ms == times[2]] == [b"a", b"z"]
        assert replica(store) == scanned(store, "t")

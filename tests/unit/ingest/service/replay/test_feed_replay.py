"""
Dead letters replayed into tables with a change feed: the cells have the times of their batch, the changes a later one.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.api import ConflictError, OffsetUnit, Record, Row, Scan, Store
from ingest.api.feeds import FEED
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config import load
from ingest.config.model import Configuration
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.replay import Selection, replay
from ingest.masks import Masks
from ingest.plan.assemble import live_store, plan_of
from ingest.service.dead_letters.queues import dead_letter_queue
from ingest.service.replay.dead_letter_replay import DeadLetterReplay
from ingest.service.stores import driver_stores
from ingest.service.tables import owned_tables
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.spark.streaming.checkpoint import Checkpoint
from sinks.feed.change_feed import ChangeFeed, SplitRequest
from sinks.feed.changes import Change
from sinks.feed.keys import FeedKey
from sinks.feed.owned_feeds import OwnedFeeds
from sinks.owning.committed_position import CommittedPosition
from tests.support.checkpoint import acknowledge
from tests.support.place import own_process
from tests.support.update_pipeline import no_clock

CATALOG = Catalog()
BATCH_MS = 1_700_000_000_000


class Pipeline:
    """A pipeline that writes the last body of each key, with a change feed; one micro-batch is complete."""

    def __init__(self, folder: Path, *tables: str) -> None:
        self.folder = folder
        self.others = tables
        self.checkpoint = folder / "state" / "checkpoints" / "p"
        self.configuration = self.load({"kafka": {"brokers": "localhost:9092", "topics": ["t"]}})
        acknowledge(self.checkpoint, 0, {"t": {0: 10}})
        assert BatchTimes(self.checkpoint / "times", lambda: BATCH_MS).of(0) == BATCH_MS
        with ExitStack() as opened:
            plan = plan_of(self.configuration, self.configuration.pipelines["p"], CATALOG)
            tables = owned_tables(self.configuration, plan, driver_stores(self.configuration, [plan], opened))
            tables.claim()
            tables.half(OwnedFeeds).batches("s", BATCH_MS)
            tables.move(CommittedPosition(BATCH_MS, {"t": {"0": 10}}))

    def load(self, source: object) -> Configuration:
        """The configuration with this source."""
        content = {
            "version": 1,
            "state_dir": str(self.folder / "state"),
            "stores": {"s": {"rocksdb": {"path": str(self.folder / "store")}}},
            "tables": {
                "values": {"families": {"c": {}}, "feed": {"shards": 1, "before": True}},
                **dict.fromkeys(self.others),
            },
            "pipelines": {
                "p": {
                    "source": source,
                    "decorators": [{"template": {"attributes": {"2hb_": "row", "2hb_c:n": "%{body}"}}}],
                    "sinks": [{"attr2hbase": {"table": table, "label": table}} for table in ("values", *self.others)],
                }
            },
        }
        (self.folder / "p.yaml").write_text(json.dumps(content))
        return load(self.folder / "p.yaml", env={}, lookup=CATALOG)

    def replay(self, *bodies: bytes, is_marked: bool = True) -> None:
        """Replay records with these bodies."""
        records = [Record("t", 0, offset, None, body, 5) for offset, body in enumerate(bodies)]
        with DeadLetterReplay(
            own_process(self.configuration, CATALOG), self.configuration.pipelines["p"], check_clock=no_clock
        ) as replay:
            assert replay(records, BATCH_MS - 1, {})[1] == []
            if is_marked:
                replay.marked()

    def values(self) -> list[tuple[int, bytes]]:
        """Timestamp and value of each cell."""
        return [(cell.timestamp_ms, cell.value) for row in self._scanned("values") for cell in row.cells]

    def changes(self) -> list[Change]:
        """All changes."""
        return [Change.decoded(FeedKey.decoded(row.key), row.cells[0].value) for row in self._scanned("values_feed")]

    def newest_committed(self) -> CommittedPosition | None:
        """The committed position."""
        with ExitStack() as opened:
            plan = plan_of(self.configuration, self.configuration.pipelines["p"], CATALOG)
            tables = owned_tables(self.configuration, plan, driver_stores(self.configuration, [plan], opened))
            tables.claim()
            return tables.newest()

    @contextmanager
    def store(self) -> Iterator[Store[Any]]:
        """The store of the tables."""
        store = live_store(plan_of(self.configuration, self.configuration.pipelines["p"], CATALOG).stores["s"])
        store.open()
        try:
            yield store
        finally:
            store.close()

    def _scanned(self, table: str) -> list[Row]:
        with self.store() as store:
            return list(store.scan(table, Scan()))


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def test_the_changes_of_dead_letters_follow_the_committed_position(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", b"3")

    assert pipeline.values() == [(BATCH_MS - 1, b"3")]
    first, second = pipeline.changes()
    assert first.time_ms == second.time_ms > BATCH_MS
    assert [column.timestamp_ms for column in (*first.columns, *second.columns)] == [BATCH_MS - 1] * 2
    assert pipeline.newest_committed() == CommittedPosition(first.time_ms, {"t": {"0": 10}}, after_ms=BATCH_MS)


def test_a_replay_that_was_killed_writes_the_same_changes_again(pipeline: Pipeline) -> None:
    pipeline.replay(b"2", b"3", is_marked=False)
    before = pipeline.changes()
    pipeline.replay(b"2", b"3")
    assert pipeline.changes() == before

    pipeline.replay(b"2", b"3")
    assert len(pipeline.changes()) == 4


def test_dead_letters_are_not_replayed_while_the_pipeline_runs(pipeline: Pipeline) -> None:
    checkpoint = Checkpoint(pipeline.checkpoint)
    checkpoint.lock()
    try:
        with pytest.raises(ConflictError):
            pipeline.replay(b"2")
    finally:
        checkpoint.unlock()


def test_dead_letters_of_other_sinks_do_not_split_a_shard_at_their_old_time(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "plain")
    with pipeline.store() as store:
        text = store.properties("values")[FEED]
        change_feed = ChangeFeed.of(text, "values").with_request(SplitRequest(1, b"m"))
        assert store.set_property("values", FEED, text, change_feed.to_text())
    record = Record("t", 0, 3, None, b"2", 5)
    with DeadLetterReplay(
        own_process(pipeline.configuration, CATALOG), pipeline.configuration.pipelines["p"], check_clock=no_clock
    ) as replay:
        (plain,) = (name for name in replay.components.sinks if "plain" in name)
        assert replay([record], BATCH_MS - 1, {record.place: frozenset([plain])})[1] == []
        replay.marked()

    with pipeline.store() as store:
        assert ChangeFeed.of(store.properties("values")[FEED], "values") == change_feed


def test_record_with_a_dead_letter_of_a_sink_and_a_place_changes_each_row_once(tmp_path: Path) -> None:
    """Of a fan-out: one event failed in the sink with the feed, and another, for which there was no room, before it."""
    pipeline = Pipeline(tmp_path, "plain")
    path = tmp_path / "in" / "a"
    path.parent.mkdir()
    path.write_bytes(b"2\n")
    configuration = pipeline.load({"files": {"path": str(path.parent)}})
    record = Record(str(path), 0, 0, b"", b"2", path.stat().st_mtime_ns // 1_000_000)
    names = frozenset({"values", "plain"})

    def letter(component: str, fan_out: int) -> DeadLetter:
        return DeadLetter(
            record=record,
            fan_out=fan_out,
            attributes={},
            pipeline="p",
            component=component,
            code="no",
            message="no",
            batch_time_ms=BATCH_MS,
            fingerprint="f",
        )

    buffer = DeadLetterBuffer(Masks(), offsets=OffsetUnit.BYTES)
    first = letter("values", 0)
    buffer.start(len(first.to_json()))
    buffer.add(first, 1, frozenset({"values"}))
    buffer.add(letter("template", 1), 1, names)
    queue = dead_letter_queue(configuration, configuration.pipelines["p"])
    queue.publish(buffer.lines(), 0, BATCH_MS)
    with DeadLetterReplay(
        own_process(configuration, CATALOG), configuration.pipelines["p"], check_clock=no_clock
    ) as replayer:
        *_, report = replay(
            queue, Selection(), replayer, components=replayer.components, now_ms=now_ms, on_marked=replayer.marked
        )
    assert report.replayed == 2
    assert [len(change.columns) for change in pipeline.changes()] == [1]
    with pipeline.store() as store:
        assert len(list(store.scan("plain", Scan()))) == 1

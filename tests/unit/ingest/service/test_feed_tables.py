"""
A pipeline claims its tables with a change feed: interrupted micro-batches run again as they were, or are completed.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.api import ConflictError, FamilySpec, FeedSpec, Put, TableSpec
from ingest.api.feeds import FEED
from ingest.service.kafka.source import KafkaSource
from ingest.service.tables import OwnerOptions, PipelineTables
from ingest.sources.kafka import KafkaSourceSettings
from ingest.spark.streaming.batch_time import BatchTimes
from ingest.testing.tables import scanned
from sinks.feed.change_feed import ChangeFeed, SplitRequest
from sinks.feed.changes import Op, encoded_change
from sinks.feed.keys import FEED_COLUMN, FeedKey, FeedSequence
from sinks.feed.owned_feeds import OwnedFeeds
from sinks.memory import MemoryStore
from sinks.owning.committed_position import COMMITTED, OWNER, CommittedPosition
from sinks.table_records import ensure_declared
from sinks.writing.driver_store import DriverStore
from tests.support.checkpoint import acknowledge
from tests.support.owned import owned_of
from tests.support.relocked import relocked
from tests.support.sources import driver_context

FED = TableSpec("t", (FamilySpec(b"f"),), feed=FeedSpec(3_600_000))
KAFKA = KafkaSourceSettings.model_validate({"brokers": "localhost:9092", "topics": ["t"]})


class Service:
    """The table of a pipeline with a change feed, over any number of starts; a micro-batch was interrupted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened = ExitStack()
        self.store = MemoryStore(clock_ms=lambda: 1_000)
        self.store.open()
        self.store.close = lambda: None  # type: ignore[method-assign] # its rows outlive each start
        ensure_declared(self.store, FED)
        first = self.start("as before")
        self.owned.half(OwnedFeeds).batches("s", 500)
        acknowledge(folder, 0, {"t": {0: 1}})
        first.complete(0, 500)
        acknowledge(folder, 1, {"t": {0: 2}})
        (folder / "commits" / "1").unlink()
        self.time_ms = self.times.of(1)
        key = FeedKey(1, FeedSequence(self.time_ms, 0, b"a"))
        change = encoded_change(Op.PUT, [Put(b"a", {b"f:q": b"v"}, self.time_ms)])
        self.store.apply("t_feed", [Put(key.encoded(), {FEED_COLUMN: change}, self.time_ms)])

    def start(self, fingerprint: str, *others: TableSpec, now_ms: int = 1_000) -> PipelineTables:
        """Start the pipeline with a configuration and further tables."""
        for spec in others:
            ensure_declared(self.store, spec)
        self.owned = owned_of("p", {"s": DriverStore(self.store)}, {"s": [FED, *others]})
        self.times = BatchTimes(self.folder / "times", lambda: now_ms)
        checkpoint = relocked(self.folder, self.opened)
        found = PipelineTables(
            self.owned,
            checkpoint,
            self.times,
            fingerprint=fingerprint,
            replay=self.folder / "replays" / "updates",
            options=OwnerOptions(),
        )
        found.claim(KafkaSource(KAFKA, driver_context(self.folder)), lambda _batch_id, _time_ms: None)
        checkpoint.note_configuration(fingerprint)
        return found

    def committed(self) -> CommittedPosition:
        """The committed position of the table."""
        return CommittedPosition.of(self.store.properties("t")[COMMITTED], "t")

    def rows(self) -> list[bytes]:
        """The row keys of the table."""
        return [row.key for row in scanned(self.store, "t")]

    def lose_checkpoint(self) -> None:
        """Remove the checkpoint."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file():
                path.unlink()

    def split(self) -> None:
        """Request a split of the first shard."""
        change_feed = ChangeFeed.of(self.store.properties("t")[FEED], "t")
        requested = change_feed.with_request(SplitRequest(1, b"m"))
        assert self.store.set_property("t", FEED, change_feed.to_text(), requested.to_text())


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    with made.opened:
        yield made


def test_a_start_that_one_table_refuses_closes_no_feed(service: Service) -> None:
    others = TableSpec("counts", (FamilySpec(b"f"),), updates='{"processor": "sum"}')
    ensure_declared(service.store, others)
    assert service.store.set_property("counts", OWNER, None, "q")
    service.owned = owned_of("p", {"s": DriverStore(service.store)}, {"s": [others]}, {"s": ["t"]})
    checkpoint = relocked(service.folder, service.opened)
    replay = service.folder / "replays" / "updates"
    tables = PipelineTables(
        service.owned, checkpoint, service.times, fingerprint="x", replay=replay, options=OwnerOptions()
    )
    with pytest.raises(ConflictError, match='pipeline "q" owns table "counts"'):
        tables.claim(KafkaSource(KAFKA, driver_context(service.folder)), lambda _batch_id, _time_ms: None)
    assert FEED in service.store.properties("t")


def test_an_interrupted_batch_runs_again_with_its_shards(service: Service) -> None:
    service.split()
    service.start("as before")

    assert (service.times.of(1), service.rows(), service.committed().time_ms) == (service.time_ms, [], 500)
    assert service.owned.half(OwnedFeeds).batches("s", service.time_ms)["t"].shards.numbers == (1,)
    assert service.owned.half(OwnedFeeds).batches("s", service.time_ms + 2)["t"].shards.numbers == (2, 3)


def test_an_interrupted_batch_is_completed_before_it_runs_with_another_configuration(service: Service) -> None:
    service.split()
    service.start("changed")

    assert (service.rows(), service.committed()) == ([b"a"], CommittedPosition(service.time_ms, {"t": {"0": 1}}))
    later_ms = service.times.of(1)
    assert later_ms > service.time_ms
    assert service.owned.half(OwnedFeeds).batches("s", later_ms)["t"].shards.numbers == (2, 3)


def test_an_interrupted_batch_is_completed_under_a_new_checkpoint(service: Service) -> None:
    service.lose_checkpoint()
    service.start("as before")

    assert (service.rows(), service.committed().time_ms) == ([b"a"], service.time_ms)
    assert service.times.of(0) > service.time_ms


def test_a_new_checkpoint_starts_after_the_newest_shards_though_the_clock_was_set_back(service: Service) -> None:
    service.start("as before").complete(1, service.time_ms)
    service.split()
    service.owned.half(OwnedFeeds).batches("s", 8_000)  # killed before any task wrote a change
    service.lose_checkpoint()
    service.start("as before", now_ms=5_000)

    assert service.times.of(0) > 8_000


def test_an_interrupted_batch_below_the_shards_of_a_former_owner_runs_above_them(service: Service) -> None:
    service.split()
    service.owned.half(OwnedFeeds).batches("s", 8_000)
    service.start("as before")

    assert service.times.of(1) > 8_000


def test_a_batch_whose_changes_were_completed_runs_at_a_later_time_though_its_configuration_is_back(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(BatchTimes, "renew", killed)
        with pytest.raises(KeyboardInterrupt):
            service.start("changed")
    assert service.committed() == CommittedPosition(service.time_ms, {"t": {"0": 1}})
    tables = service.start("as before")

    assert service.times.of(1) > service.time_ms
    assert not tables.is_complete(1, service.times.of(1))


def test_a_batch_whose_updates_readers_of_a_feed_have_does_not_run_with_another_configuration(
    service: Service,
) -> None:
    sums = replace(FED, name="sums", updates='{"processor": "sum"}')
    service.start("as before", sums)
    committed = service.store.properties("sums")[COMMITTED]
    moved = CommittedPosition(service.time_ms, {"t": {"0": 2}}).to_text()
    assert service.store.set_property("sums", COMMITTED, committed, moved)  # killed before the other table
    for _ in range(2):
        with pytest.raises(ConflictError, match="feed of sums may have the updates of batch 1") as caught:
            service.start("changed", sums)
    assert caught.value.code == "batch_shown"
    tables = service.start("as before", sums)
    tables.complete(1, service.time_ms)

    service.start("changed", sums)
    assert service.times.of(1) == service.time_ms


def killed(*_: object) -> None:
    raise KeyboardInterrupt

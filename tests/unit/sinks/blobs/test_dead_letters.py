"""Large values of records that fail: in the blob store, while their dead letters have the id."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from ingest.api import Batch, ErrorBudgetSpentError, Scan, Store, TaskSpec, WriteCounts
from ingest.api.table_feature import DeadLetterPlace
from ingest.catalog import Catalog
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.dead_letters.blobs import DeadLetterBlob
from ingest.plan.assemble import plan_of
from ingest.receipt import Counts
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.dead_letters import StoredDeadLetterCommitter, StoredDeadLetters
from sinks.blobs.errors import BlobGoneError
from sinks.blobs.large_values import LargeValues
from sinks.memory import MemoryStore
from sinks.updates.feature import Updates
from sinks.writing.driver_store import DriverStore
from tests.support.counted import counted_blobs
from tests.support.killed_stores import KilledError
from tests.support.large_dead_letters import run, written

T = TypeVar("T")
LARGE, OTHER, SMALL = b"l" * 2_500_000, b"o" * 2_000, b"s" * 1_000
DAY_MS = 24 * 3_600_000


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return written(tmp_path)


def in_store(configuration: Configuration, look: Callable[[Store], T]) -> T:
    store = Catalog().load("stores", "rocksdb")(configuration.stores["s"].settings)
    store.open()
    try:
        return look(store)
    finally:
        store.close()


def references(configuration: Configuration) -> list[bytes]:
    return in_store(configuration, lambda store: [row.key[32:] for row in store.scan("events_blobs_refs", Scan())])


def content(configuration: Configuration, blob: DeadLetterBlob) -> bytes:
    def read(store: Store) -> bytes:
        with BlobStore(store, f"{blob.table}_blobs", BlobOptions()).open(bytes.fromhex(blob.id)) as reader:
            return reader.readall()

    return in_store(configuration, read)


def reference(offset: int) -> bytes:
    return b"dead-letter/p/1000/in/a.log/0/%d/0/json" % offset


def test_large_value_is_in_the_blob_store(configuration):
    letters, moved = run(configuration, 1_000, LARGE, SMALL, b"{}", OTHER, LARGE)
    assert [each.record.value for each in letters] == [None, SMALL, None, None]
    blobs = [each.blob for each in letters]
    assert blobs[0] == blobs[3] == DeadLetterBlob("events", hashlib.sha256(LARGE).hexdigest(), len(LARGE))
    assert blobs[1] is None
    assert (content(configuration, blobs[0]), content(configuration, blobs[2])) == (LARGE, OTHER)
    assert moved.counted == counted_blobs("events", 2, len(LARGE) + len(OTHER), 1)
    assert sorted(references(configuration)) == [reference(offset) for offset in (0, 3, 4)]
    assert list(Path(configuration.local_dir).rglob("*.blobs")) == []


def test_batch_that_runs_again_leaves_one_reference(configuration):
    first, _ = run(configuration, 1_000, LARGE)
    again, moved = run(configuration, 1_000, LARGE)
    assert first == again
    assert moved.counted == counted_blobs("events", deduplicated=1)
    assert references(configuration) == [reference(0)]


def test_batch_that_is_not_committed_leaves_nothing(configuration):
    def refuse(_counts: Counts, dead_letters: Sequence[bytes]) -> None:
        raise ErrorBudgetSpentError(f"{len(dead_letters)} failed")

    with pytest.raises(ErrorBudgetSpentError, match="2 failed"):
        run(configuration, 1_000, LARGE, OTHER, check=refuse)
    assert list(Path(configuration.local_dir).rglob("*.blobs")) == []
    assert references(configuration) == []
    assert in_store(configuration, lambda store: list(store.scan("events_blobs_meta", Scan()))) == []


def test_plan_of_other_sinks_has_no_blob_store(configuration):
    plan = plan_of(configuration, configuration.pipelines["p"], Catalog())
    assert plan.dead_letter_place is not None
    assert plan.with_tables(["absent"], Updates.name).dead_letter_place is None


def test_driver_that_is_killed_at_each_write(configuration):
    for calls in range(40):
        try:
            letters, _ = run(configuration, 1_000, LARGE, OTHER, calls=calls)
        except KilledError:
            continue
        break
    assert 5 < calls < 39
    assert sorted(references(configuration)) == [reference(0), reference(1)]
    assert [content(configuration, each.blob) for each in letters] == [LARGE, OTHER]


def test_sweep_keeps_the_blob_of_a_dead_letter_until_it_is_unpinned(configuration):
    (letter,), _ = run(configuration, 1_000, LARGE)
    later_ms = now_ms()

    def swept(store: Store, unpinned: bool = False) -> tuple[int, int]:
        nonlocal later_ms
        later_ms += 2 * DAY_MS
        blobs = BlobStore(store, "events_blobs", BlobOptions(), owner="events", clock_ms=lambda: later_ms)
        if unpinned:
            blobs.unpin(bytes.fromhex(letter.blob.id), letter.blob_reference)
        counts = blobs.sweep()
        return counts.referenced, counts.purged

    assert [in_store(configuration, swept) for _ in range(3)] == [(1, 0)] * 3
    assert content(configuration, letter.blob) == LARGE
    assert in_store(configuration, lambda store: swept(store, unpinned=True)) == (0, 0)
    assert in_store(configuration, swept) == (0, 1)


def test_blob_store_of_the_first_sink_that_has_one(tmp_path):
    blobs = {"threshold": "1000B"}
    tables = {
        "plain": {"families": {"f": {}}},
        "unused": {"families": {"f": {}}, "blobs": {}},
        "first": {"families": {"f": {}}, "blobs": blobs},
        "second": {"families": {"f": {}}, "blobs": blobs},
    }
    for sinks, table in (
        (("plain", "unused"), None),
        (("plain", "second", "first"), "second"),
        (("first", "second"), "first"),
        (("%{table}",), "first"),
    ):
        configuration = written(tmp_path, sinks, tables)
        place = plan_of(configuration, configuration.pipelines["p"], Catalog()).dead_letter_place
        assert (None if place is None else place.table) == table


class TestStoreOfTasks:
    """A store that several processes may write, as HBase: tasks store the values, and the driver pins them."""

    PLACE = DeadLetterPlace("s", "events", LargeValues("events_blobs", BlobOptions(), 1_000))
    REFERENCE = b"dead-letter/p/1000/t/0/0/0/json"

    @pytest.fixture
    def store(self) -> MemoryStore:
        store = MemoryStore()
        store.open()
        return store

    def kept(self, store: Store, value: bytes = LARGE) -> tuple[bytes, WriteCounts]:
        sink = StoredDeadLetters(self.PLACE, store)
        counts = WriteCounts()
        sink.begin(TaskSpec(Batch("1", 1_000, "1-0")), b"", counts)
        assert sink.keep(value, self.REFERENCE) == hashlib.sha256(value).hexdigest()
        return sink.flush().payload, counts

    def references(self, store: Store) -> list[bytes]:
        return [row.key[32:] for row in store.scan("events_blobs_refs", Scan())]

    def test_attempt_that_is_given_up_leaves_no_reference(self, store):
        _, counts = self.kept(store)
        assert counts.counted == counted_blobs("events", 1, len(LARGE))
        assert self.references(store) == []

    def test_committed_batch_leaves_one_reference(self, store):
        committer = StoredDeadLetterCommitter(self.PLACE, DriverStore(store))
        for attempt in ("1-0", "2-0"):
            payload, _ = self.kept(store)
            committer.commit(Batch("1", 1_000, attempt), [b"", payload])
        assert self.references(store) == [self.REFERENCE]
        with BlobStore(store, "events_blobs", BlobOptions()).open(hashlib.sha256(LARGE).digest()) as reader:
            assert reader.readall() == LARGE

    def test_blob_that_was_swept_before_the_commit_stops_the_batch(self, store):
        payload, _ = self.kept(store)
        later_ms = now_ms()
        for _ in range(2):
            later_ms += 2 * DAY_MS
            BlobStore(store, "events_blobs", BlobOptions(), clock_ms=lambda: later_ms).sweep()  # noqa: B023
        with pytest.raises(BlobGoneError, match="start the pipeline again"):
            StoredDeadLetterCommitter(self.PLACE, DriverStore(store)).commit(Batch("1", 1_000, "1-0"), [payload])
        assert self.references(store) == []

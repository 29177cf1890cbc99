"""Blobs that dumps and unexpired changes of the feed may name are kept, and no longer."""

import hashlib
import random

import pytest

from ingest.api import Cell, Delete, FamilySpec, Put, Row, Scan, StoreUnavailableError, TableSpec
from ingest.api.feeds import MARGIN_S, feed_table
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import Pointer
from sinks.blobs.retention_horizon import Copy, RetentionHorizon
from sinks.blobs.sweep import SweepCounts
from sinks.feed.changes import Change
from sinks.feed.keys import FeedKey
from sinks.files.local_root import LocalRoot
from tests.support.dumps import make_dump
from tests.support.feeds import FeedFixture
from tests.support.memory_root import MemoryRoot

DAY_S = 24 * 3600
DAY_MS = DAY_S * 1000
OPTIONS = BlobOptions(block_bytes=1000)
RULES = {"events": LargeValues("events_blobs", OPTIONS, 100)}
LARGE = random.Random(3).randbytes(2_500)
BLOB = hashlib.sha256(LARGE).digest()
EXPIRATION_S = 3 * DAY_S


@pytest.fixture
def blobs(store, clock) -> BlobStore:
    store.ensure_table(TableSpec("events", (FamilySpec(b"d"),)))
    made = BlobStore(store, "events_blobs", OPTIONS, owner="events", clock_ms=clock)
    made.prepare()
    return made


@pytest.fixture
def moved(store, blobs, clock):
    """A large value is in the row; its cell refers to the blob."""
    BlobMovingStore(store, RULES, clock_ms=clock).apply("events", [Put(b"r", {b"d:a": LARGE}, 5)])
    assert blobs.sweep().referenced == 1


def cells_of(store, row: bytes = b"r") -> tuple[Cell, ...]:
    found = store.get("events", row)
    return () if found is None else found.cells


def dump(root, store, clock, **options) -> str:
    """A complete dump of the table as it is now; returns its name."""
    rows = list(store.scan("events", Scan()))
    return make_dump(root, {"events": [rows] if rows else []}, at_ms=clock(), run_id=f"{clock()}", **options).dump


def remove(root, name: str) -> None:
    for path, _ in root.files_below(name):
        root.remove_file(path)


class TestRetentionHorizon:
    def test_blob_that_could_be_swept_before_the_oldest_copy(self):
        copy = Copy("old", 1_000)
        assert RetentionHorizon(9_000, copy).keeping(901, 100) == copy
        assert RetentionHorizon(9_000, copy).keeping(900, 100) is None
        assert RetentionHorizon(9_000).keeping(8_000, 100) is None

    def test_oldest_dump_of_several_roots_or_the_feed(self, store, blobs, clock, tmp_path):
        roots = [MemoryRoot(), LocalRoot(tmp_path), MemoryRoot()]
        store.apply("events", [Put(b"r", {b"d:a": b"v"}, 5)])
        dump(roots[1], store, clock)
        start_ms = clock() // 1000 * 1000
        clock.advance(DAY_S)
        dump(roots[0], store, clock)
        horizon = RetentionHorizon.of_dumps(roots, "events", clock_ms=clock)
        assert (horizon.at_ms, horizon.oldest) == (clock(), Copy(f"dump {tmp_path}/2023-11-14-22-13-20", start_ms))
        FeedFixture(store, "events", expiration_ms=DAY_MS, time_ms=clock())
        assert horizon.with_feed(store, "events").oldest == Copy(
            "change feed of table events", clock() - DAY_MS - 3_600_000
        )

    def test_feed_of_a_table(self, store, blobs, clock):
        assert RetentionHorizon(clock()).with_feed(store, "events").oldest is None
        feed = FeedFixture(store, "events", expiration_ms=EXPIRATION_S * 1000, time_ms=clock())
        since_ms = clock() - (EXPIRATION_S + MARGIN_S) * 1000
        assert RetentionHorizon(clock()).with_feed(store, "events").oldest == Copy(
            "change feed of table events", since_ms
        )
        feed.close_feed()
        assert RetentionHorizon(clock()).with_feed(store, "events").oldest == Copy(
            "change feed of table events", since_ms
        )

    def test_feed_whose_store_keeps_its_rows_for_ever(self, store, blobs, clock):
        """Readers are refused after the expiration; of a closed feed they read nothing."""
        store.ensure_table(TableSpec(feed_table("events"), (FamilySpec(b"f"),)))
        assert RetentionHorizon(clock()).with_feed(store, "events").oldest is None
        FeedFixture(store, "events", expiration_ms=EXPIRATION_S * 1000, time_ms=clock())
        since_ms = clock() - (EXPIRATION_S + MARGIN_S) * 1000
        assert RetentionHorizon(clock()).with_feed(store, "events").oldest == Copy(
            "change feed of table events", since_ms
        )


@pytest.mark.usefixtures("moved")
class TestDumps:
    def test_2c9_blob_that_only_a_dump_names(self, store, blobs, clock, tmp_path):
        root = LocalRoot(tmp_path / "dumps")

        def swept(**options) -> SweepCounts:
            return blobs.sweep(RetentionHorizon.of_dumps([root], "events", clock_ms=clock), **options)

        name = dump(root, store, clock)
        clock.advance(1)
        store.apply("events", [Delete(b"r", clock())])
        clock.advance(2 * DAY_S)
        assert (swept().dropped, swept().unreferenced) == (1, 1)
        for _ in range(5):
            clock.advance(30 * DAY_S)
            named = []
            assert swept(is_dry_run=True, on_named=lambda *found, named=named: named.append(found)).named == 1
            assert [(blob, copy.name) for blob, copy in named] == [(BLOB, f"dump {tmp_path}/dumps/{name}")]
            assert swept() == SweepCounts(blobs=1, named=1)
            assert blobs.open(BLOB).read() == LARGE
        clock.advance(1)
        dump(root, store, clock)  # without the row
        remove(root, name)
        assert swept().purged == 1

    def test_newer_dump_does_not_keep_what_had_no_reference_before(self, store, blobs, clock):
        """Neither does the dump that began when a sweep could already delete the blob."""
        store.apply("events", [Delete(b"r", 5), Put(b"s", {b"d:a": b"small"}, 6)])
        clock.advance(DAY_S)
        assert blobs.sweep().dropped == 1
        clock.advance(DAY_S)
        root = MemoryRoot()
        dump(root, store, clock)
        clock.advance(1)
        assert blobs.sweep(RetentionHorizon.of_dumps([root], "events", clock_ms=clock)).purged == 1

    def test_blob_that_was_dropped_after_the_sweep_began(self, store, blobs, clock):
        """A dump that begins after the roots were read has no blob that this sweep deletes."""
        root = MemoryRoot()
        horizon = RetentionHorizon.of_dumps([root], "events", clock_ms=clock)
        dump(root, store, clock)
        store.apply("events", [Delete(b"r", 5)])
        clock.advance(DAY_S)
        assert blobs.sweep().dropped == 1
        clock.advance(DAY_S)
        assert blobs.sweep(horizon) == SweepCounts(blobs=1, unreferenced=1)
        assert blobs.open(BLOB).read() == LARGE

    def test_root_that_cannot_be_read_ends_the_sweep(self, tmp_path):
        (tmp_path / "dumps").write_text("")
        with pytest.raises(StoreUnavailableError):
            RetentionHorizon.of_dumps([LocalRoot(tmp_path / "dumps")], "events")


@pytest.mark.usefixtures("moved")
class TestFeed:
    def changed(self, store, clock) -> FeedFixture:
        """The threshold was removed and a feed declared; a change replaces the value, and has the pointer."""
        feed = FeedFixture(store, "events", expiration_ms=EXPIRATION_S * 1000, time_ms=clock())
        row = {b"r": [Put(b"r", {b"d:a": b"small"}, clock())]}
        feed.batch(row, clock(), before={b"r": cells_of(store)})
        return feed

    @pytest.mark.parametrize("is_closed", [False, True])
    def test_2c9_blob_that_only_a_change_names(self, store, blobs, clock, is_closed):
        feed = self.changed(store, clock)
        if is_closed:
            feed.close_feed()
        clock.advance(DAY_S)
        assert blobs.sweep().dropped == 1
        clock.advance(DAY_S)
        named = []
        counts = blobs.sweep(on_named=lambda *found: named.append(found))
        assert (counts, named[0][1].name) == (SweepCounts(blobs=1, named=1), "change feed of table events")
        clock.advance(EXPIRATION_S + MARGIN_S - DAY_S)
        assert rows_with_pointers(store) == {}
        assert blobs.open(BLOB).read() == LARGE
        clock.advance(DAY_S)
        assert blobs.sweep().purged == 1

    def test_2c9_micro_batch_that_runs_again_keeps_what_was_before(self, store, blobs, clock):
        """Its feed row was written and its row was not; it is blocked for days."""
        feed = FeedFixture(store, "events", expiration_ms=EXPIRATION_S * 1000, time_ms=clock())
        time_ms, before = clock(), {b"r": cells_of(store)}
        row = {b"r": [Put(b"r", {b"d:a": b"small"}, time_ms)]}
        feed.batch({}, time_ms, is_complete=False)
        clock.advance(EXPIRATION_S)
        assert blobs.sweep().referenced == 1
        feed.batch(row, time_ms, before=before)
        clock.advance(MARGIN_S - 1)
        blobs.sweep()
        assert rows_with_pointers(store) == {BLOB: 1}
        assert blobs.open(BLOB).read() == LARGE


def rows_with_pointers(store) -> dict[bytes, int]:
    """Blob -> number of its pointers in the changes that are left, before and after them."""
    found: dict[bytes, int] = {}
    for row in store.scan(feed_table("events"), Scan()):
        change = Change.decoded(FeedKey.decoded(row.key), row.cells[0].value)
        values = [cell.value for cell in change.before or ()] + [each.value or b"" for each in change.columns]
        for pointer in filter(None, map(Pointer.of_value, values)):
            found[pointer.blob] = found.get(pointer.blob, 0) + 1
    return found


def pointers_of(rows: list[Row]) -> set[bytes]:
    pointers = (Pointer.of_value(cell.value) for row in rows for cell in row.cells)
    return {pointer.blob for pointer in pointers if pointer is not None}

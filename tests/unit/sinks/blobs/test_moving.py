"""Large values of rows are moved into a blob store, and stay there while a cell points to them."""

import contextlib
import hashlib
import json
import random

import pytest

from ingest.api import (
    Cell,
    Delete,
    FamilySpec,
    FeedSpec,
    NoTableError,
    Put,
    Row,
    Scan,
    TableSpec,
    WriteRejectedError,
)
from ingest.api.blobs import MIN_SWEEP_AFTER_S
from ingest.plan.features import connection
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.errors import BlobsDifferError, BlobsElsewhereError, BlobsOfOtherTableError
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import BlobMovingStore
from sinks.blobs.pointers import Pointer, cell_reference, is_large
from sinks.blobs.resolving import resolved
from sinks.blobs.resolving_reader import ResolvingReader
from sinks.blobs.status import BlobState
from sinks.memory import MemoryStore
from sinks.scanning.plain_reader import PlainReader
from tests.support.blob_findings import findings
from tests.support.killed_stores import KilledError, KilledStore

DAY_S = 24 * 3600
OPTIONS = BlobOptions(block_bytes=1000)
RULES = {"events": LargeValues("events_blobs", OPTIONS, 100)}
LARGE = random.Random(3).randbytes(2_500)
OTHER = random.Random(4).randbytes(200)


@pytest.fixture
def store(clock) -> MemoryStore:
    made = MemoryStore(clock_ms=clock)
    made.open()
    for table in ("events", "others"):
        made.ensure_table(TableSpec(table, (FamilySpec(b"f", versions=2),)))
    return made


@pytest.fixture
def blobs(store, clock) -> BlobStore:
    made = BlobStore(store, "events_blobs", OPTIONS, owner="events", clock_ms=clock)
    made.prepare()
    return made


@pytest.fixture
def mover(store, clock) -> BlobMovingStore:
    return BlobMovingStore(store, RULES, clock_ms=clock)


def values(store, row: bytes = b"r", versions: int = 1) -> list[bytes]:
    found = store.get("events", row, versions=versions)
    return [] if found is None else [cell.value for cell in found.cells]


class TestPointers:
    def test_pointer_is_four_bytes_and_json(self):
        value = Pointer(b"\x01" * 32, 5).to_value()
        assert value[:4] == bytes.fromhex("00425001")
        assert json.loads(value[4:]) == {"~blob": "01" * 32, "length": 5}
        assert Pointer.of_value(value) == Pointer(b"\x01" * 32, 5)

    @pytest.mark.parametrize("rest", [b"", b"{", b"[]", b"1", b"{}", b'{"~blob":"01","length":1}', b'{"~blob":1}'])
    def test_other_values_are_no_pointers(self, rest):
        assert Pointer.of_value(b"\x00BP\x01" + rest) is None
        assert Pointer.of_value(rest) is None

    def test_value_that_begins_as_a_pointer_is_moved(self):
        assert [is_large(value, 4) for value in (b"\x00BP\x01", b"\x00BP\x02", b"12345", b"")] == [
            True,
            False,
            True,
            False,
        ]


def test_large_values_are_moved_and_read_back(store, blobs, mover):
    small = {b"f:small": b"1" * 100, b"f:empty": b""}
    put = Put(b"r", {b"f:large": LARGE} | small, 5)
    mover.apply("events", [put, Put(b"s", {b"f:q": LARGE}, 6), Delete(b"t", 5)])
    mover.apply("others", [Put(b"r", {b"f:q": LARGE}, 5)])
    assert put.columns[b"f:large"] == LARGE
    assert store.get("others", b"r") == Row(b"r", (Cell(b"f", b"q", 5, LARGE),))
    row = store.get("events", b"r")
    assert row is not None
    pointer = Pointer.of_value(row.cells[1].value)
    assert pointer is not None
    assert pointer.length == 2_500
    assert blobs.references(pointer.blob) == [cell_reference(b"r", b"f:large"), cell_reference(b"s", b"f:q")]
    assert {cell.qualifier: cell.value for cell in resolved(blobs, row).cells} == {
        b"large": LARGE,
        b"small": b"1" * 100,
        b"empty": b"",
    }
    reader = ResolvingReader(PlainReader.of(store, "events"), lambda row: resolved(blobs, row))
    assert [(row.key, LARGE in {cell.value for cell in row.cells}) for row in reader.scan(Scan())] == [
        (b"r", True),
        (b"s", True),
    ]
    assert (reader.get(b"s") or row).cells[0].value == LARGE
    assert reader.get(b"absent") is None


def test_2c4_moved_values_are_counted(store, blobs, clock):
    mover = BlobMovingStore(store, RULES, clock_ms=clock)
    mover.apply("events", [Put(b"r", {b"f:a": LARGE, b"f:b": OTHER, b"f:c": b"small"}, 5)])
    mover.apply("events", [Put(b"s", {b"f:a": LARGE}, 5)])
    assert mover.take_counted() == {
        ("blobs_stored", "events"): 2,
        ("blobs_stored_bytes", "events"): 2_700,
        ("blobs_deduplicated", "events"): 1,
    }
    mover.apply("events", [Put(b"s", {b"f:a": LARGE}, 5)])
    assert mover.take_counted() == {("blobs_deduplicated", "events"): 1}
    assert mover.take_counted() == {}


def test_batch_that_runs_again_writes_the_same(store, blobs, clock):
    put = Put(b"r", {b"f:a": LARGE, b"f:b": OTHER}, 5)
    for calls in range(20):
        with contextlib.suppress(KilledError):
            BlobMovingStore(KilledStore(store, calls), RULES, clock_ms=clock).apply("events", [put])
            break
        assert values(store) == []
    assert calls > 5
    BlobMovingStore(store, RULES, clock_ms=clock).apply("events", [put])
    row = store.get("events", b"r")
    assert row is not None
    assert [cell.value for cell in resolved(blobs, row).cells] == [LARGE, OTHER]
    assert len(list(store.scan("events_blobs_value", Scan()))) == 4
    assert len(list(store.scan("events_blobs_refs", Scan()))) == 2


def test_row_key_that_is_too_long_for_a_reference_is_rejected(mover, blobs, store):
    puts = [Put(b"r", {b"f:q": LARGE}, 5), Put(b"k" * 32_760, {b"f:q": LARGE}, 5)]
    with pytest.raises(WriteRejectedError) as caught:
        mover.apply("events", puts)
    assert (caught.value.indexes, caught.value.code) == ([1], "row_key_too_long")
    assert values(store) == []


def test_missing_table_of_blobs_blocks():
    store = MemoryStore()
    store.capabilities = type(store).capabilities.__class__(True, True, False)
    store.open()
    store.ensure_table(TableSpec("events", (FamilySpec(b"f"),)))
    with pytest.raises(NoTableError, match="events_blobs_meta"):
        BlobMovingStore(store, RULES).apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])


@pytest.mark.parametrize("suffix", ["meta", "value", "refs"])
def test_table_that_is_dropped_blocks(store, blobs, mover, suffix):
    mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
    del store._tables[f"events_blobs_{suffix}"]
    with pytest.raises(NoTableError, match=f"events_blobs_{suffix}"):
        mover.apply("events", [Put(b"s", {b"f:q": OTHER}, 5)])


def test_2c14_changed_option_is_refused_when_the_store_is_opened(store, blobs, mover):
    mover.open()
    changed = {"events": LargeValues("events_blobs", BlobOptions(block_bytes=2000), 100)}
    with pytest.raises(BlobsDifferError, match=r"1000.*2000"):
        BlobMovingStore(store, changed).open()
    store.open()
    absent = {"events": LargeValues("absent", BlobOptions(block_bytes=2000), 100)}
    BlobMovingStore(store, absent).open()
    assert "absent_meta" not in store.tables()


def test_blob_store_of_another_table_is_refused(store, mover):
    put = Put(b"r", {b"f:q": LARGE}, 5)
    mover.apply("events", [put])
    other = BlobMovingStore(store, {"others": RULES["events"]})
    with pytest.raises(BlobsOfOtherTableError, match='belongs to table "events"'):
        other.apply("others", [put])
    with pytest.raises(BlobsOfOtherTableError):
        other.open()


def test_another_blob_store_of_the_table_is_refused(store, mover):
    put = Put(b"r", {b"f:q": LARGE}, 5)
    mover.apply("events", [put])
    renamed = BlobMovingStore(store, {"events": LargeValues("renamed", OPTIONS, 100)})
    for use in (lambda: renamed.apply("events", [put]), renamed.open):  # `open` closes the store
        with pytest.raises(BlobsElsewhereError, match='in the blob store "events_blobs"'):
            use()


def test_store_without_rules_is_used_as_it_is(store):
    assert connection(store, {"events": {"feed": FeedSpec(1)}}) is store
    assert isinstance(connection(store, {"events": {"blobs": RULES["events"]}}), BlobMovingStore)


class TestSweep:
    """References of cells are dropped once no version of the cell has the pointer."""

    def swept(self, blobs, clock) -> tuple[int, int]:
        """Referenced and dropped, a day later."""
        clock.advance(DAY_S)
        counts = blobs.sweep()
        return counts.referenced, counts.dropped

    def test_value_that_is_replaced_in_all_versions(self, store, blobs, mover, clock):
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        assert self.swept(blobs, clock) == (1, 0)
        mover.apply("events", [Put(b"r", {b"f:q": OTHER}, 6)])
        assert self.swept(blobs, clock) == (2, 0)  # the older version still has it
        mover.apply("events", [Put(b"r", {b"f:q": b"small"}, 7)])
        clock.advance(DAY_S)
        counts = blobs.sweep(is_dry_run=True)
        assert (counts.referenced, counts.dropped) == (1, 1)
        assert self.swept(blobs, clock) == (1, 1)
        assert self.swept(blobs, clock) == (1, 0)
        found = store.get("events", b"r", versions=2)
        assert [cell.value for cell in resolved(blobs, found).cells] == [b"small", OTHER]
        assert len(list(store.scan("events_blobs_value", Scan()))) == 1
        assert findings(blobs) == []

    def test_row_that_is_deleted(self, store, blobs, mover, clock):
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        store.apply("events", [Delete(b"r", 5)])
        assert self.swept(blobs, clock) == (0, 1)
        self.swept(blobs, clock)
        assert list(store.scan("events_blobs_value", Scan())) == []

    def test_value_that_expires(self, store, blobs, mover, clock):
        store.change_family("events", FamilySpec(b"f", ttl_s=DAY_S // 2))
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, clock())])
        assert self.swept(blobs, clock) == (0, 1)

    def test_batch_between_reference_and_pointer(self, store, blobs, clock):
        """A sweep between the reference and the pointer, also long after the batch time, removes neither."""
        with pytest.raises(KilledError):
            BlobMovingStore(KilledStore(store, 6), RULES, clock_ms=clock).apply(
                "events", [Put(b"r", {b"f:q": LARGE}, 5)]
            )
        assert values(store) == []
        assert len(list(store.scan("events_blobs_refs", Scan()))) == 1
        clock.advance(DAY_S - 1)
        assert blobs.sweep().dropped == 0
        BlobMovingStore(store, RULES, clock_ms=clock).apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        assert self.swept(blobs, clock) == (1, 0)

    def test_batch_that_is_blocked_for_longer_than_sweep_after(self, store, blobs, clock):
        put = Put(b"r", {b"f:q": LARGE}, 5)
        with pytest.raises(KilledError):
            BlobMovingStore(KilledStore(store, 6), RULES, clock_ms=clock).apply("events", [put])
        assert self.swept(blobs, clock) == (0, 1)
        assert self.swept(blobs, clock) == (0, 0)
        assert list(store.scan("events_blobs_value", Scan())) == []
        BlobMovingStore(store, RULES, clock_ms=clock).apply("events", [put])
        assert resolved(blobs, store.get("events", b"r")).cells[0].value == LARGE

    @pytest.mark.parametrize("share", [0.4, 1, 2], ids=["shorter", "dropped", "purged"])
    def test_call_that_lasts_long(self, store, blobs, clock, share):
        """Sweeps between the reference and the pointer, and after it, leave a readable blob, which is counted once."""

        class Slow:
            """A store whose write of the row lasts long, with a sweep in each `sweep_after`."""

            def __getattr__(self, name):
                return getattr(store, name)

            def apply(self, table, mutations):
                if table == "events":
                    for _ in range(max(1, int(share))):
                        clock.advance(int(DAY_S * min(1, share)))
                        blobs.sweep()
                store.apply(table, mutations)

        put = Put(b"r", {b"f:q": LARGE}, 5)
        mover = BlobMovingStore(Slow(), RULES, clock_ms=clock)
        mover.apply("events", [put])
        assert mover.take_counted() == {("blobs_stored", "events"): 1, ("blobs_stored_bytes", "events"): 2_500}
        for _ in range(3):
            self.swept(blobs, clock)
        assert resolved(blobs, store.get("events", b"r")).cells[0].value == LARGE
        assert len(list(store.scan("events_blobs_refs", Scan()))) == 1

    @pytest.mark.parametrize("seconds", [61, 170, 1300])
    def test_sweep_after_is_lowered_while_a_task_has_the_old_one(self, store, blobs, clock, seconds):
        """A call of a task with 24 hours lasts long, while another process sweeps with the least `sweep_after`."""
        options = BlobOptions(block_bytes=1000, sweep_after_s=MIN_SWEEP_AFTER_S)
        sweeper = BlobStore(store, "events_blobs", options, owner="events", clock_ms=clock)

        def sweep(times: int) -> None:
            for _ in range(times):
                clock.advance(MIN_SWEEP_AFTER_S + 1)
                sweeper.sweep()

        class Slow:
            def __getattr__(self, name):
                return getattr(store, name)

            def apply(self, table, mutations):
                if table == "events":
                    sweep(seconds // (MIN_SWEEP_AFTER_S + 1))
                store.apply(table, mutations)

        mover = BlobMovingStore(Slow(), RULES, clock_ms=clock)
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        sweep(3)
        assert resolved(sweeper, store.get("events", b"r")).cells[0].value == LARGE

    @pytest.mark.parametrize("was_swept", [True, False])
    def test_reference_that_is_pinned_again_while_a_sweep_drops_it(self, store, blobs, mover, clock, was_swept):
        put = Put(b"r", {b"f:q": LARGE}, 5)
        mover.apply("events", [put])
        if was_swept:  # the status has no time that storing the value again would change
            assert blobs.sweep().referenced == 1
        store.apply("events", [Delete(b"r", 4)])

        class Late:
            """A store in which a task writes the row again, after the sweep has read the cell."""

            def __getattr__(self, name):
                return getattr(store, name)

            def get(self, table, row, **options):
                found = store.get(table, row, **options)
                if table == "events":
                    mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 9)])
                    return None
                return found

        clock.advance(DAY_S)
        late = BlobStore(Late(), "events_blobs", OPTIONS, owner="events", clock_ms=clock)
        assert late.sweep().dropped == was_swept
        for _ in range(3):
            self.swept(blobs, clock)
        assert resolved(blobs, store.get("events", b"r")).cells[0].value == LARGE

    @pytest.mark.parametrize("calls", range(4))
    def test_2c10_sweep_that_is_killed_while_it_drops_the_last_reference(self, store, blobs, mover, clock, calls):
        """The time of an earlier status is never that since which nothing refers to the blob."""
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        store.apply("events", [Delete(b"r", 5)])
        clock.advance(2 * DAY_S)
        killed = BlobStore(KilledStore(store, calls), "events_blobs", OPTIONS, owner="events", clock_ms=clock)
        with contextlib.suppress(KilledError):
            killed.sweep()
        assert blobs.sweep().purged == 0
        clock.advance(DAY_S - 1)
        assert blobs.sweep().purged == 0
        clock.advance(1)
        assert blobs.sweep().purged == 1

    def test_reference_of_a_task_that_was_killed_before_it_found_no_blob(self, store, blobs, mover, clock):
        mover.apply("events", [Put(b"r", {b"f:q": LARGE}, 5)])
        store.apply("events", [Delete(b"r", 5)])
        for _ in range(2):
            self.swept(blobs, clock)
        assert blobs.stat(hashlib.sha256(LARGE).digest()).state is BlobState.PURGED
        reference = hashlib.sha256(LARGE).digest() + cell_reference(b"r", b"f:q")
        killed = Put(reference, {b"r:killed": b""}, clock())
        store.apply("events_blobs_refs", [killed])
        assert [finding.kind.value for finding in findings(blobs)] == ["dangling_reference"]
        assert self.swept(blobs, clock) == (0, 1)  # with the status of the blob
        assert findings(blobs) == []
        store.apply("events_blobs_refs", [Put(reference, {b"r:another": b""}, clock())])
        assert len(findings(blobs, is_repair=True)) == 1
        assert findings(blobs) == []

    def test_references_of_a_user_are_kept(self, store, blobs, clock):
        stored = blobs.put_bytes(LARGE, references=[b"mine"])
        assert self.swept(blobs, clock) == (1, 0)
        assert blobs.references(stored.id) == [b"mine"]

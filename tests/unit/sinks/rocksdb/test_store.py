"""The embedded store, besides the contract: owner, readers, rejected calls, removal of garbage."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from ingest.api import (
    Cell,
    ConflictError,
    Delete,
    Disposition,
    Durability,
    FamilySpec,
    IntegrityError,
    LifecycleError,
    NotFoundError,
    Put,
    Row,
    Scan,
    StoreUnavailableError,
    TableSpec,
    TimeRange,
    WriteRejectedError,
)
from sinks.rocksdb import expiry, sweep
from sinks.rocksdb.database import Database
from sinks.rocksdb.errors import translated
from sinks.rocksdb.expiry import NEVER, ExpiryIndex
from sinks.rocksdb.keys import encode_text, row_head
from sinks.rocksdb.open_table import OpenTable
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rocksdb.sweep import GarbageEstimate, Slice
from sinks.rocksdb.tables import EXTENDED_FORMAT, FIRST_FORMAT, FORMAT_KEY
from tests.support.clock import Clock
from tests.support.rocksdb_files import estimate, keys, read_beside

HOUR_MS = 3600 * 1000


@pytest.fixture
def clock():
    return Clock(1_700_000_000_000)


@pytest.fixture
def folder(tmp_path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def store(folder, clock):
    made = RocksDBStore(RocksDBSettings(path=folder), clock_ms=clock)
    made.open()
    made.ensure_table(TableSpec("t", (FamilySpec(b"f"), FamilySpec(b"g", versions=3), FamilySpec(b"h", ttl_s=3600))))
    yield made
    made.close()


def put(
    row: bytes, at: int, column: bytes = b"f:q", value: bytes = b"v", *, durability: Durability = Durability.SYNC
) -> Put:
    return Put(row, {column: value}, at, durability)


def start_sweep(store: RocksDBStore, *written: Put) -> None:
    """Write, then run the first slice of a sweep."""
    with patch.multiple(sweep, MIN_SUPERSEDED=0, GARBAGE_FRACTION=0):
        store.apply("t", written)


def swept(store: RocksDBStore, folder: str) -> int:
    """Sweep the whole table; returns the number of removed keys."""
    before = sum(key_count(folder, family) for family in "fgh")
    start_sweep(store)
    while estimate(folder).resume is not None:
        store.apply("t", [])
    return before - sum(key_count(folder, family) for family in "fgh")


def key_count(folder: str, family: str) -> int:
    text = encode_text(family.encode())
    with read_beside(folder) as database:
        return sum(key[len(row_head(key)) :].startswith(text) for key in keys(database.current()))


class TestOwner:
    def test_second_writer_in_this_process_is_refused(self, store, folder):
        with pytest.raises(ConflictError, match=f"is held by process {os.getpid()} on "):
            RocksDBStore(RocksDBSettings(path=folder)).open()
        store.apply("t", [put(b"r", 1)])

    def test_second_writer_in_another_process_is_refused(self, store, folder):
        code = (
            "import sys\n"
            "from ingest.api import ConflictError\n"
            "from sinks.rocksdb.settings import RocksDBSettings\n"
            "from sinks.rocksdb.store import RocksDBStore\n"
            "try:\n"
            "    RocksDBStore(RocksDBSettings(path=sys.argv[1])).open()\n"
            "except ConflictError as error:\n"
            "    print(error)\n"
        )
        result = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
        assert f'the store "{folder}" is held by process {os.getpid()} on ' in result.stdout
        store.apply("t", [put(b"r", 1)])

    def test_folder_is_free_after_close(self, store, folder):
        store.close()
        assert not (Path(folder) / "OWNER").exists()
        again = RocksDBStore(RocksDBSettings(path=folder))
        again.open()
        again.close()

    def test_stale_owner_is_ignored(self, store, folder):
        store.close()
        (Path(folder) / "OWNER").write_text("process 1 on elsewhere")
        store.open()
        assert f"process {os.getpid()} on" in (Path(folder) / "OWNER").read_text()

    def test_folder_that_cannot_be_created_is_an_error(self):
        with pytest.raises(NotFoundError, match="cannot create the folder"):
            RocksDBStore(RocksDBSettings(path="/proc/nowhere/store")).open()


class TestReader:
    @pytest.fixture
    def reader(self, store, folder, clock):
        made = RocksDBStore(RocksDBSettings(path=folder), read_only=True, clock_ms=clock)
        made.open()
        yield made
        made.close()

    def test_reader_cannot_write(self, reader):
        with pytest.raises(LifecycleError):
            reader.apply("t", [put(b"r", 1)])
        with pytest.raises(LifecycleError):
            reader.ensure_table(TableSpec("u"))

    def test_reader_works_after_the_writer_has_closed(self, store, reader):
        store.apply("t", [put(b"r", 1)])
        store.close()
        assert [row.key for row in reader.scan("t", Scan())] == [b"r"]

    def test_reader_follows_flushes_compactions_and_new_families(self, store, folder, reader):
        for number in range(30):
            store.apply("t", [put(b"%02d" % number, 1, durability=Durability.SKIP if number % 3 else Durability.SYNC)])
            if number == 20:
                swept(store, folder)
                store.ensure_table(TableSpec("t", (FamilySpec(b"new"),)))
            store.apply("t", [put(b"r", number, b"g:q")])
            if number % 7 == 0:
                assert len(list(reader.scan("t", Scan(page_rows=4)))) == number + 2
        assert reader.families("t") == {b"f", b"g", b"h", b"new"}

    def test_reader_of_a_missing_store_is_an_error(self, tmp_path):
        with pytest.raises(NotFoundError, match="there is no store at"):
            RocksDBStore(RocksDBSettings(path=str(tmp_path / "absent")), read_only=True).open()
        assert not (tmp_path / "absent").exists()


class TestRejected:
    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param(Put(b"r", {b"unknown:q": b""}, 1), id="family"),
            pytest.param(Put(b"r", {b"f:q": b"", b"bare": b""}, 1), id="no-colon"),
            pytest.param(Put(b"", {b"f:q": b""}, 1), id="empty-key"),
            pytest.param(Put(b"k" * 32_768, {b"f:q": b""}, 1), id="long-key"),
            pytest.param(Put(b"r", {b"f:q": b""}, -1), id="negative-time"),
            pytest.param(Put(b"r", {b"f:q": b""}, 1 << 63), id="time-too-large"),
            pytest.param(Delete(b"r", 1, b"unknown"), id="delete-of-unknown"),
        ],
    )
    def test_call_is_rejected_with_indexes_and_writes_nothing(self, store, bad):
        with pytest.raises(WriteRejectedError) as caught:
            store.apply("t", [put(b"a", 1), bad, put(b"b", 1), bad])
        assert caught.value.indexes == [1, 3]
        assert list(store.scan("t", Scan())) == []
        store.apply("t", [put(b"a", 1)])
        assert [row.key for row in store.scan("t", Scan())] == [b"a"]


class TestSweep:
    """Garbage is removed, readable cells stay."""

    def test_sweep_keeps_readable_cells(self, store, folder, clock):
        for at in range(1, 11):
            store.apply("t", [put(b"r", at), put(b"r", at, b"g:q"), put(b"s", at)])
        store.apply("t", [put(b"r", clock.now, b"h:new"), put(b"r", clock.now - 2 * HOUR_MS, b"h:old")])
        store.apply("t", [Delete(b"s", 10, b"f", b"q")])
        before = list(store.scan("t", Scan(versions=10)))
        removed = swept(store, folder)
        assert list(store.scan("t", Scan(versions=10))) == before
        assert (key_count(folder, "f"), key_count(folder, "g"), key_count(folder, "h")) == (2, 3, 1)
        assert removed == 9 + 10 + 7 + 1

    def test_deletes_are_kept_for_a_day(self, store, folder, clock):
        store.apply("t", [put(b"r", clock.now - 5), Delete(b"r", clock.now)])
        swept(store, folder)
        store.apply("t", [put(b"r", clock.now - 1)])
        assert list(store.scan("t", Scan())) == []
        clock.now += 25 * HOUR_MS
        swept(store, folder)
        assert [key_count(folder, family) for family in "fgh"] == [0, 0, 0]

    @pytest.mark.parametrize(
        "delete",
        [
            Delete(b"r", 500),
            Delete(b"r", 500, b"f"),
            Delete(b"r", 500, b"f", b"q"),
            Delete(b"r", 400, b"f", b"q", exact=True),
        ],
    )
    def test_deletes_are_kept_for_a_day_after_their_write(self, store, folder, clock, delete):
        store.apply("t", [delete])
        clock.now += 23 * HOUR_MS
        swept(store, folder)
        store.apply("t", [put(b"r", 400)])
        assert list(store.scan("t", Scan())) == []
        clock.now += 2 * HOUR_MS
        swept(store, folder)
        assert [key_count(folder, family) for family in "fgh"] == [0, 0, 0]

    def test_exact_delete_is_removed_with_its_version_alone(self, store, folder, clock):
        at = clock.now
        deletes = [Delete(b"r", at - age, b"g", b"q", exact=True) for age in (2, 5)]
        store.apply("t", [*(put(b"r", at - age, b"g:q") for age in range(4)), *deletes])
        before = list(store.scan("t", Scan(versions=3)))
        assert [cell.timestamp_ms for cell in before[0].cells] == [at, at - 1, at - 3]
        assert swept(store, folder) == 1  # the version; the deletes hide versions that are written later
        assert list(store.scan("t", Scan(versions=3))) == before
        clock.now += 25 * HOUR_MS
        assert swept(store, folder) == 2
        assert list(store.scan("t", Scan(versions=3))) == before
        assert key_count(folder, "g") == 3

    def test_exact_deletes_of_many_versions_are_read_and_swept(self, store, folder, clock):
        store.change_family("t", FamilySpec(b"g", versions=100))
        times = range(1, 81)
        store.apply("t", [put(b"r", at, b"g:q") for at in times])
        store.apply("t", [Delete(b"r", at, b"g", b"q", exact=True) for at in times if at % 20])
        for _ in range(2):
            found = list(store.scan("t", Scan(versions=100)))
            assert [cell.timestamp_ms for row in found for cell in row.cells] == [80, 60, 40, 20]
            newest = store.get("t", b"r", times=TimeRange(1, 59))
            assert newest is not None
            assert [cell.timestamp_ms for cell in newest.cells] == [40]
            swept(store, folder)
        assert key_count(folder, "g") == 80

    def test_overwritten_rows_stay_few(self, store, folder, monkeypatch):
        monkeypatch.setattr(sweep, "MIN_SUPERSEDED", 500)
        for at in range(1, 101):
            store.apply("t", [put(b"%03d" % number, at) for number in range(100)])
        assert key_count(folder, "f") < 1_000
        assert len(list(store.scan("t", Scan()))) == 100

    def test_replay_supersedes_nothing(self, store, folder, monkeypatch):
        monkeypatch.setattr(sweep, "MIN_SUPERSEDED", 500)
        for _ in range(20):
            store.apply("t", [put(b"%03d" % number, 7) for number in range(100)])
        assert estimate(folder).superseded == 0

    def test_expired_cells_are_removed_with_later_writes(self, store, folder, clock):
        store.apply("t", [put(b"%03d" % number, clock.now, b"h:q") for number in range(50)])
        clock.now += 3 * HOUR_MS
        for _ in range(5):
            store.apply("t", [put(b"r", clock.now)])
        assert key_count(folder, "h") == 0

    def test_estimate_survives_a_restart(self, store, folder):
        for at in range(1, 4):
            store.apply("t", [put(b"%03d" % number, at) for number in range(200)])
        counted = estimate(folder).superseded
        assert counted == 400
        store.close()
        store.open()
        store.apply("t", [put(b"r", 1, b"g:q")])
        again = estimate(folder)
        assert (again.cells, again.superseded) == (601, counted)

    def test_estimate_survives_a_killed_process_without_wal(self, store, folder):
        store.ensure_table(TableSpec("u", (FamilySpec(b"f"),)))
        store.close()
        code = (
            "import os, sys\n"
            "from ingest.api import Durability, Put\n"
            "from sinks.rocksdb.settings import RocksDBSettings\n"
            "from sinks.rocksdb.store import RocksDBStore\n"
            "store = RocksDBStore(RocksDBSettings(path=sys.argv[1]))\n"
            "store.open()\n"
            "for at in (1, 2, 3):\n"
            "    keys = [b'%03d' % number for number in range(200)]\n"
            "    store.apply('u', [Put(key, {b'f:q': b'v'}, at, Durability.SKIP) for key in keys])\n"
            "os._exit(9)\n"
        )
        assert subprocess.run([sys.executable, "-c", code, folder], check=False).returncode == 9
        store.open()
        store.apply("u", [])
        garbage = estimate(folder, "u")
        assert (garbage.cells, garbage.superseded) == (600, 400)

    def test_many_versions_of_a_hot_row_are_counted_in_few_reads(self, store, folder):
        """Counted columns stand for skipped ones."""
        store.ensure_table(TableSpec("many", (FamilySpec(b"f", versions=1_000),)))
        reads = 0

        class Counted:
            def __init__(self, cursor):
                self._cursor = cursor

            def next(self):
                nonlocal reads
                reads += 1
                self._cursor.next()

            def __getattr__(self, name):
                return getattr(self._cursor, name)

        rows = [put(b"hot", at) for at in range(1, 5_001)]
        store.apply("many", rows)
        samples = [put(b"hot", at) for at in range(5_001, 5_101)]
        with read_beside(folder) as database:
            table = OpenTable(database.current(), "many", GarbageEstimate())
            found = sweep.count_superseded(samples, Counted(table.cursor()), table.specs, {})
            table.release()
        assert (found, reads <= len(samples) * sweep.SAMPLE_EVERY) == (len(samples) * sweep.SAMPLE_EVERY, True)

    def test_sweep_has_slices(self, store, folder, monkeypatch):
        monkeypatch.setattr(sweep, "SLICE_KEYS", 10)
        for at in range(1, 6):
            store.apply("t", [put(b"%03d" % number, at) for number in range(50)])
        swept(store, folder)
        assert key_count(folder, "f") == 50

    def test_sweep_of_a_wide_row_has_slices(self, store, folder, monkeypatch):
        monkeypatch.setattr(sweep, "SLICE_KEYS", 10)
        monkeypatch.setattr(sweep, "PACE", 0)
        store.apply("t", [put(b"r", at, b"f:%02d" % number) for number in range(30) for at in (1, 2)])
        # newer than the cells of the sweep, also in the column where it resumes
        start_sweep(store, *(put(b"r", 3, b"f:%02d" % number) for number in range(30)))
        slices = 1
        while estimate(folder).resume is not None:
            before = key_count(folder, "f")
            store.apply("t", [])
            assert before - key_count(folder, "f") <= 10
            slices += 1
        assert slices > 3
        swept(store, folder)
        assert [cell.timestamp_ms for cell in store.get("t", b"r", versions=9).cells] == [3] * 30
        assert key_count(folder, "f") == 30

    def test_slice_that_ends_within_a_row_records_whole_rows(self):
        """A write is recorded only by its row."""
        garbage = GarbageEstimate(expiry=ExpiryIndex(5))
        garbage.start(10, for_expired=True)
        within = encode_text(b"r") + encode_text(b"f") + b"\x01"
        garbage.add_slice(b"", Slice(0, within, 50), 10)
        assert garbage.next_span(10) == (within, None)
        garbage.add_slice(within, Slice(0, None, NEVER), 10)
        assert (garbage.resume, garbage.expiry.expired(encode_text(b"r"), 51)) == (None, (encode_text(b"r"), None))
        garbage.expiry.add_swept(b"", None, NEVER)
        garbage.expiry.add_written(1, [(encode_text(b"r"), 70)])
        assert garbage.expiry.expired(within, 71) == (within, None)

    def test_delete_of_a_wide_row_is_removed_with_its_cells(self, store, folder, clock, monkeypatch):
        monkeypatch.setattr(sweep, "SLICE_KEYS", 10)
        store.apply("t", [put(b"r", 1, b"f:%02d" % number) for number in range(30)])
        store.apply("t", [Delete(b"r", 2, b"f")])
        clock.now += 48 * HOUR_MS
        start_sweep(store)
        assert (key_count(folder, "f"), store.get("t", b"r")) == (0, None)

    @pytest.mark.parametrize(
        ("ttl_s", "hours", "due"),
        [(60, 1, True), (60, 0, False), (86_400, 5, False), (86_400, 6, True), (None, 99, False)],
    )
    def test_sweep_for_expired_cells_is_due(self, ttl_s, hours, due):
        garbage = GarbageEstimate(cells=1, swept_ms=1_000, expiry=ExpiryIndex(1_500))
        garbage.start_if_due(ttl_s=ttl_s, now_ms=1_000 + hours * HOUR_MS)
        assert (garbage.resume is not None) == due

    def test_clock_that_was_ahead_delays_no_sweep(self):
        garbage = GarbageEstimate(cells=1, swept_ms=99 * HOUR_MS, expiry=ExpiryIndex(500))
        garbage.start_if_due(ttl_s=60, now_ms=1_000)
        assert garbage.resume is None
        garbage.start_if_due(ttl_s=60, now_ms=1_000 + HOUR_MS)
        assert garbage.resume is not None

    def test_no_sweep_before_cells_can_have_expired(self, store, folder, clock):
        store.ensure_table(TableSpec("u", (FamilySpec(b"f", ttl_s=48 * 3600),)))
        for _ in range(47):
            clock.now += HOUR_MS
            store.apply("u", [put(b"%d" % clock.now, clock.now)])
            garbage = estimate(folder, "u")
            assert (garbage.resume, clock.now - garbage.swept_ms < 47 * HOUR_MS) == (None, True)
        first = garbage.swept_ms
        for _ in range(3):
            clock.now += HOUR_MS
            store.apply("u", [put(b"%d" % clock.now, clock.now)])
        assert estimate(folder, "u").swept_ms > first

    def test_sweep_resumes_after_a_new_family_and_a_restart(self, store, folder, monkeypatch):
        monkeypatch.setattr(sweep, "SLICE_KEYS", 20)
        monkeypatch.setattr(sweep, "PACE", 0)
        store.apply("t", [put(b"%03d" % number, at) for number in range(100) for at in (1, 2)])
        start_sweep(store, put(b"z", 1))
        store.ensure_table(TableSpec("other", (FamilySpec(b"g"),)))
        store.apply("t", [put(b"z", 2)])
        store.close()
        store.open()
        reached = estimate(folder).resume
        assert reached is not None
        assert reached.startswith(b"020")
        while estimate(folder).resume is not None:
            store.apply("t", [put(b"z", 3)])
        assert key_count(folder, "f") == 101

    def test_cells_are_removed_after_the_time_to_live_is_shortened(self, store, folder, clock):
        store.apply("t", [put(b"r", clock.now)])
        store.change_family("t", FamilySpec(b"f", ttl_s=3600))
        store.close()
        store.open()
        clock.now += 3 * HOUR_MS
        for _ in range(2):
            store.apply("t", [put(b"s", clock.now)])
        assert key_count(folder, "f") == 1

    def test_existing_rows_expire_after_a_time_to_live_is_set(self, store, folder, clock, monkeypatch):
        """A range of later rows that began before an existing row would not be swept when that row expires."""
        monkeypatch.setattr(expiry, "RANGE_CELLS", 0)
        monkeypatch.setattr(sweep, "SAMPLE_EVERY", 1)
        store.apply("t", [put(b"r", clock.now)])
        store.change_family("t", FamilySpec(b"f", ttl_s=3600))
        store.apply("t", [put(b"a", clock.now + 10 * HOUR_MS)])
        clock.now += 2 * HOUR_MS
        for _ in range(2):
            store.apply("t", [])
        assert key_count(folder, "f") == 1

    def test_shorter_time_to_live_is_recorded_before_the_change(self, store, folder):
        """So that a sweep finds expired cells after a crash while a family is changed."""
        store.apply("t", [put(b"r", 1)])
        assert estimate(folder).expiry.earliest_ms > 0
        store.close()
        code = (
            "import os, sys\n"
            "from ingest.api import FamilySpec\n"
            "from sinks.rocksdb.database import Database\n"
            "from sinks.rocksdb.settings import RocksDBSettings\n"
            "from sinks.rocksdb.store import RocksDBStore\n"
            "store = RocksDBStore(RocksDBSettings(path=sys.argv[1]))\n"
            "store.open()\n"
            "change = Database.record_table\n"
            "Database.record_table = lambda *what: (change(*what), os._exit(9))\n"
            "store.change_family('t', FamilySpec(b'f', ttl_s=3600))\n"
        )
        assert subprocess.run([sys.executable, "-c", code, folder], check=False).returncode == 9
        store.open()
        spec = next(spec for spec in store.describe_table("t").families if spec.name == b"f")
        assert (spec.ttl_s, estimate(folder).expiry.earliest_ms) == (3600, 0)

    def test_estimate_is_restored_from_its_record(self):
        garbage = GarbageEstimate(cells=5, superseded=3, swept_ms=7, expiry=ExpiryIndex(11))
        again = GarbageEstimate.of(garbage.record(), 99)
        assert (again.cells, again.superseded, again.swept_ms, again.resume, again.expiry.earliest_ms) == (
            5,
            3,
            7,
            None,
            11,
        )
        assert GarbageEstimate.of(None, 99).swept_ms == 99


def test_full_disk_is_retried(store):
    """The same store writes again once there is space."""
    store.apply("t", [put(b"before", 1)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="no space left for the store") as caught:
            store.apply("t", [put(b"large", 1, value=bytes(1 << 20))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.apply("t", [put(b"large", 1, value=bytes(1 << 20))])
    assert [row.key for row in store.scan("t", Scan())] == [b"before", b"large"]
    assert caught.value.disposition is Disposition.RETRY


def test_full_disk_is_an_error_without_wal(store):
    """A failed flush must not be acknowledged."""
    # no cells expire, so no sweep writes after the rows
    store.ensure_table(TableSpec("u", (FamilySpec(b"f"),)))
    store.apply("u", [put(b"before", 1, durability=Durability.SKIP)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="no space left for the store"):
            store.apply("u", [put(b"large", 1, value=bytes(1 << 20), durability=Durability.SKIP)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.apply("u", [put(b"large", 1, value=bytes(1 << 20), durability=Durability.SKIP)])
    assert [row.key for row in store.scan("u", Scan())] == [b"before", b"large"]


def test_full_disk_is_retried_when_a_family_is_created(store):
    """The same store writes again once there is space."""
    wanted = TableSpec("t", (FamilySpec(b"made"),))
    store.apply("t", [put(b"before", 1)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="no space left for the store"):
                store.ensure_table(wanted)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.ensure_table(wanted)
    assert b"made" in store.families("t")


def test_old_versions_of_a_cell_are_skipped(store):
    for at in range(1, 101):
        store.apply("t", [put(b"a", at, b"g:q", b"%d" % at), put(b"b", at, b"f:q", b"%d" % at)])
    store.apply("t", [Delete(b"a", 50, b"g", b"q"), put(b"a", 1, b"g:z", b"z")])
    assert list(store.scan("t", Scan(versions=2))) == [
        Row(b"a", (Cell(b"g", b"q", 100, b"100"), Cell(b"g", b"q", 99, b"99"), Cell(b"g", b"z", 1, b"z"))),
        Row(b"b", (Cell(b"f", b"q", 100, b"100"),)),
    ]


def test_store_of_another_format_is_refused(store, folder):
    store.close()
    database = Database(Path(folder), sync=True, read_only=False)
    database.open()
    database.opened().root.put(FORMAT_KEY, b"99")
    database.close()
    with pytest.raises(IntegrityError, match='the store has format "99", this version reads "3" and "4"'):
        store.open()


def test_format_is_raised_by_the_first_exact_delete(store, folder):
    def written_format() -> bytes:
        with read_beside(folder) as database:
            return database.current().root[FORMAT_KEY]

    store.apply("t", [put(b"r", 1), Delete(b"s", 1, b"f", b"q")])
    assert written_format() == FIRST_FORMAT
    store.apply("t", [Delete(b"r", 1, b"f", b"q", Durability.SKIP, exact=True)])
    assert written_format() == EXTENDED_FORMAT
    store.close()
    store.open()
    assert list(store.scan("t", Scan())) == []


@pytest.mark.parametrize("compression", ["gz", "snappy", "lz4", "zstd"])
def test_family_is_compressed_as_declared_also_after_reopening(store, folder, compression):
    def bytes_of_a_megabyte() -> int:
        before = {path.name for path in Path(folder).glob("*.sst")}
        store.apply("t", [Put(b"%d" % at, {b"c:q": b"abc" * 3500}, 1, durability=Durability.SKIP) for at in range(100)])
        return sum(path.stat().st_size for path in Path(folder).glob("*.sst") if path.name not in before)

    store.ensure_table(TableSpec("t", (FamilySpec(b"c"),)))
    assert bytes_of_a_megabyte() > 1_000_000
    store.change_family("t", FamilySpec(b"c", compression=compression))
    assert bytes_of_a_megabyte() < 200_000
    store.close()
    store.open()
    assert bytes_of_a_megabyte() < 200_000


def test_names_of_any_bytes_are_distinct(store):
    store.ensure_table(TableSpec("a:b/é", (FamilySpec(b"\xff\x00"), FamilySpec(b"%FF"))))
    store.apply("a:b/é", [Put(b"r", {b"\xff\x00:q": b"1", b"%FF:q": b"2"}, 1)])
    store.close()
    store.open()
    assert store.families("a:b/é") == {b"\xff\x00", b"%FF"}
    assert store.get("a:b/é", b"r") == Row(b"r", (Cell(b"%FF", b"q", 1, b"2"), Cell(b"\xff\x00", b"q", 1, b"1")))


@pytest.mark.parametrize("below", ["", "store", "x" * 300])
def test_path_that_cannot_be_a_folder_is_an_error(tmp_path, below):
    (tmp_path / "file").touch()
    path = (tmp_path if len(below) > 255 else tmp_path / "file") / below
    store = RocksDBStore(RocksDBSettings(path=str(path)))
    with pytest.raises(NotFoundError, match="cannot create the folder") as caught:
        store.open()
    assert (caught.value.exit_code, "is a file in its place" in (caught.value.hint or "")) == (3, True)
    store.close()


def test_use_before_open_is_a_bug(tmp_path):
    with pytest.raises(LifecycleError):
        RocksDBStore(RocksDBSettings(path=str(tmp_path))).tables()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("IO error: While lock file: /x/LOCK: Resource temporarily unavailable", "locked"),
        ("IO error: No space left on device: While appending to file", "disk_full"),
        ("IO error: Permission denied: /x/LOG", "store_refused"),
        ("Resource busy: ", "store_busy"),
        ("Corruption: block checksum mismatch", "integrity"),
        ("IO error: While fdatasync: /x/000012.log: Input/output error", "integrity"),
    ],
)
def test_errors_are_translated(text, code):
    assert translated(Exception(text), Path("/x")).code == code

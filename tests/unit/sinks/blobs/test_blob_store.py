"""Blobs are stored once, read whole or in part, and never with wrong bytes."""

import hashlib
import io
import random
import resource
from collections.abc import Callable
from typing import Any

import pytest

from ingest.api import ConfigError, Delete, NotFoundError, Put, Scan, Store, StoreUnavailableError
from sinks.blobs.blob_options import BlobCompression, BlobOptions
from sinks.blobs.blob_store import BLOB_STORE, BlobStore
from sinks.blobs.errors import (
    BlobCorruptError,
    BlobGoneError,
    BlobNotStoredError,
    BlobsDifferError,
    BlobsElsewhereError,
    BlobsOfOtherTableError,
    HashMismatchError,
)
from sinks.blobs.pointers import cell_reference
from sinks.blobs.status import BlobState
from sinks.blobs.tables import BlobTables, block_key, id_of
from tests.support.blob_findings import findings

TABLES = BlobTables("events_blobs")
DAY_S = 24 * 3600


def random_bytes(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def rows_of(store, table: str) -> list[bytes]:
    return [row.key for row in store.scan(table, Scan())]


class FailingSource:
    """A source that fails after some bytes."""

    def __init__(self, size: int) -> None:
        self._file = io.BytesIO(random_bytes(size))

    def read(self, size: int, /) -> bytes:
        data = self._file.read(size)
        if not data:
            raise OSError("connection reset")
        return data


def test_2c1_blob_of_two_and_a_half_blocks(store, blobs):
    blob = random_bytes(2_500_000)
    stored = blobs.put_bytes(blob)
    assert stored == (hashlib.sha256(blob).digest(), 2_500_000, True)
    status = blobs.stat(stored.id)
    assert (status.state, status.length, status.blocks) == (BlobState.STORED, 2_500_000, 3)
    sizes = [len(row.cells[1].value) for row in store.scan(TABLES.value, Scan())]
    assert sizes == [1_000_000, 1_000_000, 500_000]
    keys = [block_key(stored.id, status.generation, block) for block in range(3)]
    assert rows_of(store, TABLES.value) == keys
    with blobs.open(stored.id) as reader:
        assert reader.read() == blob


@pytest.mark.parametrize(("size", "blocks"), [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)])
def test_2c2_sizes_around_a_block(blobs, size, blocks):
    blob = random_bytes(size)
    stored = blobs.put_bytes(blob)
    assert blobs.stat(stored.id).blocks == blocks
    assert blobs.open(stored.id).read() == blob


def test_2c2_id_of_the_empty_blob(blobs):
    assert blobs.put_bytes(b"").id.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_2c4_same_bytes_are_stored_once(store, blobs):
    blob = random_bytes(1_500_000)
    first = blobs.put_bytes(blob, references=[b"a"])
    blocks = rows_of(store, TABLES.value)
    second = blobs.put_bytes(blob, references=[b"b"])
    assert (first.is_new, second.is_new, first.id) == (True, False, second.id)
    assert rows_of(store, TABLES.value) == blocks
    assert blobs.references(first.id) == [b"a", b"b"]
    blobs.put_bytes(blob, references=[b"a"])
    blobs.pin(first.id, b"b")
    assert blobs.references(first.id) == [b"a", b"b"]
    blobs.unpin(first.id, b"b")
    assert blobs.references(first.id) == [b"a"]


def test_2c5_wrong_hash_stores_nothing(store, blobs):
    with pytest.raises(HashMismatchError):
        blobs.put(io.BytesIO(b"blob"), expected=bytes(32), references=[b"a"])
    assert [rows_of(store, table) for table in TABLES.families()] == [[], [], []]
    found = blobs.put(io.BytesIO(b"blob"), expected=hashlib.sha256(b"blob").digest())
    assert found.is_new


def test_2c6_source_that_fails_stores_nothing(store, blobs):
    with pytest.raises(OSError, match="reset"):
        blobs.put(FailingSource(1_700_000), references=[b"a"])
    assert [rows_of(store, table) for table in TABLES.families()] == [[], [], []]


@pytest.mark.parametrize(("size", "space"), [(5_000, 4_096), (600_000, 300_000), (266_000, 264_000)])
def test_full_disk_of_temporary_files_stores_nothing(store, open_blobs, size, space):
    """A disk that is full at the first piece of a blob, at a later one, and at the last bytes, which are buffered."""
    blobs = open_blobs(block_bytes=1_000, read_ahead_bytes=1_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (space, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="cannot be kept in a temporary file"):
            blobs.put(io.BytesIO(random_bytes(size)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert rows_of(store, TABLES.meta) == []


@pytest.mark.parametrize("damage", ["data", "checksum", "missing", "hash"])
@pytest.mark.parametrize("compression", list(BlobCompression))
def test_2c13_damaged_block_is_never_read(store, open_blobs, damage, compression):
    blobs = open_blobs(compression=compression)
    blob = random_bytes(2_500_000)
    stored = blobs.put_bytes(blob)
    status = blobs.stat(stored.id)
    key = block_key(stored.id, status.generation, 1)
    if damage == "missing":
        store.remove_rows(TABLES.value, [Delete(key, status.generation)])
    elif damage == "hash":  # a block that is whole, but another one
        cells = store.get(TABLES.value, block_key(stored.id, status.generation, 0)).cells
        columns = {cell.family + b":" + cell.qualifier: cell.value for cell in cells}
        store.apply(TABLES.value, [Put(key, columns, status.generation)])
    else:
        column = {"data": b"b:d", "checksum": b"b:c"}[damage]
        value = store.get(TABLES.value, key, columns=[column]).cells[0].value
        store.apply(TABLES.value, [Put(key, {column: value[:-1] + bytes([value[-1] ^ 1])}, status.generation)])
    reader, pieces = blobs.open(stored.id), []
    with pytest.raises(BlobCorruptError, match="SHA-256" if damage == "hash" else "block 1") as caught:
        pieces.extend(iter(lambda: reader.read(300_000), b""))
    assert len(b"".join(pieces)) < len(blob)
    assert caught.value.exit_code == 5
    assert blobs.open(stored.id).read_range(0, 10) == blob[:10]
    expected = {"missing": "missing_block", "hash": "wrong_hash"}.get(damage, "damaged_block")
    (finding,) = findings(blobs)
    assert (finding.kind.value, finding.blob, finding.kind.is_damage) == (expected, stored.id, True)
    assert finding.block == (None if damage == "hash" else 1)


def test_2c14_options_that_cannot_change(open_blobs):
    stored = open_blobs().put_bytes(random_bytes(2_000_000))
    for changed in ({"block_bytes": 500_000}, {"compression": BlobCompression.ZSTD}):
        with pytest.raises(BlobsDifferError) as caught:
            open_blobs(**changed)
        assert caught.value.exit_code == 2
        assert "1000000" in caught.value.message
        assert str(next(iter(changed.values()))) in caught.value.message
    assert open_blobs(read_ahead_bytes=1).open(stored.id).read() == random_bytes(2_000_000)


def test_2c14_old_blobs_stay_readable_with_other_options(store, open_blobs, clock):
    stored = open_blobs().put_bytes(random_bytes(2_000_000))
    others = BlobStore(store, "events_blobs", BlobOptions(block_bytes=7), clock_ms=clock)
    assert others.open(stored.id).read() == random_bytes(2_000_000)


@pytest.mark.parametrize("read_ahead", [1, 999, 1000, 2500, 100_000])
def test_2c16_read_ahead_of_less_than_a_block(open_blobs, read_ahead):
    blobs = open_blobs(block_bytes=1000, read_ahead_bytes=read_ahead)
    blob = random_bytes(10_500)
    reader = blobs.open(blobs.put_bytes(blob).id)
    assert b"".join(iter(lambda: reader.read(700), b"")) == blob
    assert reader.read() == b""


@pytest.mark.parametrize("compression", list(BlobCompression))
def test_ranges(open_blobs, compression):
    blobs = open_blobs(block_bytes=1000, compression=compression)
    blob = (b"0123456789" * 250)[:2_345]
    stored = blobs.put_bytes(blob)
    reader = blobs.open(stored.id)
    for start, stop in [(0, 1), (999, 1001), (1000, 2000), (2_300, 9_999), (2_345, 2_400), (5, 5), (0, 2_345)]:
        assert reader.read_range(start, stop) == blob[start:stop]
    assert (reader.length, reader.seek(-45, io.SEEK_END), reader.read(), reader.tell()) == (
        2_345,
        2_300,
        blob[2_300:],
        2_345,
    )
    assert reader.seek(2, io.SEEK_SET) + reader.seek(1, io.SEEK_CUR) == 5
    assert reader.read(4) == blob[3:7]
    with pytest.raises(ValueError, match="negative"):
        reader.seek(-1)
    if compression is not BlobCompression.NONE:
        assert blobs.stat(stored.id).stored_length < 500


def test_range_fetches_only_the_blocks_that_have_it(open_blobs, store, monkeypatch):
    blobs = open_blobs(block_bytes=1000)
    stored = blobs.put_bytes(random_bytes(10_000))
    reader = blobs.open(stored.id)
    scans = []
    scan = type(store).scan

    def counted(self, table, wanted, counts=None):
        scans.append(wanted.limit)
        return scan(self, table, wanted, counts)

    monkeypatch.setattr(type(store), "scan", counted)
    reader.read_range(1_500, 2_500)
    assert scans == [2]


def test_blobs_that_are_not_there(store, blobs):
    absent = bytes(32)
    for call in (blobs.open, blobs.stat, lambda blob: blobs.pin(blob, b"a")):
        with pytest.raises(NotFoundError) as caught:
            call(absent)
        assert caught.value.exit_code == 3
    with pytest.raises(NotFoundError):
        blobs.unpin(absent, b"a")
    assert rows_of(store, TABLES.refs) == []
    for text in ("", "00", "zz" * 32, "00" * 33, " " + "0" * 63):
        with pytest.raises(ConfigError):
            id_of(text)
    assert id_of("0F" * 32) == b"\x0f" * 32


@pytest.mark.parametrize("reference", [b"", b"r" * (32_767 - 31)])
def test_reference_of_another_length_is_refused(blobs, reference):
    stored = blobs.put_bytes(b"blob")
    with pytest.raises(ConfigError):
        blobs.pin(stored.id, reference)


def test_longest_reference(blobs):
    stored = blobs.put_bytes(b"blob", references=[b"r" * (32_767 - 32)])
    assert blobs.references(stored.id) == [b"r" * (32_767 - 32)]


def test_blob_that_is_being_stored_cannot_be_read_or_pinned(store, open_blobs):
    blobs = open_blobs(FailingWrites(store, TABLES.value))
    with pytest.raises(OSError, match="killed"):
        blobs.put_bytes(random_bytes(3_000_000), references=[b"a"])
    blob = hashlib.sha256(random_bytes(3_000_000)).digest()
    assert blobs.stat(blob).state is BlobState.STORING
    for call in (blobs.open, lambda blob: blobs.pin(blob, b"a")):
        with pytest.raises(BlobNotStoredError):
            call(blob)
    assert blobs.references(blob) == []
    assert open_blobs().put_bytes(random_bytes(3_000_000)).is_new
    assert blobs.open(blob).read() == random_bytes(3_000_000)


def test_blob_is_stored_again_after_a_sweep_at_an_earlier_time(open_blobs, clock):
    blobs = open_blobs()
    stored = blobs.put_bytes(b"blob" * 1000)
    first = blobs.stat(stored.id).generation
    clock.advance(2 * DAY_S)
    assert blobs.sweep().purged == 1
    with pytest.raises(BlobGoneError):
        blobs.open(stored.id)
    clock.advance(-2 * DAY_S)
    assert blobs.put_bytes(b"blob" * 1000).is_new
    assert blobs.stat(stored.id).generation == first + 1
    assert blobs.open(stored.id).read() == b"blob" * 1000


class FailingWrites:
    """A store whose writes to a table fail after the first."""

    def __init__(self, store, table: str) -> None:
        self._store = store
        self._table = table
        self._writes = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def apply(self, table, mutations):
        if table == self._table:
            self._writes += 1
            if self._writes > 1:
                raise OSError("killed")
        self._store.apply(table, mutations)


class TestOwner:
    """One blob store belongs to one table."""

    @pytest.fixture
    def of_table(self, store, clock) -> Callable[[str], BlobStore]:
        return lambda table: BlobStore(store, "events_blobs", BlobOptions(), owner=table, clock_ms=clock)

    def test_another_table_is_refused_and_nothing_is_swept(self, of_table, clock):
        owner, other = of_table("events"), of_table("tests")
        owner.prepare()
        owner.prepare()
        stored = owner.put_value(b"large", cell_reference(b"r", b"f:q"))
        clock.advance(48 * 3600)
        for use in (
            other.prepare,
            other.check,
            other.sweep,
            lambda: other.sweep(is_dry_run=True),
            lambda: findings(other),
        ):
            with pytest.raises(BlobsOfOtherTableError) as caught:
                use()
            assert caught.value.exit_code == 2
            assert 'belongs to table "events"' in caught.value.message
            assert 'another `name` in `blobs` of table "tests"' in caught.value.hint
        assert owner.references(stored.id) == [cell_reference(b"r", b"f:q")]

    def test_blob_store_of_an_earlier_version_gets_the_first_table_that_writes_it(self, blobs, of_table):
        blobs.put_bytes(b"large")
        of_table("events").check()
        of_table("tests").check()
        of_table("events").sweep()
        with pytest.raises(BlobsOfOtherTableError):
            of_table("tests").prepare()
        blobs.prepare()  # of a program that names no table


class TestBlobStoreOfTheTable:
    """A table with blobs does not change its blob store."""

    @pytest.fixture
    def named(self, store, clock) -> Callable[..., BlobStore]:
        def opened(name: str, inner: Store[Any] | None = None) -> BlobStore:
            return BlobStore(inner or store, name, BlobOptions(), owner="events", clock_ms=clock)

        return opened

    def test_another_name_is_refused_and_nothing_is_written(self, store, named, clock):
        first, renamed = named("events_blobs"), named("renamed")
        first.prepare()
        stored = first.put_value(b"large", cell_reference(b"r", b"f:q"))
        clock.advance(48 * 3600)
        for use in (
            renamed.prepare,
            renamed.claim,
            renamed.check,
            renamed.sweep,
            lambda: renamed.sweep(is_dry_run=True),
            lambda: findings(renamed),
            # only because they do not find the blob
            lambda: renamed.open(stored.id),
            lambda: renamed.stat(stored.id),
        ):
            with pytest.raises(BlobsElsewhereError) as caught:
                use()
            assert caught.value.exit_code == 4
            assert 'in the blob store "events_blobs", but the file declares "renamed"' in caught.value.message
            assert "declare `blobs: {name: events_blobs}`" in caught.value.hint
        assert not any(name.startswith("renamed") for name in store.tables())
        assert not store.properties("renamed_meta")
        assert first.open(stored.id).read() == b"large"

    def test_blob_store_without_blobs_is_replaced(self, store, named, clock):
        first, renamed = named("events_blobs"), named("renamed")
        first.prepare()
        renamed.check()
        renamed.prepare()
        assert store.properties("events")[BLOB_STORE] == "renamed"
        renamed.put_bytes(b"large")
        with pytest.raises(BlobsElsewhereError):
            first.check()
        for _ in range(2):  # deletes the blob, then its status
            clock.advance(DAY_S)
            renamed.sweep()
        first.prepare()
        assert store.properties("events")[BLOB_STORE] == "events_blobs"

    def test_table_of_an_earlier_version_gets_the_first_one_that_is_claimed(self, store, named):
        first, renamed = named("events_blobs"), named("renamed")
        first.prepare()
        first.put_bytes(b"large")
        store.set_property("events", BLOB_STORE, "events_blobs", None)
        renamed.check()
        assert store.properties("events") == {}  # a check writes nothing
        first.claim()
        with pytest.raises(BlobsElsewhereError):
            renamed.check()

    def test_one_of_two_names_is_recorded(self, store, named):
        """Another process stores a blob between the check and the record."""

        class Late:
            def __getattr__(self, name):
                return getattr(store, name)

            def set_property(self, table, name, before, value):
                if name == BLOB_STORE and value == "renamed":
                    first = named("events_blobs")
                    first.prepare()
                    first.put_bytes(b"large")
                return store.set_property(table, name, before, value)

        with pytest.raises(BlobsElsewhereError):
            named("renamed", Late()).prepare()
        assert store.properties("events")[BLOB_STORE] == "events_blobs"

    def test_blob_store_without_an_owner_records_none(self, store, blobs):
        blobs.put_bytes(b"large")
        blobs.sweep()
        assert store.properties("events") == {}

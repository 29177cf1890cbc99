"""Blobs in HBase: stored once, swept, and safe while several processes store and sweep."""

import hashlib
import random
import threading
from collections.abc import Iterator

import pytest

from ingest.api import Delete, Scan
from sinks.blobs.blob_options import BlobCompression, BlobOptions
from sinks.blobs.blob_store import BLOB_STORE, BlobStore
from sinks.blobs.errors import BlobCorruptError, BlobGoneError, BlobsElsewhereError, BlobsOfOtherTableError
from sinks.blobs.status import BlobState
from sinks.blobs.sweep import SweepCounts
from sinks.blobs.tables import BlobTables, block_key
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.blob_findings import findings
from tests.support.names import unique
from tests.support.servers import HBase, Protocol

DAY_MS = 24 * 3_600_000
BLOB = random.Random(1).randbytes(2_500_000)
ID = hashlib.sha256(BLOB).digest()


class Clock:
    now_ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def settings(hbase: HBase, protocol: Protocol) -> HBaseSettings:
    return HBaseSettings(timeout="60s", **hbase.store_options(protocol))


@pytest.fixture
def store(settings: HBaseSettings) -> Iterator[HBaseStore]:
    made = HBaseStore.of(settings)
    made.open()
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tables(store: HBaseStore) -> BlobTables:
    made = BlobTables(unique("blobs"))
    for spec in made.specs():
        store.ensure_table(spec)
    return made


@pytest.fixture
def blobs(store: HBaseStore, tables: BlobTables, clock: Clock) -> BlobStore:
    made = BlobStore(store, tables.name, BlobOptions(compression=BlobCompression.LZ4), clock_ms=clock)
    made.prepare()
    return made


def blocks_of(store: HBaseStore, tables: BlobTables) -> int:
    return len(list(store.scan(tables.value, Scan(columns=(b"b:c",)))))


def test_one_of_two_tables_gets_the_blob_store(store: HBaseStore, tables: BlobTables, blobs: BlobStore) -> None:
    """`blobs` was made by an earlier version, which recorded no table."""
    events, tests = (BlobStore(store, tables.name, blobs._options, owner=table) for table in ("events", "tests"))
    for _ in range(2):
        events.prepare()
    for refused in (tests.prepare, tests.check, tests.sweep):
        with pytest.raises(BlobsOfOtherTableError, match='belongs to table "events"'):
            refused()


def test_table_keeps_its_blob_store(store: HBaseStore) -> None:
    """The record is in the table of records, beside buckets and other properties."""
    table, name, other = map(unique, ("events", "blobs", "others"))
    first, renamed = (BlobStore(store, each, BlobOptions(), owner=table) for each in (name, other))
    for each in (*BlobTables(name).specs(), *BlobTables(other).specs()):
        store.ensure_table(each)
    first.prepare()
    first.put_bytes(BLOB)
    for use in (renamed.prepare, renamed.check, renamed.sweep, lambda: renamed.open(ID)):
        with pytest.raises(BlobsElsewhereError, match=f'in the blob store "{name}"'):
            use()
    assert store.properties(table) == {BLOB_STORE: name}
    first.check()


def test_2c_life_of_a_blob(store: HBaseStore, tables: BlobTables, blobs: BlobStore, clock: Clock) -> None:
    assert blobs.put_bytes(BLOB, references=[b"a"]) == (ID, 2_500_000, True)
    assert blobs.put_bytes(BLOB, references=[b"a", b"b"]) == (ID, 2_500_000, False)
    assert (blobs.stat(ID).blocks, blocks_of(store, tables), blobs.references(ID)) == (3, 3, [b"a", b"b"])
    assert blobs.open(ID).read() == BLOB
    assert blobs.open(ID).read_range(999_999, 1_000_001) == BLOB[999_999:1_000_001]
    clock.now_ms += DAY_MS
    assert blobs.sweep() == SweepCounts(blobs=1, referenced=1)
    blobs.unpin(ID, b"a")
    blobs.unpin(ID, b"b")
    clock.now_ms += DAY_MS
    reader = blobs.open(ID)
    assert blobs.sweep(is_dry_run=True).purged == 1
    assert blobs.sweep().purged == 1
    assert (blocks_of(store, tables), blobs.stat(ID).state) == (0, BlobState.PURGED)
    with pytest.raises(BlobGoneError):
        reader.read()
    assert blobs.put_bytes(BLOB, references=[b"c"]).is_new
    assert blobs.open(ID).read() == BLOB
    blobs.unpin(ID, b"c")
    clock.now_ms += DAY_MS
    blobs.sweep()
    clock.now_ms += DAY_MS
    assert blobs.sweep() == SweepCounts(blobs=1, forgotten=1)
    assert list(store.scan(tables.meta, Scan())) == []
    assert blobs.put_bytes(BLOB).is_new
    assert findings(blobs) == []


def test_2c13_missing_block(store: HBaseStore, tables: BlobTables, blobs: BlobStore) -> None:
    blobs.put_bytes(BLOB)
    generation = blobs.stat(ID).generation
    store.apply(tables.value, [Delete(block_key(ID, generation, 1), generation)])
    with pytest.raises(BlobCorruptError, match="block 1 is missing"):
        blobs.open(ID).readall()
    (finding,) = findings(blobs)
    assert (finding.kind.value, finding.block) == ("missing_block", 1)


def test_2c11_writers_and_sweeps_at_once(
    settings: HBaseSettings, store: HBaseStore, tables: BlobTables, clock: Clock
) -> None:
    """Each blob is unreferenced and old, so every sweep deletes it, unless a writer stores and pins it first."""
    options = BlobOptions(block_bytes=1000)
    contents = [random.Random(seed).randbytes(3_500) for seed in range(20)]
    errors: list[BaseException] = []

    def opened(work) -> None:
        own = HBaseStore.of(settings)
        try:
            own.open()
            work(BlobStore(own, tables.name, options, clock_ms=clock))
        except BaseException as error:  # noqa: BLE001 - reported below
            errors.append(error)
        finally:
            own.close()

    def write(blobs: BlobStore) -> None:
        name = threading.current_thread().name.encode()
        for content in contents:
            blobs.put_bytes(content, references=[name])

    def sweep(blobs: BlobStore) -> None:
        for _ in range(3):
            blobs.sweep()

    blobs = BlobStore(store, tables.name, options, clock_ms=clock)
    blobs.prepare()
    for content in contents:
        blobs.put_bytes(content)
    clock.now_ms += DAY_MS
    threads = [threading.Thread(target=opened, args=(work,), name=str(n)) for n, work in enumerate([write, sweep] * 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for _ in range(2):
        assert blobs.sweep().referenced == len(contents)
    for content in contents:
        blob = hashlib.sha256(content).digest()
        assert (blobs.references(blob), blobs.open(blob).read()) == ([b"0", b"2"], content)
    assert blocks_of(store, tables) == 4 * len(contents)
    assert findings(blobs) == []

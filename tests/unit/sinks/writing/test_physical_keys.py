"""Writes to a table with buckets: physical row keys in the store and in files, logical ones in all reports."""

from pathlib import Path

import pytest

from ingest.api import (
    MAX_ROW_KEY_BYTES,
    Batch,
    BucketsChangedError,
    BucketsDifferError,
    ConflictError,
    Delete,
    FamilySpec,
    Mutation,
    NoTableError,
    Put,
    Scan,
    TableSpec,
    WriteRejectedError,
)
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.plain_reader import PlainReader
from sinks.writing.apply_staged import apply_staged
from sinks.writing.buffer import Chunk
from sinks.writing.cycle_tables import CycleTables
from sinks.writing.driver_store import DriverStore
from sinks.writing.families import FamilyRegistry
from sinks.writing.messages import Prepared, StoreResult, packed_probe
from sinks.writing.probing_committer import ProbingCommitter
from sinks.writing.sending import DirectSender, Sender, ThreadSender
from sinks.writing.staged_committer import StagedCommitter
from sinks.writing.staging import MIN_FILE_PUTS, FileFormat, StagingWriter

SPEC = TableSpec("t", (FamilySpec(b"f"),), buckets=16)


def put(key: bytes, value: bytes = b"v") -> Put:
    return Put(key, {b"f:q": value}, 5)


@pytest.fixture
def store():
    made = MemoryStore()
    made.open()
    made.ensure_table(SPEC)
    return made


@pytest.fixture(params=[DirectSender, ThreadSender])
def sender(request, store):
    made = request.param(store)
    made.begin(10.0)
    yield made
    made.close()


def send(sender: Sender, *mutations: Mutation, table: str = "t") -> None:
    sender.submit(Chunk(table, list(mutations)))
    sender.wait()


def keys(store) -> list[bytes]:
    store.open()  # a thread sender closes it
    return [row.key for row in store.scan("t", Scan())]


def test_physical_row_keys_begin_with_their_bucket(store: MemoryStore, sender: Sender):
    send(sender, put(b"a"), put(b"row-0001"))
    assert keys(store) == sorted(map(Distribution(16).physical, (b"a", b"row-0001")))
    store.open()
    assert [row.key for row in PlainReader.of(store, "t").scan(Scan())] == [b"a", b"row-0001"]


def test_delete_finds_the_row_by_its_logical_key(store: MemoryStore, sender: Sender):
    send(sender, put(b"a"), put(b"b"))
    send(sender, Delete(b"a", 6), Delete(b"b", 6, b"f", b"other"))
    assert keys(store) == [Distribution(16).physical(b"b")]


def test_rejected_rows_have_their_logical_keys(sender: Sender):
    bad = Put(b"b", {b"unknown:q": b"v"}, 5)
    send(sender, put(b"a"), bad, put(b"c"))
    (result,) = sender.take_results()
    assert [refusal.mutation for refusal in result.refused] == [bad]


def test_limit_applies_to_the_physical_key(store: MemoryStore, sender: Sender):
    send(sender, put(b"r" * (MAX_ROW_KEY_BYTES - 1)), put(b"r" * MAX_ROW_KEY_BYTES))
    (result,) = sender.take_results()
    assert [len(refusal.mutation.row) for refusal in result.refused] == [MAX_ROW_KEY_BYTES]
    assert [len(key) for key in keys(store)] == [MAX_ROW_KEY_BYTES]


def test_number_of_buckets_is_read_again_in_each_flush_cycle(store: MemoryStore, sender: Sender):
    send(sender)
    store.open()
    store.ensure_table(TableSpec("t", buckets=8))
    sender.begin(10.0)
    send(sender, put(b"row-0001"))
    assert keys(store) == [Distribution(8).physical(b"row-0001")]


class Rejecting(MemoryStore):
    """A store that rejects the read of a table record as it would a row."""

    def buckets(self, table: str) -> int | None:
        raise WriteRejectedError(f"no record of {table}")


def test_rejected_read_of_the_table_record_refuses_no_row():
    sender = DirectSender(Rejecting())
    sender.begin(10.0)
    with pytest.raises(WriteRejectedError, match="no record of t"):
        send(sender, put(b"a"))
    [result] = sender.take_results()
    assert (result.stored, result.rows_sent, list(result.refused)) == (False, 0, [])


@pytest.mark.parametrize("count", [3, MIN_FILE_PUTS])
def test_staged_files_have_physical_keys_up_to_the_limit(tmp_path: Path, count: int):
    """Few puts are staged as mutations, many as a file of RocksDB."""
    store = RocksDBStore(RocksDBSettings(path=str(tmp_path / "store")))
    store.open()
    store.ensure_table(SPEC)
    staging = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    sender = DirectSender(staging)
    formats = Prepared.unpacked(Prepared(formats={"t": FileFormat(rows=RowFormat(16))}).packed()).formats
    staging.begin(str(tmp_path / "task"), {"t": frozenset([b"f"])}, formats)
    sender.begin(10.0)
    written = [b"row-%05d" % number for number in range(count)]
    too_long = put(b"r" * MAX_ROW_KEY_BYTES)
    send(sender, *map(put, written), too_long)
    (result,) = sender.take_results()
    assert [(one.mutation, one.error.code) for one in result.refused] == [(too_long, "row_key_too_long")]
    staged = staging.finish()
    assert staged is not None
    apply_staged(store, [staged])
    assert keys(store) == sorted(map(Distribution(16).physical, written))
    assert [row.key for row in PlainReader.of(store, "t").scan(Scan())] == written
    store.close()


def test_start_is_refused_if_only_the_record_has_buckets(store: MemoryStore):
    committer = ProbingCommitter(lambda: ThreadSender(store), declared={"t": TableSpec("t")})
    with pytest.raises(BucketsDifferError, match="the file says that it has no `distribute`"):
        committer.recover()


@pytest.mark.parametrize("buckets", [8, None])
def test_start_is_refused_if_the_record_differs(store: MemoryStore, buckets: int | None):
    declared = {"t": TableSpec("t", buckets=8), "absent": TableSpec("absent", buckets=8)}
    store.ensure_table(TableSpec("t", buckets=None if buckets is None else 16))
    committer = ProbingCommitter(lambda: ThreadSender(store), declared=declared)
    with pytest.raises(BucketsDifferError, match="distribute"):
        committer.recover()
    store.open()
    store.ensure_table(TableSpec("t", buckets=8))
    committer.recover()


@pytest.mark.parametrize("recorded", [8, None])
def test_table_whose_record_is_not_the_declared_number_is_not_written(
    store: MemoryStore, sender: Sender, recorded: int | None
):
    sender.begin(10.0, CycleTables({"t": RowFormat(16)}))
    send(sender, put(b"a"))
    written = keys(store)
    store._tables["t"].buckets = recorded  # its record is lost
    sender.begin(10.0, CycleTables({"t": RowFormat(16)}))
    with pytest.raises(BucketsChangedError, match=r"--adopt|hash: 8"):
        send(sender, put(b"b"))
    assert keys(store) == written


def test_table_declared_without_buckets_is_not_written_in_buckets(store: MemoryStore, sender: Sender):
    sender.begin(10.0, CycleTables({"t": RowFormat()}))
    with pytest.raises(BucketsChangedError):
        send(sender, put(b"a"))
    assert keys(store) == []


def test_table_that_is_missing_is_reported_as_missing(sender: Sender):
    sender.begin(10.0, CycleTables({"absent": RowFormat(16)}))
    with pytest.raises(NoTableError):
        send(sender, put(b"a"), table="absent")


def test_probe_and_tasks_compare_the_record_with_the_declaration(store: MemoryStore):
    committer = ProbingCommitter(lambda: ThreadSender(store), declared={"t": TableSpec("t", buckets=8)})
    assert Prepared.unpacked(committer.prepare(Batch("b", 1, "a"), [])).declared == {"t": RowFormat(8)}
    with pytest.raises(BucketsChangedError):
        committer.probe(packed_probe("t", [put(b"a")]), 10.0)
    committer.close()
    assert keys(store) == []


@pytest.mark.parametrize("changed", [8, None])
def test_commit_refuses_rows_that_were_staged_with_another_number(
    store: MemoryStore, tmp_path: Path, changed: int | None
):
    driver = DriverStore(store)
    committer = StagedCommitter(driver, FamilyRegistry(driver, {}, {None: 1}, {}), tmp_path)
    batch = Batch("b", 1, "a")
    prepared = Prepared.unpacked(committer.prepare(batch, []))
    staging = StagingWriter()
    sender = DirectSender(staging)
    staging.begin(f"{prepared.folder}/task", prepared.families, prepared.formats)
    sender.begin(10.0)
    send(sender, put(b"a"))
    result = StoreResult.unpacked(StoreResult(staging.finish()).packed()).packed()
    store.ensure_table(TableSpec("t", buckets=changed))
    with pytest.raises(ConflictError, match="changed after its rows were staged"):
        committer.commit(batch, [result])
    assert keys(store) == []
    store.ensure_table(SPEC)
    committer.commit(batch, [result])
    assert keys(store) == [Distribution(16).physical(b"a")]

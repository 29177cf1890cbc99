"""Table files: they have the puts of the task, and are ingested as a whole or not at all."""

import resource
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import failpoint
from ingest.api import (
    Disposition,
    Durability,
    FamilySpec,
    IntegrityError,
    NotFoundError,
    Put,
    Scan,
    StoreUnavailableError,
    TableSpec,
)
from ingest.api.errors import LifecycleError
from ingest.api.store_errors import WriteRejectedError
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.writing import staging
from sinks.writing.apply_staged import apply_staged
from sinks.writing.staging import FileFormat, StagedFile, StagingWriter
from tests.support.rocksdb_files import estimate

FAMILIES = tuple(FamilySpec(name, versions=3) for name in (b"f", b"g", b"\x00\xff"))

columns = st.sampled_from([b"f:", b"f:a", b"f:b\x00\x01", b"g:a", b"g:\xff", b"\x00\xff:q", b"f:a:b"])
puts = st.lists(
    st.builds(
        Put,
        st.binary(min_size=1, max_size=3) | st.sampled_from([b"a\x00", b"a\x00\x01", b"a\x00\xff", b"a"]),
        st.dictionaries(columns, st.binary(max_size=4), min_size=1),
        st.integers(min_value=0, max_value=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=15,
)


@pytest.fixture(autouse=True)
def every_call_writes_a_file(monkeypatch):
    monkeypatch.setattr(staging, "MIN_FILE_PUTS", 1)


@pytest.fixture
def store(tmp_path):
    made = opened(tmp_path / "store")
    yield made
    made.close()


def opened(folder: Path) -> RocksDBStore:
    store = RocksDBStore(RocksDBSettings(path=str(folder)))
    store.open()
    store.ensure_table(TableSpec("t", FAMILIES))
    return store


def staged(path: Path, *calls: list[Put]) -> StagedFile:
    staging_writer = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    staging_writer.begin(str(path), {})
    for some in calls:
        staging_writer.apply("t", some)
    made = staging_writer.finish()
    assert made is not None
    return made


@given(first=puts, second=puts)
@settings(max_examples=60, deadline=None)
def test_ingested_files_give_the_result_of_calls(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("files")
    file = staged(folder / "in" / "task", first, second)
    assert sorted(path.name for path in (folder / "in").iterdir()) == ["task", "task.0", "task.1"]
    expected = MemoryStore()
    expected.open()
    expected.ensure_table(TableSpec("t", FAMILIES))
    expected.apply("t", first)
    expected.apply("t", second)
    store = opened(folder / "store")
    try:
        for _ in range(2):
            apply_staged(store, [file])
            assert list(store.scan("t", Scan(versions=3))) == list(expected.scan("t", Scan(versions=3)))
    finally:
        store.close()


def test_order_of_files_and_frames_is_kept(store, tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MIN_FILE_PUTS", 2)
    one, two, three = (Put(b"r", {b"f:a": value}, 1) for value in (b"1", b"2", b"3"))
    other = Put(b"s", {b"f:a": b"x"}, 1)
    apply_staged(store, [staged(tmp_path / "in" / "task", [one], [other, two], [three])])
    assert [cell.value for row in store.scan("t", Scan()) for cell in row.cells] == [b"3", b"x"]


def test_rows_before_a_file_are_applied_before_it(store, tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MIN_FILE_PUTS", 2)
    one, two = (Put(b"r", {b"f:a": value}, 1) for value in (b"1", b"2"))
    file = staged(tmp_path / "in" / "task", [one], [Put(b"s", {b"f:a": b"x"}, 1), two])
    apply_staged(store, [file])
    assert [cell.value for row in store.scan("t", Scan()) for cell in row.cells] == [b"2", b"x"]


def test_each_file_reaches_a_failpoint_before_it_is_ingested(store, tmp_path, monkeypatch):
    reached: list[tuple[str, int]] = []

    def note(name: str) -> None:
        reached.append((name, len(list(store.scan("t", Scan())))))

    points = ("before_send", "between_sends")
    monkeypatch.setattr(failpoint, "_armed", {name: partial(note, name) for name in points})
    puts = [Put(key, {b"f:a": b"v"}, 1) for key in (b"1", b"2")]
    apply_staged(store, [staged(tmp_path / "in" / "task", *[[put] for put in puts])])
    assert reached == [("before_send", 0), ("between_sends", 1)]


def test_ingested_rows_survive_a_restart_without_the_file(store, tmp_path):
    file = staged(tmp_path / "in" / "task", [Put(b"%d" % number, {b"f:a": b"v"}, 1) for number in range(500)])
    apply_staged(store, [file])
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    store.close()
    store.open()
    assert len(list(store.scan("t", Scan()))) == 500


@pytest.mark.parametrize("links", [True, False])
def test_file_stays_and_is_copied_if_links_are_not_supported(store, tmp_path, monkeypatch, links):
    other = Path("/dev/shm")
    parent = other if other.is_dir() and other.stat().st_dev != tmp_path.stat().st_dev else tmp_path
    if not links:
        monkeypatch.setattr(
            Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError(95, "links are not supported"))
        )
    with TemporaryDirectory(dir=parent) as folder:
        file = staged(Path(folder) / "in" / "task", [Put(b"%d" % number, {b"f:a": b"v"}, 1) for number in range(9)])
        for _ in range(2):
            apply_staged(store, [file])
        assert (Path(folder) / "in" / "task.0").is_file()
    store.close()
    store.open()
    assert len(list(store.scan("t", Scan()))) == 9


def test_reader_sees_ingested_files(store, tmp_path):
    reader = RocksDBStore.reader(RocksDBSettings(path=str(tmp_path / "store")))
    reader.open()
    try:
        for number in range(3):
            apply_staged(store, [staged(tmp_path / "in" / f"task{number}", [Put(b"%d" % number, {b"f:a": b"v"}, 1)])])
            assert len(list(reader.scan("t", Scan()))) == number + 1
    finally:
        reader.close()


def test_superseded_cells_of_files_are_counted(store, tmp_path):
    for at in range(1, 6):
        rows = [Put(b"%03d" % number, {b"f:a": b"v", b"g:a": b"v"}, at) for number in range(100)]
        apply_staged(store, [staged(tmp_path / "in" / f"task{at}", rows)])
    # three versions are kept of each cell
    garbage = estimate(tmp_path / "store")
    assert (garbage.cells, garbage.superseded) == (1_000, 400)


def test_unknown_family_is_rejected(store, tmp_path):
    file = staged(tmp_path / "in" / "task", [Put(b"r", {b"absent:a": b"v", b"f:a": b"v"}, 1)])
    with pytest.raises(WriteRejectedError, match='there is no family "absent"'):
        apply_staged(store, [file])
    assert list(store.scan("t", Scan())) == []


def test_file_of_another_store_is_a_bug(tmp_path):
    memory = MemoryStore()
    memory.open()
    with pytest.raises(LifecycleError, match="a memory store received a staged file"):
        apply_staged(memory, [staged(tmp_path / "in" / "task", [Put(b"r", {b"f:a": b"v"}, 1)])])


@pytest.mark.parametrize("harm", ["flip", "cut", "gone"])
def test_damaged_file_is_reported_and_not_ingested(store, tmp_path, harm):
    file = staged(tmp_path / "in" / "task", [Put(b"%d" % number, {b"f:a": b"v" * 50}, 1) for number in range(500)])
    beside = tmp_path / "in" / "task.0"
    content = bytearray(beside.read_bytes())
    match harm:
        case "flip":
            content[len(content) // 2] ^= 1
            beside.write_bytes(content)
        case "cut":
            beside.write_bytes(content[:-1])
        case _:
            beside.unlink()
    with pytest.raises(IntegrityError) as raised:
        apply_staged(store, [file])
    assert f"{beside} is {'gone' if harm == 'gone' else 'damaged at byte 0'}" in str(raised.value)
    assert list(store.scan("t", Scan())) == []


def test_unfinished_files_are_removed(tmp_path):
    staging_writer = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    staging_writer.begin(str(tmp_path / "in" / "task"), {})
    staging_writer.apply("t", [Put(b"r", {b"f:a": b"v"}, 1)])
    staging_writer.begin(str(tmp_path / "in" / "task"), {})
    assert staging_writer.finish() is None
    assert list((tmp_path / "in").iterdir()) == []


def test_full_disk_while_a_file_is_written_is_retried(tmp_path):
    staging_writer = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    rows = [Put(b"%03d" % number, {b"f:a": bytes(4_000)}, 1) for number in range(500)]
    staging_writer.begin(str(tmp_path / "in" / "task"), {})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="cannot be written") as raised:
            staging_writer.apply("t", rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (raised.value.code, raised.value.disposition) == ("disk_full", Disposition.RETRY)
    staging_writer.begin(str(tmp_path / "in" / "task"), {})
    staging_writer.apply("t", rows)
    made = staging_writer.finish()
    store = opened(tmp_path / "store")
    try:
        apply_staged(store, [made] if made else [])
        assert len(list(store.scan("t", Scan()))) == 500
    finally:
        store.close()


@pytest.mark.parametrize("compression", ["gz", "snappy", "lz4", "zstd"])
def test_files_are_compressed_as_the_table(store, tmp_path, compression):
    rows = [
        Put(b"%05d" % number, {b"c:q": b"the same text again " * 10}, 1, durability=Durability.SKIP)
        for number in range(5_000)
    ]
    sizes = []
    for table in ("logged", "filed"):
        store.ensure_table(TableSpec(table, (FamilySpec(b"c", compression=compression), FamilySpec(b"d"))))
        before = {path.name for path in (tmp_path / "store").glob("*.sst")}
        if table == "logged":
            store.apply(table, rows)
        else:
            staging_writer = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
            staging_writer.begin(str(tmp_path / "task"), {}, {table: FileFormat(store.file_compression(table))})
            staging_writer.apply(table, rows)
            apply_staged(store, [made] if (made := staging_writer.finish()) else [])
        after = [path for path in (tmp_path / "store").glob("*.sst") if path.name not in before]
        sizes.append(sum(path.stat().st_size for path in after))
    logged, filed = sizes
    assert 0 < filed < 2 * logged < 1_000_000
    assert list(store.scan("filed", Scan())) == list(store.scan("logged", Scan()))


def test_missing_table_has_no_compression(store):
    with pytest.raises(NotFoundError):
        store.file_compression("absent")

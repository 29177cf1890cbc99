"""Files that tasks make hold what was put, and come to be the table's whole or not at all."""

import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.api import (
    Disposition,
    FamilySpec,
    IntegrityError,
    NotFoundError,
    Put,
    Scan,
    StoreUnavailableError,
    TableSpec,
)
from ingest.api.errors import LifecycleError, WriteRejectedError
from sinks.memory import MemoryStore
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
from sinks.writing import staging as writer
from sinks.writing.staged import apply_staged
from sinks.writing.staging import StagedFile, StagingWriter
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
def every_call_is_large(monkeypatch):
    monkeypatch.setattr(writer, "MIN_FILE_PUTS", 1)


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
    maker = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    maker.begin(str(path), {})
    for some in calls:
        maker.apply("t", some)
    made = maker.finish()
    assert made is not None
    return made


@given(first=puts, second=puts)
@settings(max_examples=60, deadline=None)
def test_files_leave_what_calls_leave(tmp_path_factory, first, second):
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


def test_file_and_frames_keep_their_order(store, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "MIN_FILE_PUTS", 2)
    one, two, three = (Put(b"r", {b"f:a": value}, 1) for value in (b"1", b"2", b"3"))
    other = Put(b"s", {b"f:a": b"x"}, 1)
    apply_staged(store, [staged(tmp_path / "in" / "task", [one], [other, two], [three])])
    assert [cell.value for row in store.scan("t", Scan()) for cell in row.cells] == [b"3", b"x"]


def test_delivered_file_outlives_a_restart_and_its_folder(store, tmp_path):
    file = staged(tmp_path / "in" / "task", [Put(b"%d" % number, {b"f:a": b"v"}, 1) for number in range(500)])
    apply_staged(store, [file])
    for path in (tmp_path / "in").iterdir():
        path.unlink()
    store.close()
    store.open()
    assert len(list(store.scan("t", Scan()))) == 500


@pytest.mark.parametrize("links", [True, False])
def test_file_stays_where_it_is_and_on_another_disk_it_is_copied(store, tmp_path, monkeypatch, links):
    other = Path("/dev/shm")
    away = other if other.is_dir() and other.stat().st_dev != tmp_path.stat().st_dev else tmp_path
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError(95, "no links here")))
    with TemporaryDirectory(dir=away) as folder:
        file = staged(Path(folder) / "in" / "task", [Put(b"%d" % number, {b"f:a": b"v"}, 1) for number in range(9)])
        for _ in range(2):
            apply_staged(store, [file])
        assert (Path(folder) / "in" / "task.0").is_file()
    store.close()
    store.open()
    assert len(list(store.scan("t", Scan()))) == 9


def test_reader_beside_sees_what_was_taken(store, tmp_path):
    reader = RocksDBStore.reader(RocksDBSettings(path=str(tmp_path / "store")))
    reader.open()
    try:
        for number in range(3):
            apply_staged(store, [staged(tmp_path / "in" / f"task{number}", [Put(b"%d" % number, {b"f:a": b"v"}, 1)])])
            assert len(list(reader.scan("t", Scan()))) == number + 1
    finally:
        reader.close()


def test_what_is_superseded_is_counted(store, tmp_path):
    for at in range(1, 6):
        rows = [Put(b"%03d" % number, {b"f:a": b"v", b"g:a": b"v"}, at) for number in range(100)]
        apply_staged(store, [staged(tmp_path / "in" / f"task{at}", rows)])
    # three versions are kept of each cell
    gauge = estimate(tmp_path / "store")
    assert (gauge.cells, gauge.superseded) == (1_000, 400)


def test_unknown_family_is_refused(store, tmp_path):
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
def test_damage_on_the_way_is_named_and_nothing_is_taken(store, tmp_path, harm):
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
    assert str(beside) in str(raised.value)
    assert list(store.scan("t", Scan())) == []


def test_unfinished_files_are_removed(tmp_path):
    maker = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    maker.begin(str(tmp_path / "in" / "task"), {})
    maker.apply("t", [Put(b"r", {b"f:a": b"v"}, 1)])
    maker.begin(str(tmp_path / "in" / "task"), {})
    assert maker.finish() is None
    assert list((tmp_path / "in").iterdir()) == []


def test_full_disk_under_a_file_is_waited_for(tmp_path):
    maker = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    rows = [Put(b"%03d" % number, {b"f:a": bytes(4_000)}, 1) for number in range(500)]
    maker.begin(str(tmp_path / "in" / "task"), {})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, hard))
    try:
        with pytest.raises(StoreUnavailableError, match="cannot be written") as raised:
            maker.apply("t", rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (raised.value.code, raised.value.disposition) == ("disk_full", Disposition.RETRY)
    maker.begin(str(tmp_path / "in" / "task"), {})
    maker.apply("t", rows)
    made = maker.finish()
    store = opened(tmp_path / "store")
    try:
        apply_staged(store, [made] if made else [])
        assert len(list(store.scan("t", Scan()))) == 500
    finally:
        store.close()


@pytest.mark.parametrize("compression", ["gz", "snappy", "lz4", "zstd"])
def test_table_of_files_is_as_small_as_one_written_through_the_log(store, tmp_path, compression):
    rows = [Put(b"%05d" % number, {b"c:q": b"the same text again " * 10}, 1, wal=False) for number in range(5_000)]
    sizes = []
    for table in ("logged", "filed"):
        store.ensure_table(TableSpec(table, (FamilySpec(b"c", compression=compression), FamilySpec(b"d"))))
        before = {path.name for path in (tmp_path / "store").glob("*.sst")}
        if table == "logged":
            store.apply(table, rows)
        else:
            maker = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
            maker.begin(str(tmp_path / "task"), {}, {table: store.file_compression(table)})
            maker.apply(table, rows)
            apply_staged(store, [made] if (made := maker.finish()) else [])
        after = [path for path in (tmp_path / "store").glob("*.sst") if path.name not in before]
        sizes.append(sum(path.stat().st_size for path in after))
    logged, filed = sizes
    assert 0 < filed < 2 * logged < 1_000_000
    assert list(store.scan("filed", Scan())) == list(store.scan("logged", Scan()))


def test_table_that_is_not_there_tells_no_compression(store):
    with pytest.raises(NotFoundError):
        store.file_compression("absent")

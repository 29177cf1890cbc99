"""Many small files, which RocksDB itself never merges: the store merges them, and can open all of them."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.api import Disposition, FamilySpec, Put, Scan, StoreUnavailableError, TableSpec
from sinks.rocksdb import descriptors, small_files
from sinks.rocksdb.errors import translated
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.small_files import MAX_FILES, MIN_FILES, SMALL_BYTES, Span, spans
from sinks.rocksdb.store import RocksDBStore
from sinks.writing.apply_staged import apply_staged
from sinks.writing.staging import StagingWriter
from tests.support.rocksdb_files import as_files, opened

FEW_DESCRIPTORS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
from tests.support.rocksdb_files import as_files, opened
from ingest.api import Scan
from sinks.rocksdb import small_files
from sinks.rocksdb.settings import RocksDBSettings
from sinks.rocksdb.store import RocksDBStore
small_files.CHECK_EVERY = 1_000_000
store = opened(sys.argv[1])
as_files(store, sys.argv[2], 500)
print(sum(1 for _ in store.scan("t", Scan())))
store.close()
for again in (RocksDBStore(RocksDBSettings(path=sys.argv[1])), RocksDBStore.reader(RocksDBSettings(path=sys.argv[1]))):
    again.open()
    print(sum(1 for _ in again.scan("t", Scan())))
    again.close()
"""


def files_of(store: Path) -> int:
    return len(list(store.glob("*.sst")))


def test_more_files_than_the_process_may_have_open(tmp_path):
    (tmp_path / "in").mkdir()
    arguments = [sys.executable, "-c", FEW_DESCRIPTORS, str(tmp_path / "store"), str(tmp_path / "in")]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (result.stdout.split(), result.stderr) == (["1000"] * 3, "")
    assert files_of(tmp_path / "store") >= 500


def test_adjacent_small_files_are_merged_without_loss(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "CHECK_EVERY", 20)
    store = opened(tmp_path / "store")
    store.ensure_table(TableSpec("u", (FamilySpec(b"f"),)))
    try:
        as_files(store, tmp_path, 61)
        as_files(store, tmp_path, 3, "u")
        assert files_of(tmp_path / "store") < 20
        assert [row.key for row in store.scan("t", Scan())] == [b"r%09d" % number for number in range(122)]
        assert len(list(store.scan("u", Scan()))) == 6
    finally:
        store.close()


def test_files_of_alternating_tables_are_merged(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "CHECK_EVERY", 20)
    store = opened(tmp_path / "store")
    store.ensure_table(TableSpec("u", (FamilySpec(b"f"),)))
    try:
        for number in range(41):
            for table in ("t", "u"):
                path = tmp_path / "file"
                rows = [Put(b"r%09d" % number, {b"f:q": b"v"}, 1)]
                store.ingest_file(table, str(path), store.write_file(str(path), rows))
                path.unlink()
        assert files_of(tmp_path / "store") < 20
    finally:
        store.close()


def listed(sizes: list[int], level: int = 6) -> list[dict[str, object]]:
    return [
        {"level": level, "size": size, "start_key": b"%04d" % number, "end_key": b"%04d9" % number}
        for number, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([1] * MIN_FILES, [Span(b"0000", b"%04d9" % (MIN_FILES - 1))], id="all"),
        pytest.param([1] * (MIN_FILES - 1), [], id="too-few"),
        pytest.param([SMALL_BYTES] * MIN_FILES, [], id="large"),
        pytest.param([1] * 9 + [SMALL_BYTES] + [1] * 9, [], id="apart"),
        pytest.param([1] * 500, [Span(b"0000", b"%04d9" % (MAX_FILES - 1))], id="a-backlog"),
    ],
)
def test_only_adjacent_small_files_are_merged(sizes, expected):
    assert spans(reversed(listed(sizes))) == expected
    assert spans([*listed(sizes), *listed([1] * 50, level=5)]) == expected
    assert spans(listed(sizes, level=0)) == []


@pytest.mark.parametrize(("soft", "expected"), [(64, 20), (256, 64), (1_024, 256), (1 << 20, 4_096), (-1, 4_096)])
def test_store_may_open_a_quarter_of_the_limit(monkeypatch, soft, expected):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert descriptors.max_open() == expected


def test_opening_a_store_raises_the_limit(tmp_path):
    code = (
        "import resource, sys\n"
        "from tests.support.rocksdb_files import opened\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))\n"
        "opened(sys.argv[1]).close()\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=True
    )
    assert result.stdout == "True\n"


@pytest.mark.parametrize("text", ["Too many open files", "Too many open files in system"])
def test_too_many_open_files_are_retried(text):
    error = translated(Exception(f"IO error: While open a file for random read: /x/1.sst: {text}"), Path("/x"))
    assert (error.code, error.disposition) == ("too_many_open_files", Disposition.RETRY)
    assert "LimitNOFILE=" in str(error)


def test_too_many_open_files_are_retried_when_files_are_written_and_ingested(tmp_path):
    staging_writer = StagingWriter(RocksDBStore(RocksDBSettings(path="/nowhere")))
    rows = [Put(b"%05d" % number, {b"f:q": b"v"}, 1) for number in range(5_000)]
    staging_writer.begin(str(tmp_path / "in" / "task"), {})
    staging_writer.apply("t", rows)
    made = staging_writer.finish()
    assert made is not None
    store = opened(tmp_path / "store")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(StoreUnavailableError) as at_ingest:
            apply_staged(store, [made])
        with pytest.raises(StoreUnavailableError) as at_write:
            store.write_file(str(tmp_path / "file"), rows)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {at_ingest.value.code, at_write.value.code} == {"too_many_open_files"}
    apply_staged(store, [made])
    assert len(list(store.scan("t", Scan()))) == 5_000
    store.close()

"""The folder of staged files while it is full or read-only: no row is missing, and none is there twice."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from ingest.api import FamilySpec, Mutation, Put, Scan, TableSpec
from sinks.bulk_load.loading import BulkLoadingStore
from sinks.bulk_load.modes import LoadRule
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support.names import unique
from tests.support.programs import path_of
from tests.support.servers import HBase

pytestmark = pytest.mark.one_protocol("a Thrift server loads no files")

ROWS = 500
VALUE_BYTES = 1_000


def mounted(*options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["mount", *options], capture_output=True, check=False)


def can_mount() -> bool:
    """Whether this account may; tried in a namespace of its own."""
    if path_of("unshare") is None or path_of("mount") is None:
        return False
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def staging(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory of 4 MiB."""
    folder = tmp_path / "staging"
    folder.mkdir()
    assert not mounted("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)).returncode
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.skipif(not can_mount(), reason="this account may mount no file systems")
@pytest.mark.parametrize(("broken", "mended"), [("size=64k", "size=4m"), ("ro", "rw")], ids=["full", "read-only"])
def test_rows_go_as_calls_while_no_file_can_be_staged(hbase: HBase, staging: Path, broken: str, mended: str) -> None:
    spec = TableSpec(unique("staging"), (FamilySpec(b"f", versions=5), FamilySpec(b"g", versions=5)), splits=(b"k250",))
    store = RpcStore(HBaseSettings(**hbase.store_options("rpc") | {"timeout": "60s", "staging": str(staging)}))
    noise = Random(1)
    values = [noise.randbytes(VALUE_BYTES) for _ in range(ROWS)]

    def puts(time_ms: int) -> list[Mutation]:
        return [Put(b"k%03d" % row, {b"f:q": value, b"g:q": value}, time_ms) for row, value in enumerate(values)]

    made = BulkLoadingStore(store, {spec.name: LoadRule(1, None, only_behind=False)})
    with closing(made):
        made.open()
        store.create_table(spec)
        loaded = {}
        for time_ms, options in enumerate((mended, broken, mended), start=1):
            assert not mounted("-o", f"remount,{options}", str(staging)).returncode
            made.begin({}, lambda: None, (time_ms,))
            made.apply(spec.name, puts(time_ms))
            counted = made.take_counted()
            loaded[time_ms] = counted["bulk_load_rows", spec.name]
            assert bool(counted["bulk_load_unstaged", spec.name]) is (options == broken)
        assert loaded == {1: ROWS, 2: 0, 3: ROWS}
        rows = list(store.scan(spec.name, Scan(versions=5)))
        assert [row.key for row in rows] == [b"k%03d" % number for number in range(ROWS)]
        for row, value in zip(rows, values, strict=True):
            times = [(cell.family, cell.timestamp_ms, cell.value == value) for cell in row.cells]
            assert times == [(family, time_ms, True) for family in (b"f", b"g") for time_ms in (3, 2, 1)]
    assert list(staging.iterdir()) == []

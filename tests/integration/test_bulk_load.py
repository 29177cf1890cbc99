"""Files that HBase loads in place of calls."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ingest.api import Delete, FamilySpec, Mutation, Put, Row, Scan, StoreUnavailableError, TableSpec
from ingest.api.bulk_load import NOTHING_CONFIRMED
from sinks.files.opening import open_root
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support.hbase_admin import Admin
from tests.support.hdfs import Hdfs
from tests.support.names import unique
from tests.support.region_calls import major_compact
from tests.support.servers import HBase

pytestmark = pytest.mark.one_protocol("a Thrift server loads no files")


@pytest.fixture
def store(hbase: HBase, tmp_path: Path) -> Iterator[RpcStore]:
    options = {"timeout": "60s", "staging": str(tmp_path / "staging")} | hbase.store_options("rpc")
    made = RpcStore(HBaseSettings(**options))
    made.open()
    yield made
    made.close()
    assert list((tmp_path / "staging").iterdir()) == []


def load(store: RpcStore, table: str, mutations: Sequence[Mutation]) -> tuple[int, int, list[int], str | None]:
    result = store.load(table, mutations, lambda _start, _rows, _bytes: True)
    assert result.refused == []
    return result.rows, result.files, result.left, result.unstaged


def rows(store: RpcStore, table: str) -> list[Row]:
    return list(store.scan(table, Scan(versions=10)))


def test_rows_are_the_same_by_files_and_by_calls(store: RpcStore) -> None:
    """
    In every region and family, with deletes and versions, before and after a compaction; a get finds each row.

    No put is older than a delete before it: a compaction of all files, which loads may start, removes the marker.
    """
    families = (FamilySpec(b"f", versions=5), FamilySpec(b"g", versions=5, compression="gz", bloom="rowcol"))
    by_call, by_file = (TableSpec(unique(name), families, splits=(b"m", b"t")) for name in ("calls", "files"))
    steps: list[list[Mutation]] = [
        [Put(b"%c%03d" % (97 + n % 26, n), {b"f:a": b"%d" % n, b"g:b": b"v" * n}, 10) for n in range(400)],
        [Put(b"%c%03d" % (97 + n % 26, n), {b"f:a": b"second"}, 20) for n in range(0, 400, 3)],
        [
            *(Delete(b"%c%03d" % (97 + n % 26, n), 15, family) for n in range(0, 400, 7) for family in (b"f", b"g")),
            *(Delete(b"%c%03d" % (97 + n % 26, n), 30, family=b"f", qualifier=b"a") for n in range(0, 400, 11)),
            *(Delete(b"%c%03d" % (97 + n % 26, n), 10, family=b"g") for n in range(0, 400, 13)),
            *(Delete(b"%c%03d" % (97 + n % 26, n), 20, b"f", b"a", exact=True) for n in range(0, 400, 17)),
        ],
        [Put(b"%c%03d" % (97 + n % 26, n), {b"f:a": b"third", b"f:": b""}, 35) for n in range(0, 400, 5)],
    ]
    for spec in (by_call, by_file):
        store.create_table(spec)
    for step in steps:
        store.apply(by_call.name, step)
        loaded, files, left, unstaged = load(store, by_file.name, step)
        assert (loaded, left, unstaged) == (len(step), [], None)
        assert files in {3, 6}
        assert rows(store, by_file.name) == rows(store, by_call.name)
    expected = rows(store, by_call.name)
    assert len(expected) > 300
    assert [store.get(by_file.name, row.key, versions=10) for row in expected] == expected
    for spec in (by_call, by_file):
        major_compact(store, spec.name, 60)
    assert rows(store, by_file.name) == expected


def test_of_calls_and_files_with_one_time_the_last_one_counts(store: RpcStore) -> None:
    spec = TableSpec(unique("turns"), (FamilySpec(b"f"),))
    store.create_table(spec)
    for number in range(6):
        put = Put(b"r", {b"f:q": b"%d" % number}, 1)
        if number % 2:
            assert load(store, spec.name, [put]) == (1, 1, [], None)
        else:
            store.apply(spec.name, [put])
        assert store.values(spec.name, b"r", b"f:q") == {b"f:q": b"%d" % number}


def test_files_are_cut_anew_after_a_split(hbase: HBase, store: RpcStore) -> None:
    spec = TableSpec(unique("cut"), (FamilySpec(b"f"),))
    store.create_table(spec)
    puts = [Put(bytes((2 * number + 1,)), {b"f:q": b"v"}, 1) for number in range(100)]
    assert load(store, spec.name, puts) == (100, 1, [], None)
    with Admin(hbase.server) as admin:
        admin.ask("split", spec.name)
    assert load(store, spec.name, puts) == (100, 2, [], None)
    assert [row.key for row in rows(store, spec.name)] == [put.row for put in puts]


@pytest.mark.slow
def test_files_in_hdfs(hbase: HBase, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """HBase, whose own folders are local, copies them; a HBase in the same HDFS moves them."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.folder / "conf"))
    url = f"{hdfs.url}/{unique('staging')}"
    store = RpcStore(HBaseSettings(**{"timeout": "60s", "staging": url} | hbase.store_options("rpc")))
    spec = TableSpec(unique("hdfs"), (FamilySpec(b"f"), FamilySpec(b"g")), splits=(b"m",))
    puts: list[Mutation] = [Put(row, {b"f:q": row, b"g:q": b"v"}, 1) for row in (b"a", b"b", b"n", b"x")]
    with closing(store):
        store.open()
        store.create_table(spec)
        store.check_loading(spec.name, confirmed=NOTHING_CONFIRMED)
        assert load(store, spec.name, puts) == (4, 4, [], None)
        assert [row.key for row in rows(store, spec.name)] == [put.row for put in puts]
    assert open_root(url).entries("") == []


def test_check_of_a_folder_that_cannot_be_used(store: RpcStore, tmp_path: Path) -> None:
    spec = TableSpec(unique("check"), (FamilySpec(b"f"),))
    store.create_table(spec)
    store.check_loading(spec.name, confirmed=NOTHING_CONFIRMED)
    store.close()
    (tmp_path / "staging").rmdir()
    (tmp_path / "staging").write_text("")
    store.open()
    with pytest.raises(StoreUnavailableError, match="staging"):
        store.check_loading(spec.name, confirmed=NOTHING_CONFIRMED)
    (tmp_path / "staging").unlink()
    (tmp_path / "staging").mkdir()


def test_what_a_file_cannot_do_is_left(store: RpcStore, tmp_path: Path) -> None:
    spec = TableSpec(unique("left"), (FamilySpec(b"f"),))
    store.create_table(spec)
    good, other, large = (
        Put(b"a", {b"f:q": b"v"}, 1),
        Put(b"b", {b"nosuch:q": b"v"}, 1),
        Put(b"c", {b"f:q": b"v" * (11 << 20)}, 1),
    )
    assert load(store, spec.name, [good, other]) == (0, 0, [0, 1], None)
    assert load(store, spec.name, [good, large]) == (0, 0, [0, 1], None)
    assert load(store, spec.name, [good, Delete(b"b", 1)]) == (0, 0, [0, 1], None)
    (tmp_path / "staging").write_text("")
    loaded, files, left, unstaged = load(store, spec.name, [good])
    assert (loaded, files, left) == (0, 0, [0])
    assert unstaged is not None
    (tmp_path / "staging").unlink()
    assert load(store, spec.name, [good]) == (1, 1, [], None)

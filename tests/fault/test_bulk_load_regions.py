"""Regions are split, merged and moved between the lookup of a bulk load and the load."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ingest.api import FamilySpec, Mutation, Put, Scan, TableSpec
from sinks.bulk_load.loading import BulkLoadingStore
from sinks.bulk_load.modes import LoadRule
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import running_cluster
from tests.support.names import unique
from tests.support.servers import HBase

pytestmark = [pytest.mark.slow, pytest.mark.one_protocol("a Thrift server loads no files")]

ROWS = 3_000
FAMILIES = (b"f", b"g")


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    with running_cluster(servers_folder / "loads", region_servers=3) as hbase:
        yield hbase


@pytest.fixture(scope="module")
def admin(cluster: HBase) -> Iterator[Admin]:
    with Admin(cluster.server) as client:
        yield client


class Steps:
    """
    Notes the steps of a load, and does something at one of them.

    Args:
        admin: of the cluster.
        at: number of the step.
        command: to be asked then.
        table: of the load.
    """

    def __init__(self, admin: Admin, at: int, command: str, table: str) -> None:
        self.answer = ""
        self._admin = admin
        self._left = at
        self._command = command
        self._table = table

    def __call__(self) -> None:
        if self._left == 0:
            self.answer = self._admin.ask(self._command, self._table)
        self._left -= 1


def puts(time_ms: int) -> list[Mutation]:
    return [Put(b"k%04d" % row, {b"f:q": b"%d at %d" % (row, time_ms), b"g:q": b"v"}, time_ms) for row in range(ROWS)]


@pytest.mark.parametrize("is_staged", [False, True], ids=["after the lookup", "before the load"])
@pytest.mark.parametrize("command", ["split", "merge", "move"])
def test_files_are_cut_anew(cluster: HBase, admin: Admin, tmp_path: Path, command: str, *, is_staged: bool) -> None:
    families = tuple(FamilySpec(name, versions=5) for name in FAMILIES)
    spec = TableSpec(unique("regions"), families, splits=(b"k1000", b"k2000"))
    staging = tmp_path / "staging"
    store = RpcStore(HBaseSettings(**cluster.store_options("rpc") | {"timeout": "120s", "staging": str(staging)}))
    made = BulkLoadingStore(store, {spec.name: LoadRule(1, None, only_behind=False)})
    with closing(made):
        made.open()
        store.create_table(spec)
        for time_ms in (1, 2, 3):
            regions = len(store.region_starts(spec.name))
            # one for the lookup, one for the files of each region, one for each file that is staged
            at = 1 + regions + regions * len(FAMILIES) if is_staged else 0
            steps = Steps(admin, at, command if time_ms == 2 else "servers", spec.name)
            made.begin({}, steps, (time_ms,))
            made.apply(spec.name, puts(time_ms))
            assert steps.answer
            if time_ms == 2 and command != "move":
                before, after = steps.answer.split()
                assert before != after
            counted = made.take_counted()
            assert counted["bulk_load_rows", spec.name] == ROWS
            assert counted["bulk_load_refused", spec.name] == 0
        rows = list(store.scan(spec.name, Scan(versions=10)))
        assert [row.key for row in rows] == [put.row for put in puts(1)]
        for number, row in enumerate(rows):
            expected = [(b"f", time_ms, b"%d at %d" % (number, time_ms)) for time_ms in (3, 2, 1)]
            expected += [(b"g", time_ms, b"v") for time_ms in (3, 2, 1)]
            assert [(cell.family, cell.timestamp_ms, cell.value) for cell in row.cells] == expected
    assert list(staging.iterdir()) == []

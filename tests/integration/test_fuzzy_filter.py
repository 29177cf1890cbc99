"""HBase's filter for patterns of row keys finds the rows that match, and is used only where it does."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ingest.api import FamilySpec, FuzzyPattern, Put, Scan, ScanCounts, TableSpec
from tests.support.fuzzy_rows import COUNTS, ROWS
from tests.support.fuzzy_scans import Filters, Scans, opened
from tests.support.in_process import run_here
from tests.support.local import HBaseServer, jars
from tests.support.names import unique
from tests.support.servers import HBase

pytestmark = pytest.mark.one_protocol("compares the protocols, and tests the filter that only one of them has")


@pytest.fixture
def filters(monkeypatch: pytest.MonkeyPatch) -> Filters:
    return Filters(monkeypatch)


def test_filter_and_seeks_of_the_client_find_the_rows_that_match(hbase: HBase, filters: Filters) -> None:
    with opened(hbase, "rpc") as rpc, opened(hbase, "thrift") as thrift:
        Scans(rpc, Random(7)).compare([rpc, thrift], 25)
    assert filters.used > 10


@pytest.mark.slow
def test_filter_and_seeks_of_the_client_find_the_rows_of_many_scans(hbase: HBase, filters: Filters) -> None:
    with opened(hbase, "rpc") as rpc, opened(hbase, "thrift") as thrift:
        for seed in range(3):
            Scans(rpc, Random(seed)).compare([rpc, thrift], 100)
    assert filters.used > 100


@pytest.fixture(scope="module")
def table(hbase: HBase) -> str:
    return created(hbase)


def created(hbase: HBase) -> str:
    """A table of 100 users, 4 actions of each, 25 rows of each action."""
    spec = TableSpec(unique("users"), (FamilySpec(b"f"), FamilySpec(b"g")))
    with opened(hbase, "rpc") as store:
        store.ensure_table(spec)
        store.apply(spec.name, [Put(row, {b"f:q": b"1", b"g:q": b"1"}, 1) for row in ROWS])
    return spec.name


@pytest.mark.parametrize(("patterns", "rows", "seeks", "touched"), COUNTS)
def test_server_touches_as_many_rows_as_the_client(
    hbase: HBase, table: str, patterns: tuple[str, ...], rows: int, seeks: int, touched: int
) -> None:
    scan = Scan(fuzzy=tuple(map(FuzzyPattern.parse, patterns)))
    counts = ScanCounts()
    with opened(hbase, "rpc") as store:
        assert sum(1 for _ in store.scan(table, scan, counts)) == rows
    assert (counts.rows_in_fallback, counts.rows_touched) == (0, touched)
    assert seeks <= counts.seeks <= seeks + 1


class AlignedServer(HBaseServer):
    """Its Java does not let HBase find out that memory can be read unaligned."""

    def command(self, *main: str, heap: str) -> list[str]:
        return [part for part in super().command(*main, heap=heap) if "java.base/java.nio=" not in part]


@pytest.fixture(scope="module")
def aligned(servers_folder: Path) -> Iterator[HBase]:
    folder = servers_folder / unique("aligned")
    hbase = HBase(folder, AlignedServer(folder, java_options=jars.SHORT_LIVED))
    hbase.start()
    yield hbase
    hbase.server.stop()


@pytest.mark.slow
def test_server_without_unaligned_access_is_recognized(aligned: HBase, filters: Filters) -> None:
    with opened(aligned, "rpc") as rpc:
        Scans(rpc, Random(3)).compare([rpc], 50)
    assert filters.used == 0


@pytest.mark.slow
def test_scan_of_a_server_without_unaligned_access_names_the_option(aligned: HBase, tmp_path: Path) -> None:
    table = created(aligned)
    content = {
        "version": 1,
        "stores": {"s": {"hbase": aligned.store_options("rpc")}},
        "pipelines": {"p": {"source": {"files": {"path": "./in"}}, "sinks": [{"attr2hbase": {"table": table}}]}},
    }
    (tmp_path / "p.yaml").write_text(json.dumps(content))
    result = run_here(["scan", "-f", "p.yaml", table, "--fuzzy", "??5?_login_", "--limit", "1000"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("_login_") == 250
    assert "start its Java with --add-opens java.base/java.nio=ALL-UNNAMED" in result.stderr

"""Rising row keys on three region servers: who receives the writes, and a scan during which a server is killed."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.api import Scan
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.scanning.plain_reader import PlainReader
from tests.support.hbase_admin import Admin
from tests.support.hbase_cluster import HBaseCluster, running_cluster
from tests.support.names import unique
from tests.support.servers import HBase
from tests.support.service import Service

pytestmark = pytest.mark.slow

BUCKETS = 16
ROWS = [b"row-%09d" % number for number in range(1_000_000, 1_020_000)]
SPLITS = [f"row-{number:09d}" for number in range(0, 960_000, 64_000)]
"""Of the unsalted table: as many regions as the salted one has, for rows of earlier times."""


@dataclass(frozen=True)
class Written:
    """Two tables with the same rows, written by one pipeline."""

    cluster: HBase
    salted: str
    plain: str


@pytest.fixture(scope="module")
def cluster(servers_folder: Path) -> Iterator[HBase]:
    # the Thrift server repeats its calls until the regions of a killed server are open elsewhere
    properties = {"hbase.client.retries.number": "15"}
    with running_cluster(servers_folder / "three", region_servers=3, thrift2=True, properties=properties) as hbase:
        yield hbase


@pytest.fixture(scope="module")
def admin(cluster: HBase) -> Iterator[Admin]:
    with Admin(cluster.server) as client:
        yield client


@pytest.fixture(scope="module")
def written(cluster: HBase, admin: Admin, tmp_path_factory: pytest.TempPathFactory) -> Written:
    assert len(admin.ask("servers").split()) == 3
    made = Written(cluster, unique("salted"), unique("plain"))
    folder = tmp_path_factory.mktemp("rising")
    (folder / "in").mkdir()
    path = folder / "in" / "rows.txt"
    path.write_bytes(b"".join(row + b"\n" for row in ROWS))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    thrift2 = {"host": cluster.host, "port": cluster.thrift2_port}
    content = {
        "stores": {"cluster": {"hbase": {"host": cluster.host, "port": cluster.port, "thrift2": thrift2}}},
        "tables": {
            made.salted: {"families": {"f": {}}, "distribute": {"hash": BUCKETS}},
            made.plain: {"families": {"f": {}}, "splits": SPLITS},
        },
        "pipelines": {
            "rising": {
                "source": {"files": {"path": "./in"}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{body}"}},
                    {"value": {"attribute": "2hb_f:q", "value": "%{body}"}},
                ],
                "sinks": [
                    {"attr2hbase": {"label": label, "table": table}}
                    for label, table in (("salted", made.salted), ("plain", made.plain))
                ],
            }
        },
    }
    with Service(folder, content) as service:
        applied = service.ingest("table apply")
        assert applied.returncode == 0, applied.stderr
        assert service.run_once() == 0, service.last_lines()
    return made


@pytest.mark.parametrize(
    ("is_salted", "least", "most", "most_of_region"), [(False, 0.9, 1.0, 1.0), (True, 0.0, 0.45, 0.1)]
)
def test_salted_writes_are_spread_over_the_servers(
    written: Written, admin: Admin, is_salted: bool, least: float, most: float, most_of_region: float
) -> None:
    writes = admin.writes(written.salted if is_salted else written.plain)
    servers: Counter[str] = Counter()
    for (_, server), count in writes.items():
        servers[server] += count
    assert (len(writes), servers.total()) == (BUCKETS, len(ROWS))
    assert least <= max(servers.values()) / len(ROWS) <= most
    assert max(writes.values()) / len(ROWS) <= most_of_region


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_of_a_salted_table_while_a_region_server_is_killed(written: Written, admin: Admin, reverse: bool) -> None:
    server = written.cluster.server
    assert isinstance(server, HBaseCluster)
    settings = HBaseSettings(host=written.cluster.host, port=written.cluster.port, timeout="180s")
    store = HBaseStore.of(settings)
    store.open()
    found = []
    try:
        for row in PlainReader.of(store, written.salted).scan(Scan(page_rows=100, reverse=reverse)):
            found.append(row.key)
            if len(found) == len(ROWS) // 4:
                [(address, _)] = Counter(admin.regions(written.salted).values()).most_common(1)
                killed = server.serving(address)
                killed.kill()
    finally:
        store.close()
    server.start_one(killed)
    assert found == (ROWS[::-1] if reverse else ROWS)
    assert address not in admin.regions(written.salted).values()

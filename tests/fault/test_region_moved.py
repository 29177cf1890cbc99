"""F11: the region of a table moves between two servers while rows are written; `test_hbase_regions` has the rest."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from ingest.api import FamilySpec, Put, TableSpec
from sinks.hbase.protobuf import data, number
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.local import ServerProcess
from tests.support.names import unique
from tests.support.servers import HBase, Protocol
from tests.support.waiting import reached

ROWS = 20
_ENCODED_REGION_NAME = 2  # RegionSpecifierType: a master knows regions by the last part of their name alone


@pytest.fixture(scope="module")
def second(hbase: HBase) -> Iterator[None]:
    """A second region server of HBase, in its own process."""
    process = ServerProcess("second-region-server", hbase.server.folder)
    own = ["-Dhbase.cluster.distributed=true", "-Dhbase.regionserver.port=0"]
    main = "org.apache.hadoop.hbase.regionserver.HRegionServer"
    process.start(hbase.server.command(main, *own, "start", heap="256m"))
    try:
        yield
    finally:
        process.stop()  # its regions go back to the first one


@pytest.fixture
def cluster(hbase: HBase) -> Iterator[RpcStore]:
    """For moves, with either protocol of the store."""
    with closing(RpcStore(HBaseSettings(**{"timeout": "60s"} | hbase.store_options("rpc")))) as store:
        store.open()
        yield store


def server_of(cluster: RpcStore, table: str) -> str:
    (region,) = cluster.regions(table) or ()
    return region.server


def move(cluster: RpcStore, table: str) -> None:
    """Move the region of a table to the other server, as soon as there is one: the master chooses it."""
    before = server_of(cluster, table)

    def is_moved() -> bool:
        deadline_s = cluster._attempts().deadline_s
        (region,) = cluster._regions.present(table, deadline_s).all
        # MoveRegionRequest: region 1, dest_server_name 2; RegionSpecifier: type 1, value 2
        request = data(1, number(1, _ENCODED_REGION_NAME) + data(2, region.name.split(b".")[-2]))
        cluster._cluster.call(cluster._cluster.master(deadline_s), "MasterService", "MoveRegion", request, deadline_s)
        cluster._regions.forget(table)
        return server_of(cluster, table) not in ("", before)

    assert reached(is_moved, 60, 0.2)


@pytest.mark.usefixtures("second")
def test_rows_written_while_their_region_moves_are_stored(hbase: HBase, protocol: Protocol, cluster: RpcStore) -> None:
    table = unique("moved")
    settings = HBaseSettings.model_validate({"timeout": "60s"} | hbase.store_options(protocol))
    acknowledged: list[int] = []
    failed: list[BaseException] = []
    ending = threading.Event()

    def write() -> None:
        try:
            while not ending.is_set():
                at = len(acknowledged)
                store.apply(table, [Put(b"%d-%d" % (at, row), {b"f:q": b"v"}, 1) for row in range(ROWS)])
                acknowledged.append(at)
        except BaseException as error:  # noqa: BLE001 - the main thread reports it
            failed.append(error)

    with closing(HBaseStore.of(settings)) as store:
        store.open()
        store.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
        writer = threading.Thread(target=write)
        writer.start()
        servers = [server_of(cluster, table)]
        try:
            for _ in range(2):
                move(cluster, table)
                servers.append(server_of(cluster, table))
                count = len(acknowledged)
                assert reached(lambda count=count: len(acknowledged) > count + 1 or failed, 60)
        finally:
            ending.set()
            writer.join()
        assert failed == []
        one, other, last = servers
        assert last == one != other
    expected = {b"%d-%d" % (at, row) for at in acknowledged for row in range(ROWS)}
    assert hbase.rows(table).keys() == expected

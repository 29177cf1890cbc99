"""HBase throttles a client by a quota: the client waits as long as HBase says, and every row is stored."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.api import BusyWait, FamilySpec, Put, Scan, StoreBusyError, TableSpec
from sinks.hbase.protobuf import data, number
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.stream import Address
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.local import HBaseServer, jars
from tests.support.waiting import reached

pytestmark = pytest.mark.slow

REFRESH_S = 1.0
SECONDS, HOURS = 4, 6
"""TimeUnit of HBase.proto."""
WRITES = 3
"""ThrottleType of Quota.proto: the number of write requests."""
ROWS = 60


@pytest.fixture(scope="module")
def server(servers_folder: Path) -> Iterator[HBaseServer]:
    properties = {"hbase.quota.enabled": "true", "hbase.quota.refresh.period": str(int(REFRESH_S * 1000))}
    made = HBaseServer(
        servers_folder / "throttled", properties=properties, java_options=jars.SHORT_LIVED, has_thrift=False
    )
    try:
        made.start()
        made.wait()
        yield made
    finally:
        made.stop()


@pytest.fixture
def store(server: HBaseServer) -> Iterator[HBaseStore]:
    made = HBaseStore.of(HBaseSettings(bootstrap_servers=server.bootstrap_servers, timeout="60s"))
    made.open()
    yield made
    made.close()


def limit_writes(server: HBaseServer, table: str, limit: int, unit: int) -> None:
    """Allow so many writes of a table in a unit of time."""
    cluster = Cluster([Address("localhost", server.master_port)], may_leave_machine=False)
    cluster.open()
    deadline_s = time.monotonic() + 30
    # SetQuotaRequest: table_name 4, throttle 7; ThrottleRequest: type 1, timed_quota 2; TimedQuota: unit 1, limit 2
    throttle = number(1, WRITES) + data(2, number(1, unit) + number(2, limit))
    request = data(4, data(1, b"default") + data(2, table.encode())) + data(7, throttle)
    cluster.call(cluster.master(deadline_s), "MasterService", "SetQuota", request, deadline_s)
    cluster.close()


def rows(turn: int) -> list[Put]:
    return [Put(b"%04d-%02d" % (turn, number), {b"f:q": b"v"}, 1) for number in range(ROWS)]


def test_client_waits_as_a_throttling_server_says(server: HBaseServer, store: HBaseStore) -> None:
    store.ensure_table(TableSpec("throttled", (FamilySpec(b"f"),)))
    limit_writes(server, "throttled", 100, SECONDS)
    waits: list[BusyWait] = []
    turn = 0

    def throttled() -> bool:
        nonlocal turn
        store.apply("throttled", rows(turn))
        turn += 1
        waits.extend(store.take_busy_waits())
        return len(waits) >= 3

    assert reached(throttled, timeout_s=60)
    assert {wait.reason for wait in waits} == {"RpcThrottlingException"}
    assert all(0 < wait.seconds <= 1.5 for wait in waits)
    assert len(list(store.scan("throttled", Scan()))) == turn * ROWS


def test_wait_of_minutes_is_left_to_the_pipeline(server: HBaseServer, store: HBaseStore) -> None:
    store.ensure_table(TableSpec("blocked", (FamilySpec(b"f"),)))
    limit_writes(server, "blocked", ROWS + 1, HOURS)
    time.sleep(2 * REFRESH_S)
    started_s = time.monotonic()
    store.apply("blocked", rows(0))
    with pytest.raises(StoreBusyError, match=r"RpcThrottlingException: .* - wait .*min") as caught:
        store.apply("blocked", rows(1))
    assert caught.value.has_waited
    assert time.monotonic() - started_s < 30

"""A Thrift server with framed transport, compact protocol and a short read timeout."""

import socket
from collections.abc import Iterator

import psutil
import pytest

from ingest.api import Put, Scan, StoreUnavailableError, WriteRejectedError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from sinks.hbase.thrift.connection import Connection
from sinks.hbase.thrift.encoding import MAX_FRAME_BYTES, Encoder
from sinks.hbase.thrift.message import METHOD
from tests.support.local import ServerProcess, free_ports
from tests.support.servers import HBase
from tests.support.waiting import reached

MAIN = "org.apache.hadoop.hbase.thrift.ThriftServer"
IDLE_MS = "3000"
LATE = 2**62
"""A timestamp of maximum length in the compact protocol."""

pytestmark = pytest.mark.one_protocol("a Thrift server is tested")


def settings_of(port: int, **options: object) -> HBaseSettings:
    common = {"host": HBase.host, "port": port, "timeout": "60s", "transport": "framed", "protocol": "compact"}
    return HBaseSettings.model_validate(common | options)


@pytest.fixture(scope="module")
def framed_port(hbase: HBase) -> Iterator[int]:
    (port,) = free_ports(1)
    process = ServerProcess("thrift_framed", hbase.server.folder)
    options = ["-t", IDLE_MS, "-p", str(port), "-b", hbase.host, "-f", "-c"]
    process.start(hbase.server.command(MAIN, *options, "start", heap="256m"))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((hbase.host, port)) == 0

    try:
        process.wait_until(listens, timeout_s=60)
        yield port
    finally:
        process.kill()


@pytest.fixture
def store(framed_port: int) -> Iterator[HBaseStore]:
    made = HBaseStore.of(settings_of(framed_port))
    made.open()
    yield made
    made.close()


@pytest.fixture
def table(hbase: HBase) -> str:
    return hbase.create_table("framed")


def test_writes_and_reads(store: HBaseStore, table: str) -> None:
    puts = [Put(b"%02d" % number, {b"cf:q": bytes([number]) * 100_000}, 5) for number in range(40)]
    store.apply(table, puts)  # 4 MB, more than the limit of a frame
    assert [(row.key, row.cells[0].value) for row in store.scan(table, Scan(page_rows=7))] == [
        (put.row, put.columns[b"cf:q"]) for put in puts
    ]


def test_row_may_fill_a_frame_but_a_larger_one_is_not_sent(
    hbase: HBase, store: HBaseStore, framed_port: int, table: str
) -> None:
    encoder = Encoder(settings_of(framed_port))
    (probe,) = encoder.calls(table, [Put(b"row", {b"cf:q": b"x" * 2_000_000}, LATE)], tuple)
    size = MAX_FRAME_BYTES - len(probe.message) + 2_000_000
    fits, over = Put(b"fits", {b"cf:q": b"x" * (size - 1)}, LATE), Put(b"over", {b"cf:q": b"x" * size}, LATE)
    small = Put(b"small", {b"cf:q": b"x"}, LATE)
    with pytest.raises(WriteRejectedError, match="framed") as caught:
        store.apply(table, [small, over, fits, over])
    assert caught.value.indexes == [1, 3]
    assert hbase.rows(table) == {}
    store.apply(table, [small, fits])
    assert set(hbase.rows(table)) == {b"small", b"fits"}
    # the server has the same limit
    (beyond,) = Encoder(settings_of(framed_port, transport="buffered")).calls(table, [over], tuple)
    assert len(beyond.message) == MAX_FRAME_BYTES + 1
    connection = Connection(settings_of(framed_port))
    connection.open()
    with pytest.raises(StoreUnavailableError, match="broke"):
        connection.call(lambda client: client.send(METHOD, beyond.message))
    connection.close()
    store.apply(table, [small])


def test_call_after_the_server_closed_the_connection_succeeds(store: HBaseStore, framed_port: int, table: str) -> None:
    def connections() -> dict[int, str]:
        found = psutil.Process().net_connections("tcp")
        return {each.laddr.port: each.status for each in found if each.raddr and each.raddr.port == framed_port}

    store.apply(table, [Put(b"before", {b"cf:q": b"1"}, 5)])
    (first,) = connections()
    assert reached(lambda: connections() == {first: psutil.CONN_CLOSE_WAIT}, 30)
    store.apply(table, [Put(b"after", {b"cf:q": b"1"}, 5)])
    assert first not in connections()
    assert [row.key for row in store.scan(table, Scan())] == [b"after", b"before"]


def test_wrong_transport_is_reported(framed_port: int) -> None:
    store = HBaseStore.of(settings_of(framed_port, timeout="3s", transport="buffered", protocol="binary"))
    store.open()
    with pytest.raises(StoreUnavailableError):
        store.tables()
    store.close()

"""Calls of HBase's native RPC about regions, and increments."""

from collections.abc import Iterator
from random import Random

import pytest

from ingest.api import FamilySpec, NotFoundError, Put, StoredRegion, TableSpec, WriteRejectedError
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support.names import unique
from tests.support.region_calls import flush, increment, major_compact
from tests.support.servers import HBase

MIB = 1 << 20

pytestmark = pytest.mark.one_protocol("a Thrift server has no such calls")


@pytest.fixture
def store(hbase: HBase) -> Iterator[RpcStore]:
    made = RpcStore(HBaseSettings(**{"timeout": "60s"} | hbase.store_options("rpc")))
    made.open()
    yield made
    made.close()


def regions(store: RpcStore, table: str) -> tuple[StoredRegion, ...]:
    found = store.regions(table)
    assert found is not None
    return found


def test_flush_and_major_compaction(hbase: HBase, store: RpcStore) -> None:
    spec = TableSpec(unique("sizes"), (FamilySpec(b"f"),), splits=(b"m",))
    store.create_table(spec)
    value = Random(1).randbytes(MIB // 4)

    def write(at: int) -> None:
        store.apply(spec.name, [Put(b"n%02d" % row, {b"f:q": value}, at) for row in range(9)])

    write(1)
    first, second = regions(store, spec.name)
    assert (first.start, second.start) == (b"", b"m")
    assert {first.server, second.server} == {f"localhost:{hbase.server.region_server_port}"}
    assert (first.file_bytes, first.memory_bytes) == (0, 0)
    assert (second.file_bytes, second.memory_bytes) == (0, 2 * MIB)
    flush(store, spec.name)
    write(2)
    flush(store, spec.name)
    _, second = regions(store, spec.name)
    assert (second.file_bytes, second.memory_bytes) == (4 * MIB, 0)
    major_compact(store, spec.name, 30)
    _, second = regions(store, spec.name)
    assert second.file_bytes == 2 * MIB


def test_increments_add_up(store: RpcStore) -> None:
    spec = TableSpec(unique("counts"), (FamilySpec(b"f"),))
    store.create_table(spec)
    assert increment(store, spec.name, b"a", b"f:q", 5) == 5
    assert increment(store, spec.name, b"a", b"f:q", -7) == -2
    assert store.values(spec.name, b"a", b"f:q") == {b"f:q": (-2).to_bytes(8, "big", signed=True)}
    with pytest.raises(WriteRejectedError):
        increment(store, spec.name, b"a", b"nosuch:q", 1)
    store.apply(spec.name, [Put(b"b", {b"f:q": b"text"}, 1)])
    with pytest.raises(WriteRejectedError):
        increment(store, spec.name, b"b", b"f:q", 1)


def test_increment_that_is_sent_twice_is_counted_once(store: RpcStore) -> None:
    spec = TableSpec(unique("nonces"), (FamilySpec(b"f"),))
    store.create_table(spec)
    assert [increment(store, spec.name, b"a", b"f:q", 5, nonce=4711) for _ in range(2)] == [5, 5]


def test_missing_table(store: RpcStore) -> None:
    with pytest.raises(NotFoundError):
        store.regions("nosuch")

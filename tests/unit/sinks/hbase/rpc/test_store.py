"""Check-and-puts whose answer is lost, or that HBase rejects; durabilities that it refuses."""

from collections.abc import Iterator

import pytest

from ingest.api import Durability, NoTableError, Put, StoreRefusedError, WriteRejectedError
from sinks.hbase.protobuf import Message, data, flag
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.store import RpcStore
from sinks.hbase.settings import HBaseSettings
from tests.support.rows_server import get_answer, master_answer, meta_answer, no_table_answer, registry_answer
from tests.support.rpc_server import Request, RpcServer

REGIONSERVER = "org.apache.hadoop.hbase.regionserver."


class OneCell:
    """
    A server with the table `t` of one region, and one cell of it.

    Attributes:
        value: of the cell; None if it is missing.
        has_table: whether the meta table has the table.
        lost_answers: the number of the next mutations that are executed, but whose connection breaks then.
        exception: of each mutation, and of the calls of AdminService.
        throttled: the number of the next gets that are refused for a while.
        version: of the master, which has the table `t` with the families near and far; the latter is replicated.
    """

    def __init__(self) -> None:
        self.value: bytes | None = None
        self.has_table = True
        self.lost_answers = 0
        self.exception = ""
        self.throttled = 0
        self.version = ""
        self._encoder = CellEncoder(1 << 20)
        self.server = RpcServer(self._answer)
        self.store = RpcStore(HBaseSettings(bootstrap_servers=str(self.server.address), timeout="10s"))
        self.store.open()

    def close(self) -> None:
        self.store.close()
        self.server.close()

    def _answer(self, request: Request) -> bytes | None:
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, self.server.address)
        if request.method == "Scan":
            return self._meta(request)
        if request.method == "Get":
            return self._get(request)
        if request.method == "GetRegionLoad":
            return request.failure(REGIONSERVER + self.exception)
        return self._check_and_put(request) if request.method == "Mutate" else self._of_master(request)

    def _of_master(self, request: Request) -> bytes:
        if request.method == "GetActiveMaster":
            return master_answer(request, self.server.address)
        if request.method == "GetClusterStatus":
            return request.answer(data(1, data(1, data(1, self.version.encode()))))
        assert request.method == "GetTableDescriptors"
        scope = data(2, data(1, b"REPLICATION_SCOPE") + data(2, b"1"))
        return request.answer(data(1, data(3, data(1, b"near")) + data(3, data(1, b"far") + scope)))

    def _get(self, request: Request) -> bytes:
        if self.throttled:
            self.throttled -= 1
            name = "org.apache.hadoop.hbase.quotas.RpcThrottlingException"
            return request.failure(name, f"{name}: number of read requests exceeded - wait 60ms")
        if self.value is None:
            return request.answer()
        return request.answer(get_answer(1), self._put({b"f:q": self.value}))

    def _meta(self, request: Request) -> bytes:
        if not self.has_table:
            return no_table_answer(request)
        return meta_answer(request, [b"", b""], [self.server.address])

    def _check_and_put(self, request: Request) -> bytes | None:
        if self.exception:
            return request.failure(REGIONSERVER + self.exception, "Column family f does not exist")
        message = Message(request.parameter)
        comparator = message.message(3).message(5)
        assert comparator.text(1).endswith(".BinaryComparator")
        is_equal = comparator.message(2).message(1).data(1) == (self.value or b"")
        if is_equal:
            self.value = message.message(2).message(3).message(2).data(2)
        if self.lost_answers:
            self.lost_answers -= 1
            return None
        return request.answer(flag(2, value=is_equal))

    def _put(self, columns: dict[bytes, bytes]) -> bytes:
        return self._encoder.put(Put(b"a", columns, 1))


@pytest.fixture
def cluster() -> Iterator[OneCell]:
    made = OneCell()
    yield made
    made.close()


def replace(cluster: OneCell, before: bytes | None, value: bytes) -> bool:
    return cluster.store.replace("t", b"a", b"f:q", before=before, value=value)


def test_cell_is_replaced_if_it_has_the_expected_value(cluster: OneCell) -> None:
    assert replace(cluster, None, b"1")
    assert replace(cluster, b"1", b"2")
    assert not replace(cluster, b"1", b"3")
    assert cluster.store.values("t", b"a", b"f:q") == {b"f:q": b"2"}


def test_store_that_was_closed_looks_for_the_regions_again(cluster: OneCell) -> None:
    """They may be elsewhere by then."""
    assert replace(cluster, None, b"1")
    assert replace(cluster, b"1", b"2")
    cluster.store.close()
    cluster.store.open()
    assert replace(cluster, b"2", b"3")
    assert [request.method for request in cluster.server.requests].count("Scan") == 2


def test_replace_whose_first_answer_is_lost_returns_false_though_the_cell_is_written(cluster: OneCell) -> None:
    cluster.lost_answers = 1
    assert not replace(cluster, None, b"1")
    assert cluster.store.values("t", b"a", b"f:q") == {b"f:q": b"1"}
    assert [request.method for request in cluster.server.requests].count("Mutate") == 2


def test_missing_family_of_a_replace_is_a_rejected_write(cluster: OneCell) -> None:
    cluster.exception = "NoSuchColumnFamilyException"
    with pytest.raises(WriteRejectedError) as caught:
        replace(cluster, None, b"1")
    assert caught.value.code == "unknown_family"


def test_missing_table_of_a_replace_is_that_of_a_write(cluster: OneCell) -> None:
    cluster.has_table = False
    with pytest.raises(NoTableError):
        replace(cluster, None, b"1")
    assert cluster.store.values("t", b"a", b"f:q") == {}


def test_throttled_read_is_repeated_after_the_requested_wait(cluster: OneCell) -> None:
    cluster.value, cluster.throttled = b"1", 2
    assert cluster.store.values("t", b"a", b"f:q") == {b"f:q": b"1"}
    assert [request.method for request in cluster.server.requests].count("Get") == 3
    assert cluster.store.take_busy_waits() == []


def test_sizes_that_only_administrators_may_see_are_not_reported(cluster: OneCell) -> None:
    cluster.exception = "AccessDeniedException"
    assert cluster.store.regions("t") is None


@pytest.mark.parametrize(
    ("version", "family", "durability", "refused"),
    [
        ("3.0.0-alpha-4", b"far", Durability.SKIP, True),
        ("10.1", b"far", Durability.SKIP, True),
        ("3.0.0-alpha-4", b"near", Durability.SKIP, False),
        ("3.0.0-alpha-4", b"far", Durability.SYNC, False),
        ("2.6.1", b"far", Durability.SKIP, False),
        ("", b"far", Durability.SKIP, False),
        ("Unknown", b"far", Durability.SKIP, False),
    ],
)
def test_hbase_3_refuses_rows_of_a_replicated_family_without_log(
    cluster: OneCell, version: str, family: bytes, durability: Durability, refused: bool
) -> None:
    cluster.version = version
    error = cluster.store.refusal_of("t", family, durability)
    assert (error is not None) is refused
    if error is not None:
        assert isinstance(error, StoreRefusedError)
        assert error.message.startswith('a family of table "t" is replicated, and HBase 3 refuses rows without')
        assert error.message.endswith('family "far"')


def test_version_of_the_servers_is_that_of_the_master(cluster: OneCell) -> None:
    cluster.version = "2.6.1"
    assert cluster.store.server_version() == "2.6.1"

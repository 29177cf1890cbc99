"""Calls about regions that are repeated while a region moves or its server is busy."""

import itertools
from collections.abc import Iterator

import pytest

from ingest.api import NoTableError, NotFoundError, StoreBusyError, StoreRefusedError, WriteRejectedError
from sinks.hbase.errors import NoFamilyError
from sinks.hbase.protobuf import Message, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from tests.support.rows_server import meta_answer, no_table_answer, registry_answer
from tests.support.rpc_server import Request, RpcServer

HBASE = "org.apache.hadoop.hbase."


class FalseServer:
    """
    A server with the table `t` of two regions, divided at `m`.

    Attributes:
        failures: exceptions of the next calls; then there are none.
        unreadable: messages of the next answers that cannot be read; then there are none.
        asked: regions of the calls.
        edges: row keys between which the regions are.
        is_split: whether the first region was split.
    """

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.unreadable: list[bytes] = []
        self.asked: list[bytes] = []
        self.edges = [b"", b"m", b""]
        self.is_split = False
        self.server = RpcServer(self._answer)
        self.cluster = Cluster([self.server.address], may_leave_machine=False)
        self.cluster.open()
        self.calls = RepeatedCalls(
            self.cluster, RegionCache(self.cluster), lambda: Attempts(5.0, sleep=lambda _seconds: None)
        )

    def ask(self, row: bytes, table: str = "t", *, is_write: bool = False) -> int:
        """A number that the server with a row has."""
        return self.calls.of_row(table, row, "Ask", number(2, 7), _number, is_write=is_write)

    def split(self) -> None:
        """Divide the table at `f` too; its first regions are new ones."""
        self.edges = [b"", b"f", b"m", b""]
        self.is_split = True

    def close(self) -> None:
        self.cluster.close()
        self.server.close()

    def _answer(self, request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, self.server.address)
        message = Message(request.parameter)
        if request.method == "Scan":
            if message.message(2).data(3) != b"t":
                return no_table_answer(request)
            return meta_answer(request, self.edges, [self.server.address] * (len(self.edges) - 1), self._name)
        assert (request.method, message.number(2)) == ("Ask", 7)
        region = message.message(1).data(2)
        self.asked.append(region)
        if region not in itertools.starmap(self._name, itertools.pairwise(self.edges)):
            return request.failure(HBASE + "NotServingRegionException")
        if self.failures:
            return request.failure(HBASE + self.failures.pop(0), "text")
        return request.answer(self.unreadable.pop(0) if self.unreadable else number(1, 42))

    def _name(self, start: bytes, _end: bytes) -> bytes:
        return b"t,%s,%d." % (start, 2 if self.is_split and start < b"m" else 1)


def _number(answer: Answer) -> int:
    return Message(answer.message).number(1)


@pytest.fixture
def false() -> Iterator[FalseServer]:
    made = FalseServer()
    yield made
    made.close()


@pytest.mark.parametrize("name", ["exceptions.RegionMovedException", "RegionTooBusyException"])
def test_call_that_the_server_cannot_execute_now_is_repeated(false: FalseServer, name: str) -> None:
    false.failures = [name, name]
    assert false.ask(b"z") == 42
    assert false.asked == [b"t,m,1."] * 3


def test_row_is_found_in_a_daughter_of_a_region_that_was_split(false: FalseServer) -> None:
    assert false.ask(b"g") == 42
    false.split()
    assert false.ask(b"g") == 42
    assert false.asked == [b"t,,1.", b"t,,1.", b"t,f,2."]


@pytest.mark.parametrize("message", [b"\xff", b"\x0a\x01"])
def test_answer_that_cannot_be_read_is_another_attempt(false: FalseServer, message: bytes) -> None:
    false.unreadable = [message, message]
    assert false.ask(b"a") == 42
    assert len(false.asked) == 3


def test_busy_server_is_reported_in_the_end(false: FalseServer) -> None:
    false.failures = ["RegionTooBusyException"] * 1000
    false.calls = RepeatedCalls(false.cluster, false.calls.regions, lambda: Attempts(0.3))
    with pytest.raises(StoreBusyError) as caught:
        false.ask(b"a")
    assert (caught.value.has_waited, len(false.asked)) == (True, 1)


@pytest.mark.parametrize(
    ("name", "is_write", "error"),
    [
        ("regionserver.NoSuchColumnFamilyException", False, NoFamilyError),
        ("regionserver.NoSuchColumnFamilyException", True, WriteRejectedError),
        ("exceptions.FailedSanityCheckException", False, StoreRefusedError),
        ("exceptions.FailedSanityCheckException", True, WriteRejectedError),
        ("TableNotFoundException", False, NotFoundError),
        ("TableNotFoundException", True, NoTableError),
    ],
)
def test_refusal_is_that_of_a_read_or_of_a_write(
    false: FalseServer, name: str, is_write: bool, error: type[Exception]
) -> None:
    false.failures = [name]
    with pytest.raises(error):
        false.ask(b"a", is_write=is_write)
    assert len(false.asked) == 1


def test_missing_table(false: FalseServer) -> None:
    with pytest.raises(NotFoundError):
        false.ask(b"a", "nosuch")
    with pytest.raises(NoTableError):
        false.ask(b"a", "nosuch", is_write=True)
    assert false.asked == []

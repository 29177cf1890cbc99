"""Sizes, flushes and compactions of the regions of a table."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from ingest.api import NotFoundError, StoredRegion, StoreUnavailableError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.region_admin import RegionAdmin
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.wire import Message, data, number
from tests.support.rows_server import meta_answer, no_table_answer, registry_answer
from tests.support.rpc_server import Request, RpcServer

HBASE = "org.apache.hadoop.hbase."


class FalseServer:
    """
    A server with the table `t` of two regions, divided at `m`.

    Attributes:
        states: compaction states of the next questions; 0 afterwards.
        failures: exceptions of the next calls of AdminService; then there are none.
        unreadable: messages of the next answers of AdminService that cannot be read; then there are none.
        calls: method, region and second field of each call of AdminService.
        edges: row keys between which the regions are.
        is_split: whether the first region was split.
        now_s: of the clock; each wait adds to it.
    """

    def __init__(self) -> None:
        self.states: list[int] = []
        self.failures: list[str] = []
        self.unreadable: list[bytes] = []
        self.calls: list[tuple[str, bytes, int]] = []
        self.edges = [b"", b"m", b""]
        self.is_split = False
        self.now_s = 0.0
        self.server = RpcServer(self._answer)
        cluster = self.cluster = Cluster([self.server.address], may_leave_machine=False)
        cluster.open()
        calls = RepeatedCalls(cluster, RegionCache(cluster), lambda: Attempts(5.0, sleep=lambda _seconds: None))
        self.admin = RegionAdmin(calls, clock=lambda: self.now_s, sleep=self._sleep)

    def close(self) -> None:
        self.cluster.close()
        self.server.close()

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def _answer(self, request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            return registry_answer(request, self.server.address)
        if request.method == "Scan":
            return self._meta(request)
        assert request.service == "AdminService"
        message = Message(request.parameter)
        if request.method == "GetRegionLoad":
            assert message.message(1).data(2) == b"t"
            loads = ((b"t,,1.", 3, 1), (b"t,m,1.", 20, 0))
            load = (
                data(1, region_specifier(name)) + number(5, files) + number(6, memory) for name, files, memory in loads
            )
            return request.answer(b"".join(data(1, each) for each in load))
        self.calls.append((request.method, message.message(1).data(2), message.number(2)))
        return self._region_answer(request, message.message(1).data(2))

    def _region_answer(self, request: Request, region: bytes) -> bytes:
        if region not in itertools.starmap(self._name, itertools.pairwise(self.edges)):
            return request.failure(HBASE + "NotServingRegionException")
        if self.failures:
            return request.failure(HBASE + self.failures.pop(0))
        if self.unreadable:
            return request.answer(self.unreadable.pop(0))
        asked = request.method == "GetRegionInfo" and self.states
        return request.answer(number(2, self.states.pop(0)) if asked else b"")

    def _name(self, start: bytes, _end: bytes) -> bytes:
        return b"t,%s,%d." % (start, 2 if self.is_split and start < b"m" else 1)

    def _meta(self, request: Request) -> bytes:
        name = Message(request.parameter).message(2).data(3)
        if name != b"t":
            return no_table_answer(request)
        return meta_answer(request, self.edges, [self.server.address] * (len(self.edges) - 1), self._name)

    def split(self) -> None:
        """Divide the table at `f` too; its first regions are new ones."""
        self.edges = [b"", b"f", b"m", b""]
        self.is_split = True


@pytest.fixture
def false() -> Iterator[FalseServer]:
    made = FalseServer()
    yield made
    made.close()


def test_regions_have_their_sizes(false: FalseServer) -> None:
    server, mib = str(false.server.address), 1 << 20
    assert false.admin.regions("t") == (
        StoredRegion(b"", server, 3 * mib, mib),
        StoredRegion(b"m", server, 20 * mib, 0),
    )


def test_every_region_is_flushed_also_after_a_move(false: FalseServer) -> None:
    false.failures = ["exceptions.RegionMovedException"]
    false.admin.flush("t")
    assert false.calls == [("FlushRegion", name, 0) for name in (b"t,,1.", b"t,,1.", b"t,m,1.")]


def test_daughters_of_a_region_that_was_split_are_flushed(false: FalseServer) -> None:
    false.admin.flush("t")
    false.split()
    false.calls.clear()
    false.admin.flush("t")
    assert false.calls[-1] == ("FlushRegion", b"t,m,1.", 0)
    assert ("FlushRegion", b"t,f,2.", 0) in false.calls


@pytest.mark.parametrize("message", [b"\xff", data(2, b"compacts")])
def test_answer_that_cannot_be_read_is_another_attempt(false: FalseServer, message: bytes) -> None:
    false.unreadable = [message, message]
    false.admin.major_compact("t", 60)
    assert [call for call in false.calls if call[0] == "CompactRegion"] == [
        ("CompactRegion", b"t,,1.", 1),
        ("CompactRegion", b"t,m,1.", 1),
    ]


def test_compaction_waits_for_one_that_runs_and_for_its_own_end(false: FalseServer) -> None:
    false.states = [1, 0, 0, 2, 0, 3]
    false.admin.major_compact("t", 60)
    question, first, second = "GetRegionInfo", b"t,,1.", b"t,m,1."
    assert false.calls == [
        (question, first, 1),
        (question, first, 1),
        (question, second, 1),
        ("CompactRegion", first, 1),
        ("CompactRegion", second, 1),
        (question, first, 1),
        (question, first, 1),
        (question, second, 1),
        (question, second, 1),
    ]


def test_compaction_that_takes_too_long_is_reported(false: FalseServer) -> None:
    false.states = [0, 0] + [2] * 10
    with pytest.raises(StoreUnavailableError, match="has not ended in time"):
        false.admin.major_compact("t", 1)
    assert false.now_s == pytest.approx(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda admin: admin.regions("nosuch"),
        lambda admin: admin.flush("nosuch"),
        lambda admin: admin.major_compact("nosuch", 1),
    ],
)
def test_missing_table(false: FalseServer, call: Callable[[RegionAdmin], object]) -> None:
    with pytest.raises(NotFoundError):
        call(false.admin)

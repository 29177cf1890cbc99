"""Writes to a cluster of two servers: what is sent where, repeated, refused and raised."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import (
    BusyWait,
    Cell,
    Delete,
    IngestError,
    Mutation,
    Put,
    StoreBusyError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    UnclearRefusalError,
    WriteRejectedError,
)
from sinks.hbase.protobuf import Message, data, number
from sinks.hbase.rpc import division, writing
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import CellEncoder, decoded
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.connection import Answer, Connection
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.writing import Writer
from tests.support.rows_server import meta_answer, region_name, registry_answer
from tests.support.rpc_server import Request, RpcServer, framed

HBASE = "org.apache.hadoop.hbase."
MOVED = HBASE + "NotServingRegionException"
BUSY = HBASE + "RegionTooBusyException"
NO_FAMILY = HBASE + "regionserver.NoSuchColumnFamilyException"

Fail = Callable[[bytes, int], str | None]


class FalseCluster:
    """
    A cluster whose table `t` has the regions [, m) and [m, ), each on a server of its own.

    Attributes:
        edges: row keys between which the regions are.
        misplaced: rows that came to another region than their own.
        fail: region and index of an action -> class of an exception; None stores the row.
        fail_region: region -> class of an exception for its whole batch.
        damage: changes the frames of the answers to `Multi`.
        calls: the regions of each `Multi`.
        rows: row keys of the puts that were stored, in order.
        lookups: how often the meta table was read.
        registry_calls: how often its server was asked for.
        text: of the exceptions.
        waits: those of the calls of `apply` for busy servers.
    """

    def __init__(self) -> None:
        self.fail: Fail = lambda _region, _at: None
        self.fail_region: Callable[[bytes], str | None] = lambda _region: None
        self.damage: Callable[[bytes], bytes] = lambda frame: frame
        self.edges = [b"", b"m", b""]
        self.misplaced: list[bytes] = []
        self.calls: list[list[bytes]] = []
        self.rows: list[bytes] = []
        self.lookups = 0
        self.registry_calls = 0
        self.text = ""
        self.waits: list[BusyWait] = []
        self.servers = [RpcServer(self._answer), RpcServer(self._answer)]
        self.cluster = Cluster([self.servers[0].address], may_leave_machine=False)
        self.cluster.open()
        calls = RepeatedCalls(self.cluster, RegionCache(self.cluster), lambda: Attempts(1.0))
        self.writer = Writer(calls, max_cell_bytes=10 << 20)

    def apply(self, *mutations: Mutation) -> None:
        self.writer.apply("t", mutations, Attempts(1.0, sleep=lambda _seconds: None, on_busy=self.waits.append))

    def close(self) -> None:
        self.cluster.close()
        for server in self.servers:
            server.close()

    def _answer(self, request: Request) -> bytes:
        frame = self._frame(request)
        return self.damage(frame) if request.method == "Multi" else frame

    def _frame(self, request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            self.registry_calls += 1
            return registry_answer(request, self.servers[0].address)
        if request.method == "Scan":
            self.lookups += 1
            return self._meta(request)
        return request.answer(self._multi(request))

    def _meta(self, request: Request) -> bytes:
        return meta_answer(request, self.edges, [server.address for server in self.servers])

    def _multi(self, request: Request) -> bytes:
        cells = decoded(request.cells)
        answer = b""
        batches = Message(request.parameter).messages(1)
        self.calls.append([batch.message(1).data(2) for batch in batches])
        for batch in batches:
            region = batch.message(1).data(2)
            keys = [self._key(action, cells) for action in batch.messages(3)]
            self.misplaced += [key for key in keys if key is not None and region != self._region(key)]
            if (name := self.fail_region(region)) is not None:
                answer += data(1, data(2, data(1, name.encode()) + data(2, self.text.encode())))
                continue
            results = b""
            for at, key in enumerate(keys):
                name = self.fail(region, at)
                if name is None:
                    self.rows += [key] if key is not None else []
                    results += data(1, number(1, at) + data(2, b""))
                else:
                    results += data(1, number(1, at) + data(3, data(1, name.encode())))
            answer += data(1, results)
        return answer

    def _region(self, key: bytes) -> bytes:
        """The name of the region of a row."""
        return next(region_name(start, end) for start, end in itertools.pairwise(self.edges) if key < end or not end)

    @staticmethod
    def _key(action: Message, cells: Iterator[tuple[bytes, Cell]]) -> bytes | None:
        """The row key in the cells of an action; None for the deletion of a row."""
        rows = {row for row, _ in itertools.islice(cells, action.message(2).number(8))}
        assert len(rows) <= 1
        return next(iter(rows), None)


@pytest.fixture
def false() -> Iterator[FalseCluster]:
    made = FalseCluster()
    yield made
    made.close()
    assert made.misplaced == []


def put(row: bytes, value: bytes = b"1") -> Put:
    return Put(row, {b"f:q": value}, 1)


def once(name: str) -> Callable[..., str | None]:
    """An exception for the first call, none for the others."""
    names = iter([name])
    return lambda *_arguments: next(names, None)


def test_one_call_for_each_server(false: FalseCluster) -> None:
    false.apply(put(b"a"), put(b"z"), put(b"b"), Delete(b"c", 1), Delete(b"y", 1, b"f"))
    assert sorted(false.calls) == [[b"t,,1."], [b"t,m,1."]]
    assert sorted(false.rows) == [b"a", b"b", b"y", b"z"]
    assert false.lookups == 1


def test_table_of_one_region(false: FalseCluster) -> None:
    server, false.edges = false.servers[1].address, [b"", b""]
    false._meta = lambda request: meta_answer(request, false.edges, [server])  # type: ignore[method-assign]
    false.apply(put(b"a"), put(b"z"))
    assert false.rows == [b"a", b"z"]
    assert len(false.calls) == 1


def test_busy_server_is_that_of_the_last_answer_if_none_waits_longer(false: FalseCluster) -> None:
    texts = iter(["one", "two"])

    def fail(_region: bytes) -> str:
        false.text = next(texts)
        return BUSY

    false.fail_region = fail
    with pytest.raises(StoreBusyError, match="two"):
        false.writer.apply("t", [put(b"a"), put(b"z")], Attempts(0.2))


def test_moved_region_is_looked_up_though_another_one_is_busy(false: FalseCluster) -> None:
    failures = {b"t,,1.": iter([MOVED]), b"t,m,1.": iter([BUSY])}
    false.fail_region = lambda region: next(failures[region], None)
    false.apply(put(b"a"), put(b"z"))
    assert (sorted(false.rows), false.lookups) == ([b"a", b"z"], 2)
    assert [wait.reason for wait in false.waits] == ["RegionTooBusyException"]


def test_final_failure_is_raised_though_another_server_is_busy(false: FalseCluster) -> None:
    names = {b"t,,1.": HBASE + "security.AccessDeniedException", b"t,m,1.": BUSY}
    false.fail_region = names.__getitem__
    with pytest.raises(StoreRefusedError, match="access denied"):
        false.apply(put(b"a"), put(b"z"))
    assert false.waits == []


def test_two_calls_to_a_server_are_in_flight(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers the first call only when the second has arrived, and after it."""
    monkeypatch.setattr(division, "MAX_ROWS", 1)
    held: list[bytes] = []

    def in_pairs(frame: bytes) -> bytes:
        held.insert(0, frame)
        if len(held) < 2:
            return b""
        answers = b"".join(held)
        held.clear()
        return answers

    false.damage = in_pairs
    false.apply(put(b"a"), put(b"b"), put(b"c"), put(b"d"))
    assert false.rows == [b"a", b"b", b"c", b"d"]
    assert held == []


def test_no_more_calls_are_in_flight_than_allowed(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "MAX_ROWS", 1)
    unanswered, most = 0, 0
    send, receive = Connection.send, Connection.receive

    def sent(self: Connection, *arguments: Any) -> int:
        nonlocal unanswered, most
        unanswered += arguments[0] == "Multi"
        most = max(most, unanswered)
        return send(self, *arguments)

    def received(self: Connection, *arguments: Any) -> Answer:
        nonlocal unanswered
        unanswered -= unanswered > 0
        return receive(self, *arguments)

    false.apply(put(b"a"))
    monkeypatch.setattr(Connection, "send", sent)
    monkeypatch.setattr(Connection, "receive", received)
    false.apply(*(put(b"a%d" % number) for number in range(9)))
    assert most == writing.MAX_IN_FLIGHT
    assert len(false.rows) == 10


def test_error_is_raised_after_the_answers_to_all_calls_of_a_server(
    false: FalseCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(division, "MAX_ROWS", 1)
    denied = once(HBASE + "security.AccessDeniedException")
    false.fail_region = lambda _region: denied()
    with pytest.raises(StoreRefusedError):
        false.apply(put(b"a"), put(b"b"), put(b"c"))
    assert false.rows == [b"b", b"c"]
    connections = [one for (_, service), one in false.cluster._connections.items() if service == "ClientService"]
    assert all(one.is_usable for one in connections)
    false.apply(put(b"d"))
    assert false.rows[-1] == b"d"


def test_mutations_of_one_row_are_in_calls_of_their_own(false: FalseCluster) -> None:
    false.apply(put(b"a"), put(b"b"), put(b"a"), put(b"c"), put(b"a"))
    assert false.rows == [b"a", b"b", b"c", b"a", b"a"]
    assert len(false.calls) == 3


def test_only_rows_that_were_not_stored_are_repeated(false: FalseCluster) -> None:
    first = once(MOVED)
    false.fail = lambda region, at: first() if (region, at) == (b"t,,1.", 1) else None
    false.apply(put(b"a"), put(b"b"), put(b"c"))
    assert false.rows == [b"a", b"c", b"b"]
    assert false.lookups == 2


def test_batch_of_a_region_that_has_moved_is_repeated(false: FalseCluster) -> None:
    false.fail_region = once(HBASE + "exceptions.RegionMovedException")
    false.apply(put(b"a"), put(b"b"))
    assert false.rows == [b"a", b"b"]


def test_throttled_batch_alone_is_repeated_after_the_requested_wait(false: FalseCluster) -> None:
    throttled = once(HBASE + "quotas.RpcThrottlingException")
    false.text = "number of write requests exceeded - wait 300ms"
    false.fail_region = lambda region: throttled() if region == b"t,m,1." else None
    false.apply(put(b"a"), put(b"y"), put(b"z"))
    assert false.rows == [b"a", b"y", b"z"]
    assert false.waits == [BusyWait("RpcThrottlingException", 0.3)]
    assert false.lookups == 1


def test_longest_requested_wait_is_that_of_all_servers(false: FalseCluster) -> None:
    names = iter([("RegionTooBusyException", ""), ("quotas.RpcThrottlingException", "wait exceeded - wait 200ms")])

    def fail(_region: bytes) -> str | None:
        name, false.text = next(names, (None, ""))
        return None if name is None else HBASE + name

    false.fail_region = fail
    false.apply(put(b"a"), put(b"z"))
    assert false.waits == [BusyWait("RpcThrottlingException", 0.2)]


def test_longest_requested_wait_counts_also_if_it_is_answered_first(false: FalseCluster) -> None:
    false.text = "wait exceeded - wait 200ms"
    names = iter(["quotas.RpcThrottlingException", "RegionTooBusyException"])
    false.fail_region = lambda _region: next((HBASE + name for name in names), None)
    false.apply(put(b"a"), put(b"z"))
    assert false.waits == [BusyWait("RpcThrottlingException", 0.2)]


def test_call_that_a_server_refuses_as_a_whole_is_repeated_with_all_its_rows(
    false: FalseCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full queue of calls has not looked at any row."""
    frame, refused = false._frame, once(HBASE + "CallQueueTooBigException")

    def refusing(request: Request) -> bytes:
        name = refused() if request.method == "Multi" else None
        return frame(request) if name is None else request.failure(name)

    monkeypatch.setattr(false, "_frame", refusing)
    false.apply(put(b"a"), put(b"b"))
    assert (false.rows, [wait.reason for wait in false.waits]) == ([b"a", b"b"], ["CallQueueTooBigException"])


def test_call_that_is_rejected_as_a_whole_names_no_row(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = false._frame
    large = HBASE + "exceptions.RequestTooBigException"
    monkeypatch.setattr(
        false, "_frame", lambda request: request.failure(large) if request.method == "Multi" else frame(request)
    )
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"b"))
    assert not caught.value.indexes


def test_busy_server_of_the_meta_table_is_waited_for(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = false._meta
    names = iter([HBASE + "CallQueueTooBigException"] * 2)

    def busy_meta(request: Request) -> bytes:
        name = next(names, None)
        return meta(request) if name is None else request.failure(name)

    monkeypatch.setattr(false, "_meta", busy_meta)
    false.writer.apply("t", [put(b"a")], Attempts(10.0, sleep=lambda _seconds: None, on_busy=false.waits.append))
    assert [wait.reason for wait in false.waits] == ["CallQueueTooBigException"] * 2
    assert (false.rows, false.registry_calls) == ([b"a"], 1)


def test_meta_table_that_has_moved_is_found(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    meta, moved = false._meta, once(MOVED)

    def moved_meta(request: Request) -> bytes:
        name = moved()
        return meta(request) if name is None else request.failure(name)

    monkeypatch.setattr(false, "_meta", moved_meta)
    false.apply(put(b"a"))
    assert (false.rows, false.registry_calls) == ([b"a"], 2)


@pytest.mark.parametrize("is_hidden", [True, False], ids=["hidden", "on no server"])
def test_row_of_a_region_that_moves_is_written_once_the_region_is_found(false: FalseCluster, is_hidden: bool) -> None:
    """Meanwhile the rows of other regions are written, and each once."""
    first, second = (server.address for server in false.servers)
    answers = iter([([b"", b"m"], [first]) if is_hidden else ([b"", b"m", b""], [first, None])])
    whole = ([b"", b"m", b""], [first, second])
    false._meta = lambda request: meta_answer(request, *next(answers, whole))  # type: ignore[method-assign]
    false.apply(put(b"x"), put(b"a"), put(b"y"))
    assert (false.rows, false.lookups) == ([b"a", b"x", b"y"], 2)


def test_region_that_stays_on_no_server_makes_its_table_unavailable(false: FalseCluster) -> None:
    false._meta = lambda request: meta_answer(request, [b"", b""], [None])  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError, match='a region of table "t" is on no server now'):
        false.apply(put(b"a"))
    assert (false.calls, false.lookups > 1) == ([], True)


def test_meta_table_whose_server_cannot_be_reached_is_looked_for_again(false: FalseCluster) -> None:
    """It has moved to another server."""
    gone = RpcServer(false._answer)
    gone.close()
    addresses = iter([gone.address])
    registry = false._frame

    def frame(request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            false.registry_calls += 1
            return registry_answer(request, next(addresses, false.servers[0].address))
        return registry(request)

    false._frame = frame  # type: ignore[method-assign]
    false.apply(put(b"a"))
    assert (false.rows, false.registry_calls) == ([b"a"], 2)


def test_wait_beyond_the_timeout_is_an_error_at_once(false: FalseCluster) -> None:
    false.text = "number of write requests exceeded - wait 1mins, 0.00sec"
    false.fail_region = lambda _region: HBASE + "quotas.RpcThrottlingException"
    with pytest.raises(StoreBusyError, match="wait 1mins") as caught:
        false.apply(put(b"a"))
    assert caught.value.has_waited
    assert (false.waits, len(false.calls)) == ([], 1)


def test_connection_that_broke_is_replaced(false: FalseCluster) -> None:
    false.apply(put(b"a"))
    for connection in false.cluster._connections.values():
        connection._stream._socket.shutdown(2)
    false.apply(put(b"b"))
    assert false.rows == [b"a", b"b"]


def test_other_calls_to_a_lost_server_are_not_sent(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "MAX_ROWS", 1)
    false.apply(put(b"a"))
    false.servers[1].close()
    opened = []
    original = Connection.open
    monkeypatch.setattr(Connection, "open", lambda self, s: (opened.append(self.address), original(self, s)))
    with pytest.raises(StoreUnavailableError, match="no server can be reached"):
        false.writer.apply("t", [put(b"b"), put(b"x"), put(b"y"), put(b"z")], Attempts(0.04))
    assert opened == [false.servers[1].address]
    assert b"b" in false.rows


def test_calls_that_were_not_sent_to_a_lost_server_are_sent_later(
    false: FalseCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(division, "MAX_ROWS", 1)
    rows = [b"a%d" % number for number in range(writing.MAX_IN_FLIGHT + 3)]
    answers = iter([None])  # closes the connection
    false.damage = lambda frame: next(answers, frame)  # type: ignore[arg-type, return-value]
    false.apply(*map(put, rows))
    assert set(false.rows) == set(rows)
    assert len(false.calls) <= len(rows) + writing.MAX_IN_FLIGHT


def test_regions_are_looked_up_again_after_one_is_on_a_server_that_is_refused(false: FalseCluster) -> None:
    """An operator may correct where the regions are."""
    addresses = [false.servers[0].address, Address("192.0.2.1", 16020)]
    false._meta = lambda request: meta_answer(request, [b"", b"m", b""], addresses)  # type: ignore[method-assign]
    with pytest.raises(StoreError) as caught:
        false.apply(put(b"a"), put(b"x"))
    assert not isinstance(caught.value, StoreUnavailableError)
    lookups = false.lookups
    addresses[1] = false.servers[1].address
    false.apply(put(b"a"), put(b"x"))
    assert (false.lookups, b"x" in false.rows) == (lookups + 1, True)


def test_interrupted_call_closes_its_connections(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    false.apply(put(b"a"), put(b"z"))

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            false.apply(put(b"b"), put(b"y"))
    services = {service: one.is_usable for (_, service), one in false.cluster._connections.items()}
    assert services == {"ClientMetaService": True, "ClientService": False}
    false.apply(put(b"c"), put(b"x"))
    assert {b"c", b"x"} <= set(false.rows)


def test_rejected_rows_are_named_and_the_others_are_stored(false: FalseCluster) -> None:
    false.fail = lambda region, at: NO_FAMILY if (region, at) == (b"t,m,1.", 1) else None
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"x"), put(b"y"), put(b"z"))
    assert (caught.value.indexes, caught.value.code) == ([2], "unknown_family")
    assert sorted(false.rows) == [b"a", b"x", b"z"]


def test_rejected_row_is_reported_though_another_row_was_repeated(false: FalseCluster) -> None:
    names = iter([NO_FAMILY, MOVED])
    false.fail = lambda _region, _at: next(names, None)
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"b"))
    assert (caught.value.indexes, false.rows) == ([0], [b"b"])


def test_rejected_batch_is_reported_though_another_batch_was_repeated(false: FalseCluster) -> None:
    failures = {b"t,,1.": iter([NO_FAMILY]), b"t,m,1.": iter([MOVED])}
    false.fail_region = lambda region: next(failures[region], None)
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"b"), put(b"z"))
    assert (caught.value.indexes, false.rows) == (None, [b"z"])


def test_rejected_batch_names_no_row(false: FalseCluster) -> None:
    false.fail_region = lambda region: HBASE + "exceptions.FailedSanityCheckException" if b"m" in region else None
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"x"), put(b"y"))
    assert caught.value.indexes is None
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b"x"))
    assert caught.value.indexes == [1]


UNCLEAR = HBASE + "DoNotRetryIOException"


def test_rows_that_are_refused_for_an_unclear_reason_are_named(false: FalseCluster) -> None:
    """A coprocessor refuses one of several rows."""
    false.fail = lambda region, at: UNCLEAR if (region, at) == (b"t,m,1.", 1) else None
    with pytest.raises(UnclearRefusalError, match="refused: DoNotRetryIOException") as caught:
        false.apply(put(b"a"), put(b"x"), put(b"y"), put(b"z"))
    assert caught.value.indexes == [2]
    assert sorted(false.rows) == [b"a", b"x", b"z"]
    assert len(false.calls) == 2, "not repeated"


@pytest.mark.parametrize("is_of_each", [True, False])
def test_region_that_is_refused_for_an_unclear_reason_names_no_row(false: FalseCluster, is_of_each: bool) -> None:
    """HBase names every row if a coprocessor refuses one before the batch begins."""
    if is_of_each:
        false.fail = lambda region, _at: UNCLEAR if b"m" in region else None
    else:
        false.fail_region = lambda region: UNCLEAR if b"m" in region else None
    false.text = f"{UNCLEAR}: a rule\n\tat X.y(X.java:1)"
    with pytest.raises(UnclearRefusalError) as caught:
        false.apply(put(b"a"), put(b"x"), put(b"y"))
    assert (caught.value.indexes, false.rows) == (None, [b"a"])
    with pytest.raises(UnclearRefusalError) as caught:
        false.apply(put(b"a"), put(b"x"))
    assert caught.value.indexes == [1]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        (BUSY, StoreBusyError),
        (HBASE + "security.AccessDeniedException", StoreRefusedError),
        (MOVED, StoreUnavailableError),
        ("java.lang.NullPointerException", StoreUnavailableError),
    ],
)
def test_error_is_raised_after_all_calls_were_answered(
    false: FalseCluster, name: str, error: type[IngestError], monkeypatch: pytest.MonkeyPatch
) -> None:
    false.fail_region = lambda region: name if region == b"t,,1." else None
    with pytest.raises(error):
        false.writer.apply("t", [put(b"a"), put(b"z")], Attempts(0.2, sleep=lambda _seconds: None))
    assert b"z" in false.rows


def test_invalid_rows_are_found_before_anything_is_sent(false: FalseCluster) -> None:
    with pytest.raises(WriteRejectedError) as caught:
        false.apply(put(b"a"), put(b""), put(b"b"), Delete(b"r", -1))
    assert caught.value.indexes == [1, 3]
    assert false.calls == []


def test_row_that_no_request_can_have_is_not_sent(false: FalseCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = put(b"a", b"x" * 100)
    monkeypatch.setattr(writing, "MAX_ROW_BYTES", len(CellEncoder(1_000).put(largest)))
    false.apply(largest)
    assert false.rows == [b"a"]
    calls = len(false.calls)
    with pytest.raises(WriteRejectedError, match=r"row of \d+ bytes; at most \d+ are sent") as caught:
        false.apply(largest, put(b"b", b"x" * 101))
    assert caught.value.indexes == [1]
    assert len(false.calls) == calls


@given(length=st.integers(4, 60), flips=st.lists(st.tuples(st.integers(4, 60), st.integers(1, 255)), max_size=1))
def test_damaged_answer_is_never_success_without_a_result_for_each_row(length, flips) -> None:
    """A server that stores nothing, and answers with damaged bytes."""
    false = FalseCluster()
    try:
        false.fail = lambda _region, _at: BUSY

        def damage(frame: bytes) -> bytes:
            content = bytearray(frame[4:length])
            for at, change in flips:
                if at < len(content):
                    content[at] ^= change
            return framed(bytes(content))

        false.damage = damage
        with pytest.raises(IngestError):
            false.writer.apply("t", [put(b"a"), put(b"b")], Attempts(0.04, sleep=lambda _seconds: None))
        assert false.rows == []
    finally:
        false.close()

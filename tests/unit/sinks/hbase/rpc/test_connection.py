"""Frames, calls and answers of one connection."""

import contextlib
import socket
import struct
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import number, varint
from sinks.hbase.rpc.connection import MAX_IDLE_S, Connection
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError
from sinks.hbase.rpc.stream import Stream
from sinks.hbase.tcp import MAX_ANSWER_BYTES
from tests.support.local import free_ports
from tests.support.rpc_server import Request, RpcServer, RpcServers, framed, soon


def connected(server: RpcServer, **options: object) -> Connection:
    connection = Connection(server.address, "ClientService", **options)
    connection.open(soon())
    return connection


def test_connection_header_and_call(serve: RpcServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "maria")
    server = serve(lambda request: request.answer(b"answer", b"cells"))
    connection = connected(server)
    sent = connection.send("Multi", b"parameter", b"x" * 3_000_000, soon(5))
    assert connection.receive(sent, soon()) == (b"answer", b"cells")
    connection.close()
    (header,) = server.headers
    assert (header.message(1).text(1), header.text(2)) == ("maria", "ClientService")
    assert header.text(3) == "org.apache.hadoop.hbase.codec.KeyValueCodec"
    assert (header.message(5).number(7), header.message(5).number(8)) == (2, 6)
    (request,) = server.requests
    assert (request.method, request.parameter, len(request.cells)) == ("Multi", b"parameter", 3_000_000)
    assert 0 < request.timeout_ms <= 5_000


def test_call_ids_differ_and_the_connection_stays_open_after_an_exception(serve: RpcServers) -> None:
    name = "org.apache.hadoop.hbase.NotServingRegionException"
    server = serve(
        lambda request: request.answer(b"2") if request.method == "B" else request.failure(name, f"{name}: gone\n\tat")
    )
    connection = connected(server)
    with pytest.raises(RemoteError, match="NotServingRegionException: gone") as caught:
        connection.call("A", b"", soon())
    assert caught.value.kind is Kind.MOVED
    assert connection.call("B", b"", soon()).message == b"2"
    assert [request.call_id for request in server.requests] == [1, 2]
    connection.close()


def test_peer_that_trickles_bytes_has_a_deadline(serve: RpcServers) -> None:
    ended = threading.Event()

    def log_in(live: socket.socket) -> socket.socket:
        while not ended.wait(0.05):
            live.sendall(b"\x00")
        return live

    server = serve(log_in=log_in)
    stream = Stream(server.address, None, time.monotonic)
    stream.open(soon())
    stream.send([b"HBas\x00\x51"], soon())
    with pytest.raises(ConnectionLostError):
        stream.receive(1 << 20, soon(0.5))
    ended.set()


def test_answer_to_a_posted_call_is_discarded_when_it_arrives(serve: RpcServers) -> None:
    waiting: list[Request] = []

    def answer(request: Request) -> bytes:
        if request.method == "Late":
            waiting.append(request)
            return b""
        return waiting.pop().answer(b"late") + request.answer(b"own")

    connection = connected(serve(answer))
    connection.post("Late", b"")
    assert connection.is_usable
    assert connection.call("Now", b"", soon()).message == b"own"
    connection.close()


def test_answers_in_another_order_are_those_of_their_calls(serve: RpcServers) -> None:
    held: list[bytes] = []

    def answer(request: Request) -> bytes:
        held.insert(0, request.answer(request.method.encode(), b"cells of " + request.method.encode()))
        return b"".join(held) if len(held) == 3 else b""

    connection = connected(serve(answer))
    ids = [connection.send(method, b"", b"", soon()) for method in "ABC"]
    answers = [connection.receive(call_id, soon()) for call_id in ids]
    assert [(one.message, one.cells) for one in answers] == [
        (b"A", b"cells of A"),
        (b"B", b"cells of B"),
        (b"C", b"cells of C"),
    ]
    with pytest.raises(ConnectionLostError):
        connection.receive(ids[0], soon(0.1))


def test_exception_of_one_call_leaves_the_answers_of_others(serve: RpcServers) -> None:
    connection = connected(
        serve(lambda request: request.failure("E") if request.method == "A" else request.answer(b"b"))
    )
    first, second = (connection.send(method, b"", b"", soon()) for method in "AB")
    assert connection.receive(second, soon()).message == b"b"
    with pytest.raises(RemoteError):
        connection.receive(first, soon())
    assert connection.is_usable
    connection.close()


def test_call_without_an_answer_ends_at_its_deadline_and_closes_the_connection(serve: RpcServers) -> None:
    connection = connected(serve(lambda _request: b""))
    with pytest.raises(ConnectionLostError, match=r"no answer .* in time; the call may still execute"):
        connection.call("A", b"", soon(0.1))
    assert not connection.is_usable
    with pytest.raises(ConnectionLostError, match="is closed"):
        connection.call("A", b"", soon())


def test_server_that_closes_the_connection(serve: RpcServers) -> None:
    connection = connected(serve(lambda _request: None))
    with pytest.raises(ConnectionLostError, match="broke"):
        connection.call("A", b"", soon())


def test_no_server_at_the_port() -> None:
    server = RpcServer(lambda _request: None)
    server.close()
    address = server.address._replace(port=free_ports(1)[0])
    with pytest.raises(ConnectionLostError, match="no server can be reached"):
        Connection(address, "ClientService").open(soon())


def test_idle_connection_is_not_used(serve: RpcServers) -> None:
    now = [time.monotonic()]
    connection = connected(serve(lambda request: request.answer()), clock=lambda: now[0])
    assert connection.is_usable
    now[0] += MAX_IDLE_S + 1
    assert not connection.is_usable
    connection.close()


def test_announced_length_is_not_allocated(serve: RpcServers) -> None:
    connection = connected(serve(lambda _request: struct.pack(">I", MAX_ANSWER_BYTES + 1)))
    with pytest.raises(ConnectionLostError, match="at most 256 MiB"):
        connection.call("A", b"", soon())


@pytest.mark.parametrize(
    "frame",
    [
        framed(b""),
        framed(b"\x05\x08"),
        framed(b"\x02\x08\x07\x00"),  # the answer to a call that was not sent
        framed(b"\x02\x08\x01"),  # no message
        framed(b"\x02\x08\x01\x05abc"),
        framed(varint(6) + number(1, 1) + b"\x1a\x02\x08\x09" + b"\x00" + b"abc"),  # fewer cells than announced
    ],
)
def test_answer_that_is_none_is_an_error(serve: RpcServers, frame: bytes) -> None:
    connection = connected(serve(lambda _request: frame))
    with pytest.raises(ConnectionLostError, match="does not answer as a server of HBase"):
        connection.call("A", b"", soon())
    assert not connection.is_usable


def test_exception_about_the_connection_ends_it(serve: RpcServers) -> None:
    """As from a cluster that requires Kerberos; HBase sends -1 in place of a call's id."""
    name = "org.apache.hadoop.hbase.security.AccessDeniedException"
    text = f"{name}: Authentication is required"
    server = serve(lambda request: request._replace(call_id=2**32 - 1).failure(name, text))
    connection = connected(server)
    with pytest.raises(RemoteError, match="Authentication is required") as caught:
        connection.call("A", b"", soon())
    assert caught.value.kind is Kind.DENIED
    assert not connection.is_usable


@given(content=st.binary(max_size=64))
def test_any_answer_ends_the_call(content: bytes) -> None:
    server = RpcServer(lambda _request: framed(content))
    try:
        connection = connected(server)
        with contextlib.suppress(ConnectionLostError, RemoteError):
            connection.call("A", b"", soon(0.2))
        connection.close()
    finally:
        server.close()

import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.proxy import Direction, Done, Proxy
from tests.support.waiting import reached

LENGTH_BYTES = 4


class Echo(socketserver.ThreadingTCPServer):
    """Echoes each request (a length and its bytes), and records complete requests."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[bytes] = []
        self.ends: list[str] = []


class _Handler(socketserver.BaseRequestHandler):
    server: Echo

    def handle(self) -> None:
        try:
            while True:
                request = _message(self.request)
                self.server.requests.append(request)
                self.request.sendall(_framed(request))
        except EOFError:
            self.server.ends.append("closed")
        except ConnectionResetError:
            self.server.ends.append("reset")


class Client:
    """One connection through the proxy."""

    def __init__(self, port: int, timeout_s: float = 5.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout_s)

    def send(self, request: bytes) -> None:
        self.socket.sendall(_framed(request))

    def ask(self, request: bytes) -> bytes:
        self.send(request)
        return _message(self.socket)


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(("127.0.0.1", echo.server_address[1])) as target:
        yield target


@pytest.fixture
def connect(proxy: Proxy) -> Iterator:
    clients = []

    def connected(timeout_s: float = 5.0) -> Client:
        clients.append(Client(proxy.port, timeout_s))
        return clients[-1]

    yield connected
    for client in clients:
        client.socket.close()


def test_forwards_and_counts_all_bytes(proxy, connect):
    client = connect()
    requests = [b"a", b"\0" * 300_000, b"b"]
    assert requests == [client.ask(request) for request in requests]
    size = sum(LENGTH_BYTES + len(request) for request in requests)
    assert (1, 0, size, size, 3) == (
        proxy.counts.connections,
        proxy.counts.refused,
        proxy.counts.up_bytes,
        proxy.counts.down_bytes,
        proxy.counts.exchanges,
    )
    assert proxy.live == 1
    client.socket.close()
    assert reached(lambda: proxy.live == 0, 5)


@pytest.mark.parametrize("faults", [{"slice_bytes": 1}, {"bytes_per_s": 20_000}, {"delay_s": 0.05}], ids=str)
def test_slow_connection_forwards_all_bytes(proxy, connect, faults):
    proxy.behave(**faults)
    client = connect()
    request = bytes(range(256)) * 10
    started = time.monotonic()
    assert request == client.ask(request)
    at_least_s = {"bytes_per_s": len(request) / 20_000 * 0.9, "delay_s": 0.05}.get(next(iter(faults)), 0.0)
    assert time.monotonic() - started >= at_least_s


def test_stall_delays_a_request(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.behave(stalled=True)
    client.send(b"meanwhile")
    client.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        _message(client.socket)
    assert echo.requests == [b"before"]
    client.socket.settimeout(5)
    proxy.heal()
    assert _message(client.socket) == b"meanwhile"


def test_abandoned_request_arrives_after_a_stall(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.behave(stalled=True)
    client.send(b"given up")
    client.socket.close()
    proxy.heal()
    assert reached(lambda: echo.requests == [b"before", b"given up"], 5)


def test_half_open_connection_never_responds(proxy, connect, echo):
    old = connect()
    old.ask(b"before")
    proxy.behave(discarded=True)
    new = connect()
    for client in (old, new):
        client.send(b"lost")
        client.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            _message(client.socket)
    proxy.heal()
    old.send(b"still lost")
    assert connect().ask(b"after") == b"after"
    assert echo.requests == [b"before", b"after"]
    lost = sum(LENGTH_BYTES + len(text) for text in (b"lost", b"lost", b"still lost"))
    assert reached(lambda: proxy.counts.discarded_bytes == lost, 5)


def test_cut_during_the_request_resets_both_sides(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.cut(Direction.UP, 1_000)
    client.send(b"x" * 999_000)
    with pytest.raises(OSError, match=r"reset|Broken pipe"):
        _message(client.socket)
    assert reached(lambda: echo.ends == ["reset"], 5)
    assert echo.requests == [b"before"]
    assert [Done(Direction.UP, 1_000, 0)] == proxy.counts.cuts
    assert connect().ask(b"after") == b"after"


@pytest.mark.parametrize("passed", [0, 3])
def test_cut_during_the_response_follows_the_call(proxy, connect, echo, passed):
    client = connect()
    proxy.cut(Direction.DOWN, passed, request_bytes=100)
    client.ask(b"small enough")
    client.send(b"x" * 100)
    with pytest.raises(ConnectionResetError):
        _message(client.socket)
    assert echo.requests == [b"small enough", b"x" * 100]
    assert [Done(Direction.DOWN, LENGTH_BYTES + 100, passed)] == proxy.counts.cuts


def test_each_cut_is_one_reset(proxy, connect):
    proxy.cut(Direction.UP, 2, times=2)
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            connect().ask(b"request")
    assert connect().ask(b"request") == b"request"
    assert [Done(Direction.UP, 2, 0)] * 2 == proxy.counts.cuts


def test_reset_all_resets_every_connection(proxy, connect, echo):
    clients = [connect(), connect()]
    for client in clients:
        client.ask(b"here")
    assert proxy.reset_all() == 2
    for client in clients:
        with pytest.raises(ConnectionResetError):
            client.ask(b"gone")
    assert reached(lambda: echo.ends == ["reset"] * 2, 5)


def test_refused_connections_are_accepted_after_heal_on_the_same_port(proxy, connect):
    old = connect()
    old.ask(b"here")
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect()
    assert old.ask(b"old") == b"old"
    proxy.heal()
    assert connect().ask(b"new") == b"new"


def test_target_can_be_changed(proxy, connect, echo):
    proxy.target, target = ("127.0.0.1", 1), proxy.target
    with pytest.raises((EOFError, ConnectionResetError)):
        connect().ask(b"no server")
    assert proxy.counts.refused == 1
    proxy.target = target
    assert connect().ask(b"server") == b"server"


def test_idle_connection_is_closed_without_a_reset(proxy, connect, echo):
    proxy.behave(idle_s=0.1)
    client = connect()
    client.ask(b"here")
    assert client.socket.recv(1) == b""
    assert reached(lambda: echo.ends == ["closed"], 5)
    assert proxy.counts.closed_idle == 1


def test_exit_ends_threads_and_connections(echo):
    before = threading.active_count()
    with Proxy(("127.0.0.1", echo.server_address[1])) as proxy:
        client = Client(proxy.port)
        assert client.ask(b"here") == b"here"
        proxy.behave(stalled=True)
        client.send(b"held")
    with pytest.raises((ConnectionResetError, EOFError)):
        _message(client.socket)
    client.socket.close()
    assert reached(lambda: threading.active_count() == before, 5)
    with pytest.raises(ConnectionRefusedError):
        Client(proxy.port)


def _framed(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def _message(source: socket.socket) -> bytes:
    size = int.from_bytes(_exactly(source, LENGTH_BYTES), "big")
    return _exactly(source, size)


def _exactly(source: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = source.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)

import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.proxy import Done, Proxy, Way
from tests.support.waiting import reached

LENGTH_BYTES = 4


class Echo(socketserver.ThreadingTCPServer):
    """Answers each question, a length and so many bytes, with itself; remembers the ones that came whole."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.questions: list[bytes] = []
        self.ends: list[str] = []


class _Asked(socketserver.BaseRequestHandler):
    server: Echo

    def handle(self) -> None:
        try:
            while True:
                question = _message(self.request)
                self.server.questions.append(question)
                self.request.sendall(_framed(question))
        except EOFError:
            self.server.ends.append("closed")
        except ConnectionResetError:
            self.server.ends.append("reset")


class Client:
    """One connection through the proxy."""

    def __init__(self, port: int, timeout_s: float = 5.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout_s)

    def send(self, question: bytes) -> None:
        self.socket.sendall(_framed(question))

    def ask(self, question: bytes) -> bytes:
        self.send(question)
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


def test_passes_everything_and_counts_it(proxy, connect):
    client = connect()
    questions = [b"a", b"\0" * 300_000, b"b"]
    assert questions == [client.ask(question) for question in questions]
    size = sum(LENGTH_BYTES + len(question) for question in questions)
    assert (1, 0, size, size, 3) == (
        proxy.counts.connections,
        proxy.counts.refused,
        proxy.counts.up_bytes,
        proxy.counts.down_bytes,
        proxy.counts.turns,
    )
    assert proxy.live == 1
    client.socket.close()
    assert reached(lambda: proxy.live == 0, 5)


@pytest.mark.parametrize("manner", [{"slice_bytes": 1}, {"bytes_per_s": 20_000}, {"turn_delay_s": 0.05}], ids=str)
def test_slows_without_changing_a_byte(proxy, connect, manner):
    proxy.behave(**manner)
    client = connect()
    question = bytes(range(256)) * 10
    started = time.monotonic()
    assert question == client.ask(question)
    at_least_s = {"bytes_per_s": len(question) / 20_000 * 0.9, "turn_delay_s": 0.05}.get(next(iter(manner)), 0.0)
    assert time.monotonic() - started >= at_least_s


def test_a_stall_keeps_what_was_sent(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.behave(stalled=True)
    client.send(b"meanwhile")
    client.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        _message(client.socket)
    assert echo.questions == [b"before"]
    client.socket.settimeout(5)
    proxy.heal()
    assert _message(client.socket) == b"meanwhile"


def test_what_a_client_gave_up_on_arrives_after_a_stall(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.behave(stalled=True)
    client.send(b"given up")
    client.socket.close()
    proxy.heal()
    assert reached(lambda: echo.questions == [b"before", b"given up"], 5)


def test_half_open_accepts_and_never_answers(proxy, connect, echo):
    old = connect()
    old.ask(b"before")
    proxy.behave(swallowed=True)
    new = connect()
    for client in (old, new):
        client.send(b"lost")
        client.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            _message(client.socket)
    proxy.heal()
    old.send(b"still lost")
    assert connect().ask(b"after") == b"after"
    assert echo.questions == [b"before", b"after"]
    lost = sum(LENGTH_BYTES + len(text) for text in (b"lost", b"lost", b"still lost"))
    assert reached(lambda: proxy.counts.swallowed_bytes == lost, 5)


def test_cut_in_the_question_resets_both_sides(proxy, connect, echo):
    client = connect()
    client.ask(b"before")
    proxy.cut(Way.UP, 1_000)
    client.send(b"x" * 999_000)
    with pytest.raises(OSError, match=r"reset|Broken pipe"):
        _message(client.socket)
    assert reached(lambda: echo.ends == ["reset"], 5)
    assert echo.questions == [b"before"]
    assert [Done(Way.UP, 1_000, 0)] == proxy.counts.cuts
    assert connect().ask(b"after") == b"after"


@pytest.mark.parametrize("passed", [0, 3])
def test_cut_in_the_answer_comes_after_the_server_did_it(proxy, connect, echo, passed):
    client = connect()
    proxy.cut(Way.DOWN, passed, question_bytes=100)
    client.ask(b"small enough")
    client.send(b"x" * 100)
    with pytest.raises(ConnectionResetError):
        _message(client.socket)
    assert echo.questions == [b"small enough", b"x" * 100]
    assert [Done(Way.DOWN, LENGTH_BYTES + 100, passed)] == proxy.counts.cuts


def test_several_cuts_are_several_resets(proxy, connect):
    proxy.cut(Way.UP, 2, times=2)
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            connect().ask(b"question")
    assert connect().ask(b"question") == b"question"
    assert [Done(Way.UP, 2, 0)] * 2 == proxy.counts.cuts


def test_reset_of_all(proxy, connect, echo):
    clients = [connect(), connect()]
    for client in clients:
        client.ask(b"here")
    assert proxy.reset_all() == 2
    for client in clients:
        with pytest.raises(ConnectionResetError):
            client.ask(b"gone")
    assert reached(lambda: echo.ends == ["reset"] * 2, 5)


def test_refused_and_heard_again_on_the_same_port(proxy, connect):
    old = connect()
    old.ask(b"here")
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        connect()
    assert old.ask(b"old") == b"old"
    proxy.heal()
    assert connect().ask(b"new") == b"new"


def test_a_server_that_is_not_there_and_another_one(proxy, connect, echo):
    proxy.target, target = ("127.0.0.1", 1), proxy.target
    with pytest.raises((EOFError, ConnectionResetError)):
        connect().ask(b"nobody")
    assert proxy.counts.refused == 1
    proxy.target = target
    assert connect().ask(b"somebody") == b"somebody"


def test_idle_is_closed_properly(proxy, connect, echo):
    proxy.behave(idle_s=0.1)
    client = connect()
    client.ask(b"here")
    assert client.socket.recv(1) == b""
    assert reached(lambda: echo.ends == ["closed"], 5)
    assert proxy.counts.closed_idle == 1


def test_the_end_leaves_nothing_behind(echo):
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

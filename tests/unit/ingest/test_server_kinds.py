"""Servers of other kinds are recognised by their answers; `tests/integration/test_server_kinds.py` asks real ones."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from ingest import server_kinds
from ingest.api import SourceUnavailableError, StoreUnavailableError
from ingest.kafka import clients
from ingest.kafka.clients import admin_client
from ingest.kafka.settings import KafkaConnection
from ingest.server_kinds import HBASE, KAFKA, THRIFT, WEB, ZOOKEEPER, server_instead
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore

ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    KAFKA: lambda request: b"\0\0\0\x1a" + request[8:12] + b"\0\0\0\0" if request[4:6] == b"\0\x12" else b"",
    ZOOKEEPER: lambda request: b"srvr is not executed because it is not in the whitelist.\n" * (request == b"srvr"),
    THRIFT: lambda request: b"\x80\x01\x00\x03" + request[4:18] if request[:4] == b"\x80\x01\x00\x01" else b"",
    "framed": lambda request: b"\0\0\0\x40\x80\x01\x00\x03" if request[4:8] == b"\x80\x01\x00\x01" else b"",
    HBASE: lambda request: b"\0\0\0\x50\x08org.apache.hadoop.hbase.ipc.W" if request[:4] == b"HBas" else b"",
    WEB: lambda request: b"HTTP/1.1 404 Not Found\r\n\r\n" if request.startswith(b"GET ") else b"",
}
WORDS = {
    KAFKA: "a Kafka broker, whose address belongs into `brokers`",
    ZOOKEEPER: "a ZooKeeper server, which no pipeline needs",
    THRIFT: "a Thrift server, whose address belongs into `host` and `port`",
    "framed": "a Thrift server with `transport: framed`",
    HBASE: "a master or region server of HBase, whose address belongs into `bootstrap_servers`",
    WEB: "a web server",
}


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        """Answer a request of the own protocol, and close the connection at any other, as the servers do."""
        assert isinstance(self.server, _Server)
        self.request.sendall(self.server.answer(self.request.recv(4096)))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer


@contextmanager
def running(answer: Callable[[bytes], bytes]) -> Iterator[_Server]:
    with _Server(answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the real times, for servers that do not answer."""
    monkeypatch.setattr(server_kinds, "_ANSWER_S", 0.05)
    monkeypatch.setattr(server_kinds, "_ALL_ANSWERS_S", 0.2)


@pytest.fixture
def port(kind: str) -> Iterator[int]:
    with running(ANSWERS[kind]) as server:
        yield int(server.server_address[1])


@pytest.mark.parametrize("kind", ANSWERS)
def test_server_is_recognised_by_its_answer(kind: str, port: int):
    found = server_instead("another", [("127.0.0.1", port)])
    assert found is not None
    assert found.startswith(f"127.0.0.1:{port} is {WORDS[kind]}")
    own = {"framed": THRIFT}.get(kind, kind)
    assert server_instead(own, [("127.0.0.1", port)]) is None  # it has another fault


@pytest.mark.usefixtures("impatient")
def test_nothing_is_known_of_servers_that_are_silent_or_refuse():
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        addresses = [(server.getsockname()[0], server.getsockname()[1]) for server in (silent, unused)]
        assert server_instead(KAFKA, addresses) is None


@pytest.mark.usefixtures("impatient")
def test_silent_servers_are_not_all_asked_everything():
    with ExitStack() as opened:
        silent = [opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=16)) for _ in range(3)]
        assert server_instead(KAFKA, [("127.0.0.1", server.getsockname()[1]) for server in silent]) is None
        connections = sum(accepted(server) for server in silent)
    assert 0 < connections < 3 * 5


def accepted(server: socket.socket) -> int:
    """The number of connections that wait."""
    server.setblocking(False)
    number = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            number += 1
    return number


@pytest.mark.usefixtures("impatient")
def test_name_that_is_not_resolved_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    is_tested, resolved = threading.Event(), list[str]()

    def resolve(host: str, *_: object, **__: object) -> list[object]:
        is_tested.wait(60.0)
        resolved.append(host)
        raise OSError("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        assert server_instead(KAFKA, [("slow.test", 1)]) is None
        assert resolved == []
    finally:
        is_tested.set()


def test_server_that_was_silent_is_asked_again():
    with running(lambda _request: b"") as server:
        address = ("127.0.0.1", int(server.server_address[1]))
        assert server_instead(KAFKA, [address]) is None
        server.answer = ANSWERS[WEB]
        assert server_instead(KAFKA, [address]) is not None


@pytest.mark.parametrize("kind", [ZOOKEEPER, HBASE])
def test_brokers_that_are_no_kafka(kind: str, port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clients, "ANSWER_MS", 500)
    with pytest.raises(SourceUnavailableError) as caught:
        admin_client(KafkaConnection.model_validate({"brokers": f"127.0.0.1:{port}"}))
    assert f"127.0.0.1:{port} is {WORDS[kind]}" in (caught.value.hint or "")
    assert (caught.value.hint or "").endswith("; write addresses of Kafka brokers into `brokers`")


@pytest.mark.parametrize("kind", [KAFKA, ZOOKEEPER, THRIFT])
def test_bootstrap_servers_that_are_no_hbase(kind: str, port: int):
    store = HBaseStore.of(HBaseSettings(bootstrap_servers=f"127.0.0.1:{port}", timeout="5s"))
    with pytest.raises(StoreUnavailableError) as caught:
        store.open()
    store.close()
    assert f"127.0.0.1:{port} is {WORDS[kind]}" in (caught.value.hint or "")


@pytest.mark.parametrize("kind", [KAFKA, HBASE, WEB])
def test_host_and_port_that_are_no_thrift_server(kind: str, port: int):
    store = HBaseStore.of(HBaseSettings(host="127.0.0.1", port=port, timeout="5s"))
    store.open()  # connects, and asks nothing yet
    with pytest.raises(StoreUnavailableError) as caught:
        store.tables()
    store.close()
    assert f"127.0.0.1:{port} is {WORDS[kind]}" in (caught.value.hint or "")

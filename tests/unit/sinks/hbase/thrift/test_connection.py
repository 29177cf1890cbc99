"""A connection is replaced after a long idle time, and after an interrupted call."""

import socket
import threading
from collections.abc import Iterator

import pytest
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from ingest import server_kinds
from ingest.api import FamilySpec, LifecycleError, StoreError, StoreUnavailableError, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.connection import MAX_IDLE_S, Connection
from sinks.hbase.thrift.schema import Thrift2
from sinks.hbase.thrift.thrift1 import HBaseIOError, IllegalArgument
from tests.support.clock import Clock
from tests.support.waiting import reached


class Listener:
    """Accepts connections and never answers."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.accepted: list[socket.socket] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            with self._changed:
                self.accepted.append(accepted)
                self._changed.notify_all()

    def wait_for(self, count: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.accepted) >= count, timeout=10)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)
        for accepted in self.accepted:
            accepted.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener is asked after an error which kind of server it is, and never answers."""
    monkeypatch.setattr(server_kinds, "_ALL_ANSWERS_S", 0.05)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def connection_to(listener: Listener, **more: object) -> Connection:
    settings = HBaseSettings.model_validate({"host": "127.0.0.1", "port": listener.port, "timeout": "200ms"})
    return Connection(settings, **more)


def is_replaced(connection: Connection, listener: Listener) -> bool:
    """Make a call; whether there is a second connection now."""
    connection.call(lambda _client: None)
    return len(listener.accepted) == 2


def test_idle_connection_is_replaced(listener: Listener) -> None:
    clock = Clock(0.0)
    connection = connection_to(listener, clock=clock)
    connection.open()
    clock.now += MAX_IDLE_S
    connection.call(lambda _client: None)
    assert listener.wait_for(1)
    clock.now += MAX_IDLE_S + 1
    connection.call(lambda _client: None)
    assert listener.wait_for(2)
    assert len(listener.accepted) == 2
    connection.close()


def test_connection_closed_by_the_server_is_replaced(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.open()
    assert listener.wait_for(1)
    listener.accepted[0].close()
    assert reached(lambda: is_replaced(connection, listener), 10)
    connection.call(lambda _client: None)
    assert len(listener.accepted) == 2
    connection.close()


def test_connection_with_a_late_answer_is_replaced(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.open()
    assert listener.wait_for(1)
    listener.accepted[0].sendall(b"late")
    assert reached(lambda: is_replaced(connection, listener), 10)
    connection.close()


@pytest.mark.parametrize(
    "error",
    [
        TTransportException(TTransportException.END_OF_FILE, "TSocket read 0 bytes"),
        TProtocolException(TProtocolException.BAD_VERSION, "no version"),
        BrokenPipeError(32, "Broken pipe"),
        ConnectionResetError(104, "Connection reset by peer"),
        TimeoutError("timed out"),
        EOFError(),
    ],
)
def test_connection_is_replaced_after_a_transport_error(listener: Listener, error: Exception) -> None:
    connection = connection_to(listener)
    connection.open()

    def broken(_client: object) -> None:
        raise error

    with pytest.raises(StoreUnavailableError):
        connection.call(broken)
    connection.call(lambda _client: None)
    assert listener.wait_for(2)
    connection.close()


@pytest.mark.parametrize(
    "error", [TTransportException(TTransportException.END_OF_FILE, "TSocket read 0 bytes"), TimeoutError("timed out")]
)
def test_error_hints_at_the_settings_until_a_call_was_answered(listener: Listener, error: Exception) -> None:
    connection = connection_to(listener)
    connection.open()

    def broken(_client: object) -> None:
        raise error

    with pytest.raises(StoreUnavailableError, match="do `transport`, `protocol` and `port` match"):
        connection.call(broken)
    connection.call(lambda _client: None)
    with pytest.raises(StoreUnavailableError) as caught:
        connection.call(broken)
    assert caught.value.hint is None
    connection.close()


def test_error_of_thrift2_without_an_answer_hints_at_the_settings(listener: Listener) -> None:
    thrift2 = {"host": "127.0.0.1", "port": listener.port}
    settings = HBaseSettings.model_validate({"timeout": "200ms", "thrift2": thrift2})
    with pytest.raises(StoreUnavailableError, match="do `transport`, `protocol` and `port` match"):
        Thrift2(settings, settings.thrift2).create_table(TableSpec("t", (FamilySpec(b"f"),)))


@pytest.mark.parametrize(
    "error",
    [
        HBaseIOError(message=b"RegionTooBusyException"),
        IllegalArgument(message=b"KeyValue size too large"),
        TApplicationException(TApplicationException.INTERNAL_ERROR, b"Internal error processing mutateRowsTs"),
    ],
)
def test_connection_is_kept_after_an_error_of_the_server(listener: Listener, error: Exception) -> None:
    connection = connection_to(listener)
    connection.open()

    def refused(_client: object) -> None:
        raise error

    with pytest.raises(StoreError):
        connection.call(refused)
    connection.call(lambda _client: None)
    assert listener.wait_for(1)
    assert len(listener.accepted) == 1
    connection.close()


def test_half_open_connection_times_out_and_is_replaced(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.open()
    with pytest.raises(StoreUnavailableError, match="no answer"):
        connection.call(lambda client: client.getTableNames())
    connection.call(lambda _client: None)
    assert listener.wait_for(2)
    connection.close()


def test_connection_is_replaced_after_an_interrupted_call(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.open()

    def interrupted(_client: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        connection.call(interrupted)
    connection.call(lambda _client: None)
    assert listener.wait_for(2)
    connection.close()


def test_use_before_open_and_after_close(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.close()
    with pytest.raises(LifecycleError):
        connection.call(lambda _client: None)
    connection.open()
    connection.close()
    connection.close()
    with pytest.raises(LifecycleError):
        connection.call(lambda _client: None)


def test_timed_out_call_is_not_delivered_later(listener: Listener) -> None:
    connection = connection_to(listener)
    connection.open()
    with pytest.raises(StoreUnavailableError, match="no answer"):
        connection.call(lambda client: client.getTableNames())
    assert listener.wait_for(1)

    def to_the_end() -> None:
        while listener.accepted[0].recv(65_536):
            pass

    with pytest.raises(ConnectionResetError):
        to_the_end()
    connection.close()


@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_port_of_hbase_itself_is_no_thrift_server(transport: str) -> None:
    """A region server answers a connection without its preamble with an exception, and closes it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        accepted, _ = listening.accept()
        with accepted:
            accepted.recv(1)
            accepted.sendall(b"\x00\x00\x00\x3f\x91\x01" + b"\x08\xff" * 32)

    thread = threading.Thread(target=answer)
    thread.start()
    options = {"port": listening.getsockname()[1], "transport": transport, "timeout": "5s"}
    connection = Connection(HBaseSettings.model_validate(options))
    connection.open()
    with pytest.raises(StoreUnavailableError, match="does not answer as a Thrift server") as caught:
        connection.call(lambda client: client.getTableNames())
    assert "`bootstrap_servers`" in str(caught.value.hint)
    connection.close()
    thread.join(10)
    listening.close()

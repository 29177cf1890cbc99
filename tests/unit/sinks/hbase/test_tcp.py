"""TCP connections."""

import socket

import pytest

from sinks.hbase import tcp
from tests.support.waiting import reached

WAIT_S = 10.0


def test_connection_is_quiet_until_something_arrives(listener: socket.socket) -> None:
    with tcp.connected(*listener.getsockname(), WAIT_S) as live, listener.accept()[0] as peer:
        assert tcp.is_quiet(live)
        peer.sendall(b"late")
        assert reached(lambda: not tcp.is_quiet(live), WAIT_S)


def test_end_of_the_connection_is_not_quiet(listener: socket.socket) -> None:
    with tcp.connected(*listener.getsockname(), WAIT_S) as live:
        listener.accept()[0].close()
        assert reached(lambda: not tcp.is_quiet(live), WAIT_S)


def test_abort_resets_the_connection(listener: socket.socket) -> None:
    live = tcp.connected(*listener.getsockname(), WAIT_S)
    with listener.accept()[0] as peer:
        peer.settimeout(WAIT_S)
        tcp.abort(live)
        with pytest.raises(ConnectionResetError):
            peer.recv(1)
    tcp.abort(live)  # may be called twice


def test_no_server_accepts() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but not listening
        with pytest.raises(OSError, match="refused"):
            tcp.connected(*unused.getsockname(), WAIT_S)

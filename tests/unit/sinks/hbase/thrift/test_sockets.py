"""The socket tries all addresses of a server, and abort discards unsent bytes."""

import socket

import pytest
from thriftpy2.transport import TTransportException

from sinks.hbase.thrift.sockets import Socket


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[socket.AddressFamily, tuple]) -> None:
    found = [(family, socket.SOCK_STREAM, 0, "", address) for family, address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: found)


def connected(port: int, timeout_s: float = 10.0) -> Socket:
    made = Socket("hbase.test", port, timeout_s)
    made.open()
    return made


def test_second_address_of_a_name(monkeypatch, listener):
    host, port = listener.getsockname()
    with socket.socket() as unused:
        unused.bind((host, 0))  # bound, but not listening
        resolve_to(monkeypatch, (socket.AF_INET, unused.getsockname()), (socket.AF_INET, (host, port)))
        made = connected(port)
    with listener.accept()[0] as peer:
        made.write(b"here")
        assert peer.recv(4) == b"here"
    made.close()


def test_ipv6_address_is_connected(monkeypatch):
    with socket.socket(socket.AF_INET6) as server:
        try:
            server.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        server.listen()
        resolve_to(monkeypatch, (socket.AF_INET6, server.getsockname()))
        connected(server.getsockname()[1]).close()


def test_name_is_resolved_at_every_open(monkeypatch, listener):
    with socket.create_server(("127.0.0.1", 0)) as other:
        resolve_to(monkeypatch, (socket.AF_INET, listener.getsockname()))
        made = connected(9090)
        made.close()
        resolve_to(monkeypatch, (socket.AF_INET, other.getsockname()))
        made.open()
        with other.accept()[0] as peer:
            made.write(b"moved")
            assert peer.recv(5) == b"moved"
        made.close()


def test_no_address_accepts_a_connection(monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        resolve_to(monkeypatch, (socket.AF_INET, unused.getsockname()))
        with pytest.raises(TTransportException, match=r"hbase\.test") as caught:
            connected(9090)
    assert caught.value.type == TTransportException.NOT_OPEN


def test_abort_discards_unsent_bytes(monkeypatch, listener):
    """The peer reads only after the abort, as when a network is blocked for a while."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    resolve_to(monkeypatch, (socket.AF_INET, listener.getsockname()))
    made = connected(9090, 0.3)
    call = b"x" * 200_000
    with listener.accept()[0] as peer:
        made.write(call)
        with pytest.raises(TimeoutError):
            made.read(1)
        made.abort()
        peer.settimeout(listener.gettimeout())
        arrived, was_reset = all_of(peer)
    assert was_reset
    assert arrived < len(call)


def all_of(peer: socket.socket) -> tuple[int, bool]:
    """Number of bytes received, and whether the connection ends with a reset."""
    arrived = 0
    try:
        while part := peer.recv(65_536):
            arrived += len(part)
    except ConnectionResetError:
        return arrived, True
    return arrived, False

"""Answers of a broken or malicious Thrift server: what they may make this process allocate."""

import contextlib
import socket
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import sinks.hbase.thrift.sockets as module
from ingest.api import StoreUnavailableError
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.connection import Connection

MIB = 1 << 20
WAIT_S = 10.0
GETS = {"binary": b"\x80\x01\x00\x02\x00\x00\x00\x06getRow\x00\x00\x00\x00", "compact": b"\x82\x41\x00\x06getRow"}
"""The start of the answer to `getRow`."""


def announced(protocol: str, transport: str, size: int) -> bytes:
    """The start of an answer: a row whose key has this many bytes."""
    if transport == "framed":
        return struct.pack("!i", size)
    if protocol == "binary":
        row = b"\x0f\x00\x00\x0c\x00\x00\x00\x01" + b"\x0b\x00\x01" + struct.pack("!i", size)
        return GETS[protocol] + row
    length = bytes([size >> shift & 0x7F | 0x80 for shift in (0, 7, 14, 21)]) + bytes([size >> 28])
    # field 0 with its number in full, a list of one struct, whose field 1 is text
    return GETS[protocol] + b"\x09\x00\x1c" + b"\x18" + length


@contextmanager
def answering(start: bytes, then: bytes = b"") -> Iterator[int]:
    """A server that answers the first call with `start`, and with `then` for ever; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                client, _ = server.accept()
                with client:
                    client.settimeout(WAIT_S)
                    client.recv(65_536)
                    client.sendall(start)
                    while then:
                        client.sendall(then)
                    client.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(WAIT_S)
            assert not thread.is_alive()


def peak_of_a_get(port: int, protocol: str = "binary", transport: str = "buffered") -> int:
    """The most bytes that Python has allocated during a get, which fails."""
    options = {"host": "127.0.0.1", "port": port, "protocol": protocol, "transport": transport, "timeout": "10s"}
    connection = Connection(HBaseSettings.model_validate(options))
    connection.open()
    tracemalloc.start()
    try:
        with pytest.raises(StoreUnavailableError):
            connection.call(lambda client: client.getRow(b"t", b"r", {}), table="t")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        connection.close()


@pytest.mark.parametrize("size", [300 * MIB, 2**31 - 8192, 2**31 - 1])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_announced_length_is_not_allocated(protocol: str, transport: str, size: int) -> None:
    with answering(announced(protocol, transport, size)) as port:
        assert peak_of_a_get(port, protocol, transport) < 8 * MIB


@pytest.mark.parametrize("size", [-1, -(2**31)])
@pytest.mark.parametrize("transport", ["buffered", "framed"])
def test_negative_length_is_an_error(transport: str, size: int) -> None:
    with answering(announced("binary", transport, size), b"\0" * 1024) as port:
        assert peak_of_a_get(port, "binary", transport) < 8 * MIB


def test_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of 2³¹ rows, each with a text of 64 KiB."""
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 4 * MIB)
    start = GETS["binary"] + b"\x0f\x00\x00\x0c\x7f\xff\xff\xff"
    row = b"\x0b\x00\x01" + struct.pack("!i", 65_536) + bytes(65_536) + b"\x00"
    with answering(start, row) as port:
        assert peak_of_a_get(port) < 16 * MIB


def test_limit_holds_for_one_answer_not_for_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 10_000)
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = module.Socket("127.0.0.1", server.getsockname()[1], WAIT_S)
        made.open()
        with server.accept()[0] as peer:
            for _ in range(5):
                made.write(b"call")
                peer.sendall(bytes(4_000))
                received = 0
                while received < 4_000:
                    received += len(made.read(10_000))
        made.close()

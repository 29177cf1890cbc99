"""A ZooKeeper server in this process, as far as a client needs it that reads a znode."""

import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

_CONNECTED = struct.pack(">iiq", 0, 10_000, 7) + struct.pack(">i", 16) + bytes(16) + b"\0"
_GET, _PING, _CLOSE = 4, 11, -11
_NO_NODE = -101
_STAT = bytes(68)


@contextmanager
def serving_zookeeper(znodes: Mapping[str, bytes]) -> Iterator[tuple[str, int]]:
    """
    Serve znodes at loopback.

    Yields:
        Host and port.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threads.append(threading.Thread(target=_serve, args=(connection, znodes)))
                    threads[-1].start()

        acceptor = threading.Thread(target=accept)
        acceptor.start()
        try:
            yield server.getsockname()
        finally:
            server.shutdown(socket.SHUT_RDWR)
            acceptor.join()
            for thread in threads:
                thread.join()


def _serve(connection: socket.socket, znodes: Mapping[str, bytes]) -> None:
    with connection, suppress(OSError, struct.error):
        _read(connection)  # ConnectRequest
        _send(connection, _CONNECTED)
        while True:
            request = _read(connection)
            xid, kind = struct.unpack_from(">ii", request)
            if kind == _GET:
                (size,) = struct.unpack_from(">i", request, 8)
                content = znodes.get(request[12 : 12 + size].decode())
                error = _NO_NODE if content is None else 0
                body = b"" if content is None else struct.pack(">i", len(content)) + content + _STAT
                _send(connection, struct.pack(">iqi", xid, 1, error) + body)
            else:
                _send(connection, struct.pack(">iqi", xid, 1, 0))
                if kind == _CLOSE:
                    return


def _read(connection: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionError
        found += part
    return found


def _send(connection: socket.socket, content: bytes) -> None:
    connection.sendall(struct.pack(">i", len(content)) + content)


def znode(message: bytes, writer: bytes = b"master:16000") -> bytes:
    """The content of a znode of HBase."""
    return b"\xff" + struct.pack(">i", len(writer)) + writer + b"PBUF" + message

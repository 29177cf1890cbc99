"""A server that speaks the frames of HBase's protocol, and answers as a test says."""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

from sinks.hbase.protobuf import Message, data, delimited, number, varint
from sinks.hbase.rpc.stream import Address


class Request(NamedTuple):
    """A call that the server received."""

    call_id: int
    service: str
    method: str
    timeout_ms: int
    parameter: bytes
    cells: bytes

    def answer(self, message: bytes = b"", cells: bytes = b"") -> bytes:
        """The frame of an answer."""
        header = number(1, self.call_id) + (data(3, number(1, len(cells))) if cells else b"")
        return framed(varint(len(header)) + header + varint(len(message)) + message + cells)

    def failure(self, name: str, text: str = "") -> bytes:
        """The frame of an exception."""
        header = number(1, self.call_id) + data(2, data(1, name.encode()) + data(2, text.encode()))
        return framed(varint(len(header)) + header)


Answers = Callable[[Request], bytes | None]
"""What is sent after a request: frames, b"" for nothing; None closes the connection."""


def echo(request: Request) -> bytes:
    """The parameter and the cells of a call as its answer."""
    return request.answer(request.parameter, request.cells)


def soon(seconds: float = 10.0) -> float:
    """A deadline in so many seconds."""
    return time.monotonic() + seconds


def framed(content: bytes) -> bytes:
    """Bytes with their length."""
    return struct.pack(">I", len(content)) + content


class Peer(Protocol):
    """The server's end of a connection."""

    def recv(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end of the connection."""

    def sendall(self, content: bytes, /) -> None:
        """Send all bytes."""


class RpcServer:
    """
    Serves any number of connections, each in a thread.

    Args:
        answer: of each request.
        tls: for TLS; None for connections without it.
        log_in: runs the login of a connection after its preamble, and returns the socket for all that follows; None
            for connections without authentication.

    Attributes:
        headers: the ConnectionHeader of each connection.
        requests: all that were received.
    """

    def __init__(
        self,
        answer: Answers,
        tls: ssl.SSLContext | None = None,
        log_in: "Callable[[socket.socket], Peer] | None" = None,
    ) -> None:
        self._answer = answer
        self._tls = tls
        self._log_in = log_in
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._accepted: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.address = Address("127.0.0.1", self._listening.getsockname()[1])
        self.headers: list[Message] = []
        self.requests: list[Request] = []
        self._start(self._accept)

    def close(self) -> None:
        """End all connections and threads."""
        for each in (self._listening, *self._accepted):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listening.accept()
            except OSError:
                return
            self._accepted.append(accepted)
            self._start(lambda accepted=accepted: self._serve(accepted))  # type: ignore[misc]

    def _serve(self, accepted: socket.socket) -> None:
        try:
            if self._tls is not None:
                accepted = self._tls.wrap_socket(accepted, server_side=True)
                self._accepted.append(accepted)
            if exactly(accepted, 6) != (b"HBas\x00\x50" if self._log_in is None else b"HBas\x00\x51"):
                raise ConnectionResetError
            peer: Peer = accepted if self._log_in is None else self._log_in(accepted)
            header = Message(frame(peer))
            self.headers.append(header)
            while True:
                request = _request(header.text(2), frame(peer))
                self.requests.append(request)
                answer = self._answer(request)
                if answer is None:
                    break
                peer.sendall(answer)
        except OSError:
            pass
        accepted.close()


class RpcServers:
    """Starts servers, and ends them with the test: `server = serve(answer)`."""

    def __init__(self) -> None:
        self._started: list[RpcServer] = []

    def __call__(
        self,
        answer: Answers = echo,
        *,
        tls: ssl.SSLContext | None = None,
        log_in: "Callable[[socket.socket], Peer] | None" = None,
    ) -> RpcServer:
        """A new server, with the arguments of `RpcServer`."""
        self._started.append(RpcServer(answer, tls, log_in))
        return self._started[-1]

    def close(self) -> None:
        """End all of them."""
        for server in self._started:
            server.close()


def _request(service: str, content: bytes) -> Request:
    head, at = delimited(content, 0)
    header = Message(head)
    parameter, at = delimited(content, at)
    cells = content[at:]
    assert len(cells) == header.message(5).number(1)
    return Request(header.number(1), service, header.text(3), header.number(7), parameter, cells)


def frame(source: "Peer") -> bytes:
    """Bytes that come with their length."""
    (size,) = struct.unpack(">I", exactly(source, 4))
    return exactly(source, size)


def exactly(source: "Peer", size: int) -> bytes:
    """So many bytes."""
    found = b""
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found

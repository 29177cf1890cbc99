"""A server that speaks the frames of HBase's protocol, and answers as a test says."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import NamedTuple

from sinks.hbase.rpc.connection import Address
from sinks.hbase.rpc.wire import Message, data, delimited, number, varint


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


def framed(content: bytes) -> bytes:
    """Bytes with their length."""
    return struct.pack(">I", len(content)) + content


class RpcServer:
    """
    Serves any number of connections, each in a thread.

    Args:
        answer: returns what is sent after a request: frames, b"" for nothing; None closes the connection.

    Attributes:
        headers: the ConnectionHeader of each connection.
        requests: all that were received.
    """

    def __init__(self, answer: Callable[[Request], bytes | None]) -> None:
        self._answer = answer
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
            assert _exactly(accepted, 6) == b"HBas\x00\x50"
            header = Message(_frame(accepted))
            self.headers.append(header)
            while True:
                request = _request(header.text(2), _frame(accepted))
                self.requests.append(request)
                answer = self._answer(request)
                if answer is None:
                    break
                accepted.sendall(answer)
        except OSError:
            pass
        accepted.close()


def _request(service: str, frame: bytes) -> Request:
    head, at = delimited(frame, 0)
    header = Message(head)
    parameter, at = delimited(frame, at)
    cells = frame[at:]
    assert len(cells) == header.message(5).number(1)
    return Request(header.number(1), service, header.text(3), header.number(7), parameter, cells)


def _frame(source: socket.socket) -> bytes:
    (size,) = struct.unpack(">I", _exactly(source, 4))
    return _exactly(source, size)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found

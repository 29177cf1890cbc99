"""The socket under a Thrift connection."""

import contextlib
import select
import socket
import struct

from thriftpy2.transport import TSocket, TTransportException

_CONNECT_S = 10.0
"""A running machine accepts a connection at once."""
MAX_ANSWER_BYTES = 256 << 20
"""
Of the answer to one call. A page of a scan takes a few megabytes, so an answer beyond this comes from a broken server.

A length in an answer has no other limit: the Thrift library would allocate as many bytes as the server announces.
"""
_NO_LINGER = struct.pack("ii", 1, 0)
"""Linger for no time: unsent bytes are discarded, and the peer gets a reset."""


class Socket(TSocket):
    """
    Connects to any address of a host, IPv4 or IPv6; thriftpy2's socket tries only the first IPv4 address.

    The name is resolved at every open, so a server that moved is found again.

    Args:
        timeout_s: maximum wait for an answer; the wait for a connection is shorter.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        timeout_ms, connect_ms = (max(1, int(seconds * 1000)) for seconds in (timeout_s, min(timeout_s, _CONNECT_S)))
        super().__init__(host=host, port=port, socket_timeout=timeout_ms, connect_timeout=connect_ms)  # type: ignore[no-untyped-call]
        self._answer_bytes = 0

    def open(self) -> None:
        """
        Connect.

        Raises:
            TTransportException: no address accepts a connection.
        """
        try:
            self.sock = socket.create_connection((self.host, self.port), self.connect_timeout)
        except OSError as error:
            raise TTransportException(
                type=TTransportException.NOT_OPEN, message=f"no connection to {self.host}:{self.port}: {error}"
            ) from error
        self.sock.settimeout(self.socket_timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def write(self, buf: bytes) -> None:
        """Send a call; what arrives until the next one is its answer."""
        self._answer_bytes = 0
        super().write(buf)  # type: ignore[no-untyped-call]

    def read(self, sz: int) -> bytes:
        """
        Some of the next bytes.

        Args:
            sz: maximum number; a length that the server announced, or that of a buffer.

        Raises:
            TTransportException: the connection has ended, or the answer is too large.
            OSError: the connection broke, or nothing arrived in time.
        """
        if sz > MAX_ANSWER_BYTES or self._answer_bytes > MAX_ANSWER_BYTES:
            raise TTransportException(message=f"an answer has more than {MAX_ANSWER_BYTES >> 20} MiB")
        received: bytes = super().read(sz)  # type: ignore[no-untyped-call]
        self._answer_bytes += len(received)
        return received

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived since the last answer: neither a late answer nor the end of the connection."""
        if self.sock is None:
            return False
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        """
        Close the connection and discard unsent bytes.

        After a time-out a part of the call may still be in the send buffer. A normal close would deliver it once the
        network recovers, and the server would execute it after later calls.
        """
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            with contextlib.suppress(OSError):
                self.sock.close()
            self.sock = None

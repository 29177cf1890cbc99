"""The socket under a Thrift connection."""

import contextlib
import select
import socket
import struct

from thriftpy2.transport import TSocket, TTransportException

_CONNECT_S = 10.0
"""A machine that is there answers at once; waiting as long as for a call would only hide that none is."""
_AT_ONCE = struct.pack("ii", 1, 0)
"""Linger for no time: what is unsent is thrown away, and the peer is told that the connection broke."""


class Socket(TSocket):
    """
    Reaches a host by any of its addresses, old or new kind; the driver's own takes the first of the old kind.

    The name is looked up at every opening, so a server that moved is found again.

    Args:
        timeout_s: longest wait for an answer; a connection is waited for less.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        timeout_ms, connect_ms = (max(1, int(seconds * 1000)) for seconds in (timeout_s, min(timeout_s, _CONNECT_S)))
        super().__init__(host=host, port=port, socket_timeout=timeout_ms, connect_timeout=connect_ms)  # type: ignore[no-untyped-call]

    def open(self) -> None:
        """
        Connect.

        Raises:
            TTransportException: none of the addresses answers.
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

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer: the end of the connection would have, or a late answer."""
        if self.sock is None:
            return False
        waiting = select.poll()
        waiting.register(self.sock, select.POLLIN)
        return not waiting.poll(0)

    def abort(self) -> None:
        """
        Close, and send nothing more.

        After a time-out a part of the call may still wait here for its way to the server. Closed properly it would
        arrive once the way is free, and be carried out after calls that were made later.
        """
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            with contextlib.suppress(OSError):
                self.sock.close()
            self.sock = None

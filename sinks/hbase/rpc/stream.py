"""Bytes to and from one server, each operation with a deadline."""

import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import NamedTuple

from sinks.hbase import tcp
from sinks.hbase.rpc.errors import ConnectionLostError

_RECEIVED_BYTES = 1 << 20
"""Maximum size of one read from the socket."""
_IS_IT_UP = "check that the servers run, their names and ports, and firewalls"
_NO_TLS = (
    "the server answers without TLS: set `hbase.server.netty.tls.enabled` of the cluster (HBase 2.6), or remove "
    "security: {tls} of the store"
)


class Address(NamedTuple):
    """Host and port of a server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Stream:
    """
    A TCP connection, with or without TLS. After a `ConnectionLostError` it is closed.

    Args:
        address: of the server; the name is resolved when the connection is opened.
        tls: for TLS; None for a connection without it.
        clock: in seconds; deadlines are times of it.
    """

    def __init__(self, address: Address, tls: ssl.SSLContext | None, clock: Callable[[], float]) -> None:
        self.address = address
        self._tls = tls
        self._clock = clock
        self._socket: socket.socket | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was opened and neither closed nor lost."""
        return self._socket is not None

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived: neither bytes nor the end of the connection."""
        return self._socket is not None and tcp.is_quiet(self._socket)

    def open(self, deadline_s: float) -> None:
        """
        Connect.

        Raises:
            ConnectionLostError: the server cannot be reached, or its certificate is not valid.
        """
        try:
            self._socket = tcp.connected(*self.address, self.left_s(deadline_s))
        except (OSError, OverflowError, ValueError) as error:  # the last two: a damaged answer named the server
            self.abort()
            raise ConnectionLostError(f"no server can be reached at {self.address}: {error}", hint=_IS_IT_UP) from error
        if self._tls is None:
            return
        try:
            self._socket = self._tls.wrap_socket(self._socket, server_hostname=self.address.host)
        except OSError as error:
            self.abort()
            hint = _NO_TLS if getattr(error, "reason", "") == "WRONG_VERSION_NUMBER" else None
            raise ConnectionLostError(f"no TLS connection to {self.address}: {error}", hint=hint) from error

    def close(self) -> None:
        """Close the connection; may be called twice or without open."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    def abort(self) -> None:
        """Close the connection and discard unsent bytes."""
        if self._socket is not None:
            tcp.abort(self._socket)
            self._socket = None

    def send(self, parts: list[bytes], deadline_s: float) -> None:
        """
        Send all bytes of some parts.

        Raises:
            ConnectionLostError: some may have been sent.
        """
        live = self._live()
        # TLS encrypts one part at a time; without it the parts are sent without a copy
        joined = parts if self._tls is None else [b"".join(parts)]
        views = [memoryview(part) for part in joined if part]
        try:
            while views:
                live.settimeout(self.left_s(deadline_s))
                sent = live.sendmsg(views) if self._tls is None else live.send(views[0])
                while views and sent >= len(views[0]):
                    sent -= len(views.pop(0))
                if sent:
                    views[0] = views[0][sent:]
        except OSError as error:
            raise self._lost(error) from error
        except BaseException:
            self.abort()  # interrupted within a call
            raise

    def receive(self, size: int, deadline_s: float) -> bytes:
        """
        The next bytes; memory grows as they arrive.

        Raises:
            ConnectionLostError: so many have not arrived.
        """
        live = self._live()
        parts: list[bytes] = []
        missing = size
        try:
            while missing:
                live.settimeout(self.left_s(deadline_s))
                part = live.recv(min(missing, _RECEIVED_BYTES))
                parts.append(part)
                missing -= len(part) or missing
        except OSError as error:
            raise self._lost(error) from error
        except BaseException:
            self.abort()  # interrupted within an answer
            raise
        if parts and not parts[-1]:
            raise self._lost(ConnectionResetError("the server closed it"))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def left_s(self, deadline_s: float) -> float:
        """The time before a deadline; at least a millisecond, as a time-out of 0 would not wait at all."""
        return max(0.001, deadline_s - self._clock())

    def _live(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionLostError(f"the connection to {self.address} is closed")
        return self._socket

    def _lost(self, error: OSError) -> ConnectionLostError:
        self.abort()
        if isinstance(error, TimeoutError):
            return ConnectionLostError(f"no answer from {self.address} in time; the call may still execute")
        return ConnectionLostError(f"the connection to {self.address} broke: {error}")

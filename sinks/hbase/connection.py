"""How the Thrift server is reached: one connection, always with a time-out, made anew when it is broken or stale."""

import contextlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TClient
from thriftpy2.transport import TBufferedTransport, TFramedTransport

from ingest.api import LifecycleError
from sinks.hbase.errors import CONNECTION_ERRORS, DRIVER_ERRORS, translated
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.sockets import Socket
from sinks.hbase.thrift1 import Hbase, happybase

T = TypeVar("T")

THRIFT_TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}
THRIFT_PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}

MAX_IDLE_S = 50.0
"""
The server closes a connection that was silent for 60 s, and the call that follows would fail.

Where it closes earlier that is seen before the call, but not where something on the way forgets the connection.
"""


class Client(TClient):
    """A Thrift client that also takes a message made elsewhere."""

    def send(self, method: str, message: bytes) -> Any:
        """
        The answer to a call.

        Args:
            method: what the message calls.
            message: numbered 0, like all of this client's.
        """
        self.write(message)
        return self._recv(method)

    def write(self, message: bytes) -> None:
        """Send, and read no answer."""
        transport = self._oprot.trans
        transport.write(message)
        transport.flush()


class _ThriftConnection(happybase.Connection):  # type: ignore[misc]  # untyped
    """happybase's connection, with our client and socket."""

    def _refresh_thrift_client(self) -> None:
        self.socket = Socket(self.host, self.port, self.timeout / 1000)
        self.transport = self._transport_class(self.socket)
        protocol = self._protocol_class(self.transport, decode_response=False)
        self.client = Client(Hbase, protocol)


class Connection:
    """
    The way to one Thrift server.

    Called by one thread. A call that breaks the connection drops it; the next one connects again. Nothing is repeated
    here: whether a call may be is for the caller to know.
    """

    def __init__(self, settings: HBaseSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.where = f"{settings.host}:{settings.port}"
        self._settings = settings
        self._clock = clock
        self._connection: _ThriftConnection | None = None
        self._used_s = 0.0
        self._is_open = False
        self._has_answered = False

    def open(self) -> None:
        """
        Connect.

        Raises:
            StoreUnavailableError: nobody is there.
        """
        self._is_open = True
        self._live()

    def close(self) -> None:
        """Let go; fine to call twice or without open."""
        self._is_open = False
        self._drop()

    def call(self, ask: Callable[[Any], T], *, table: str | None = None) -> T:
        """
        The answer of a Thrift client to a question.

        Args:
            ask: is given the `Client` of the interface `Hbase`.
            table: for messages.

        Raises:
            StoreError: what `errors` makes of the driver's.
        """
        connection = self._live()
        try:
            answer = ask(connection.client)
        except DRIVER_ERRORS as error:
            self._answered()
            raise translated(error, table=table, where=self.where) from error
        except CONNECTION_ERRORS as error:
            self._abort()
            raise translated(error, table=table, where=self.where, has_answered=self._has_answered) from error
        except BaseException:
            self._abort()  # interrupted half way: the answer to this call would be taken for that to the next
            raise
        self._answered()
        return answer

    def _answered(self) -> None:
        self._used_s = self._clock()
        self._has_answered = True

    def _live(self) -> _ThriftConnection:
        if not self._is_open:
            raise LifecycleError("the connection to HBase is used before open or after close")
        if self._connection is not None and (
            self._clock() - self._used_s > MAX_IDLE_S or not self._connection.socket.is_quiet
        ):
            self._drop()
        if self._connection is None:
            settings = self._settings
            try:
                self._connection = _ThriftConnection(
                    settings.host,
                    settings.port,
                    timeout=max(1, int(settings.timeout * 1000)),
                    transport=settings.transport.value,
                    protocol=settings.protocol.value,
                )
            except CONNECTION_ERRORS as error:
                raise translated(error, where=self.where) from error
            self._used_s = self._clock()
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(*CONNECTION_ERRORS):  # it may be broken, which is why it goes
                self._connection.close()
            self._connection = None

    def _abort(self) -> None:
        if self._connection is not None:
            self._connection.socket.abort()
        self._drop()

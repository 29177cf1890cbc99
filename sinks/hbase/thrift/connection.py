"""One connection to the Thrift server, always with a time-out, replaced when it is broken or stale."""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.thrift import TClient
from thriftpy2.transport import TBufferedTransport, TFramedTransport

from ingest.api import MAX_ROW_KEY_BYTES, IngestError, LifecycleError
from ingest.server_kinds import THRIFT, server_instead
from sinks.hbase.errors import read_error
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.errors import CONNECTION_ERRORS, DRIVER_ERRORS, UNREADABLE_ANSWERS, translated
from sinks.hbase.thrift.sockets import Socket
from sinks.hbase.thrift.thrift1 import Hbase, happybase

T = TypeVar("T")

THRIFT_TRANSPORTS = {"buffered": TBufferedTransport, "framed": TFramedTransport}
THRIFT_PROTOCOLS = {"binary": TBinaryProtocol, "compact": TCompactProtocol}

MAX_IDLE_S = 50.0
"""
The server closes a connection that was idle for 60 s, and the next call would fail.

An earlier close is detected before the call, but not if a device on the network path drops the connection.
"""


class Client(TClient):
    """A Thrift client that also sends prepared messages."""

    def send(self, method: str, message: bytes) -> Any:
        """
        Send a call and return its answer.

        Args:
            method: of the call.
            message: with sequence number 0, as all messages of this client.
        """
        self.write(message)
        return self._recv(method)

    def write(self, message: bytes) -> None:
        """Send without reading an answer."""
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
    The connection to one Thrift server.

    Called by one thread. After a connection error the next call connects again. It retries nothing: only the caller
    knows whether a call may be repeated.
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
            StoreUnavailableError: the server cannot be reached.
        """
        self._is_open = True
        self._live()

    def close(self) -> None:
        """Close the connection; may be called twice or without open."""
        self._is_open = False
        self._drop()

    def call(self, request: Callable[[Any], T], *, table: str | None = None) -> T:
        """
        The result of a call of a Thrift client.

        Args:
            request: makes the call with a `Client` of the interface `Hbase`.
            table: for messages.

        Raises:
            StoreError: as `errors` translates the error.
        """
        connection = self._live()
        try:
            answer = request(connection.client)
        except DRIVER_ERRORS as error:
            self._answered()
            raise translated(error, table=table, where=self.where) from error
        except (*CONNECTION_ERRORS, *UNREADABLE_ANSWERS) as error:
            self._abort()
            # commands begin with the list of tables; a task, whose calls name one, has no time to ask
            instead = self._server_instead if table is None else lambda: None
            raise translated(
                error, table=table, where=self.where, has_answered=self._has_answered, instead=instead
            ) from error
        except BaseException:
            self._abort()  # interrupted: the next call would read the answer to this one
            raise
        self._answered()
        return answer

    def read(self, table: str, method: str, *arguments: object) -> Any:
        """
        The result of a call that reads a table.

        Args:
            table: for messages.
            method: of the interface `Hbase`.
            arguments: of the method.

        Raises:
            NotFoundError: there is no such table.
            StoreError: as `call`, but a rejection is a refusal: no row of the caller caused it.
        """
        return self.read_with(table, lambda client: getattr(client, method)(*arguments))

    def read_with(self, table: str, request: Callable[[Any], T]) -> T:
        """The same for a request that needs the client itself, as in `call`."""
        try:
            return self.call(request, table=table)
        except IngestError as error:
            translation = read_error(error)
            if translation is error:
                raise
            raise translation from error.__cause__

    def cache_regions(self, table: str, rows: Sequence[bytes]) -> None:
        """
        Make the server cache the regions of a table if a row key is too long for its region lookup.

        The lookup key has the table, the row key and 16 more bytes, and must not be longer than a row key may be.

        Args:
            table: its name.
            rows: row keys of the next call.
        """
        name = table.encode()
        longest = MAX_ROW_KEY_BYTES - len(name) - 16
        if any(len(row) > longest for row in rows):
            self.read(table, "getTableRegions", name)

    def _server_instead(self) -> str | None:
        return server_instead(THRIFT, [(self._settings.host, self._settings.port)])

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
            with contextlib.suppress(*CONNECTION_ERRORS):  # it may be broken
                self._connection.close()
            self._connection = None

    def _abort(self) -> None:
        if self._connection is not None:
            self._connection.socket.abort()
        self._drop()

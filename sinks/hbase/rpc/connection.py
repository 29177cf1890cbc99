"""
One connection to one server of HBase, for one of its services.

Source: RPC.proto, whose first comment describes the protocol::

    client, once     "HBas", 1 byte version 0, 1 byte authentication (80: simple, 81: Kerberos)
                     with Kerberos: the login, as `sasl` describes
                     4 bytes length of the header, ConnectionHeader
    client, a call   4 bytes length of all that follows
                     varint length, RequestHeader; varint length, parameter of the method; cells, if any
    server           4 bytes length of all that follows
                     varint length, ResponseHeader; then, unless it has an exception: varint length, answer; cells

A server runs the calls of a connection in parallel, and answers them in any order. It does not answer the connection
header, unless it closes the connection. It says nothing either about a service that it lacks: it closes the connection.
"""

import ssl
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

from ingest.hadoop_user import hadoop_user
from sinks.hbase.protobuf import Message, WireError, data, delimited, flag, number, varint
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError
from sinks.hbase.rpc.protection import ProtectedStream
from sinks.hbase.rpc.sasl import Login, log_in
from sinks.hbase.rpc.stream import Address, Stream
from sinks.hbase.tcp import MAX_ANSWER_BYTES

MAX_IDLE_S = 60.0
"""A connection that was idle for longer is replaced: a device on the network path may have dropped it."""
MAX_REQUEST_BYTES = 256 << 20
"""A server closes the connection at a larger request (`hbase.ipc.max.request.size`)."""

_SIMPLE = b"HBas\x00\x50"
_KERBEROS = b"HBas\x00\x51"
_CODEC = b"org.apache.hadoop.hbase.codec.KeyValueCodec"
_VERSION = b"".join(data(field, value) for field, value in enumerate((b"2.6.0", b"", b"", b"", b"", b""), 1)) + (
    number(7, 2) + number(8, 6)
)
"""
VersionInfo of HBase.proto: the version of HBase whose protocol this is.

To a client that does not say it, a server answers as to one of HBase 0.98: a `Get` without a block of cells, and other
exceptions for an overloaded server.
"""
_POST_S = 1.0
"""For a call whose answer is not awaited; sending it takes no time unless the server is stuck."""


class Answer(NamedTuple):
    """
    The answer to a call.

    Attributes:
        message: as the method says.
        cells: a block of cells; empty without one.
    """

    message: bytes
    cells: bytes


class Connection:
    """
    A connection; called by one thread. After a `ConnectionLostError` it is closed.

    Args:
        address: of the server.
        service: of the server, as in its proto file: ClientService, MasterService, ClientMetaService.
        tls: for TLS; None for a connection without it.
        login: with Kerberos; None for a connection without authentication.
        clock: in seconds; deadlines are times of it.
    """

    def __init__(
        self,
        address: Address,
        service: str,
        *,
        tls: ssl.SSLContext | None = None,
        login: Login | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self._service = service
        self._clock = clock
        self._login = login
        self._socket = Stream(address, tls, clock)
        self._stream: Stream | ProtectedStream = self._socket
        self._last_id = 0
        self._awaited: set[int] = set()
        self._abandoned: set[int] = set()
        self._early: dict[int, bytes] = {}
        self._used_s = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether a call can be sent: it is open, not idle for long, and the server has not closed it."""
        if not self._stream.is_open or self._clock() - self._used_s > MAX_IDLE_S:
            return False
        # what has arrived may be the answer to a call that is in flight, or to a posted one
        return bool(self._awaited or self._abandoned) or self._stream.is_quiet

    def open(self, deadline_s: float) -> None:
        """
        Connect, log in, and send the connection header.

        Raises:
            ConnectionLostError: the server cannot be reached.
            LoginError: the server refuses the login.
            StoreUnavailableError: no KDC answers.
        """
        self._socket.open(deadline_s)
        header = data(2, self._service.encode()) + data(3, _CODEC) + data(5, _VERSION)
        first = []
        if self._login is None:
            first = [_SIMPLE]
            header = data(1, data(1, hadoop_user().encode())) + header
        else:
            # without a user in the header, the principal makes the calls
            self._socket.send([_KERBEROS], deadline_s)
            self._stream = log_in(self._socket, self._login, deadline_s)
        self._stream.send([*first, struct.pack(">I", len(header)), header], deadline_s)
        self._used_s = self._clock()

    def close(self) -> None:
        """Close the connection; may be called twice or without open."""
        self._stream.close()

    def abort(self) -> None:
        """Close the connection and discard unsent bytes."""
        self._stream.abort()

    def call(self, method: str, parameter: bytes, deadline_s: float) -> Answer:
        """
        The answer to a call.

        Raises:
            RemoteError: the server answered with an exception.
            ConnectionLostError: there is no answer, and the call may still be executed.
        """
        return self.receive(self.send(method, parameter, b"", deadline_s), deadline_s)

    def send(self, method: str, parameter: bytes, cells: bytes, deadline_s: float) -> int:
        """
        Send a call.

        Args:
            method: of the service.
            parameter: its message.
            cells: a block of cells, or nothing.
            deadline_s: the server drops a call that has waited for longer.

        Returns:
            The id of the call, for `receive`.

        Raises:
            ConnectionLostError: the call may have been sent in part.
        """
        self._last_id += 1
        header = number(1, self._last_id) + data(3, method.encode()) + flag(4)
        if cells:
            header += data(5, number(1, len(cells)))
        header += number(7, max(1, int(self._stream.left_s(deadline_s) * 1000)))
        head = varint(len(header)) + header + varint(len(parameter))
        size = len(head) + len(parameter) + len(cells)
        if size > MAX_REQUEST_BYTES:
            raise ValueError(f"a call of {size} bytes")
        self._stream.send([struct.pack(">I", size), head, parameter, cells], deadline_s)
        self._used_s = self._clock()
        self._awaited.add(self._last_id)
        return self._last_id

    def post(self, method: str, parameter: bytes) -> None:
        """
        Send a call, and discard its answer when it arrives.

        Raises:
            ConnectionLostError: the call may have been sent in part.
        """
        call_id = self.send(method, parameter, b"", self._clock() + _POST_S)
        self._awaited.remove(call_id)
        self._abandoned.add(call_id)

    def receive(self, call_id: int, deadline_s: float) -> Answer:
        """
        The answer to a call; on the way, answers to other calls are kept, and those to posted calls discarded.

        Raises:
            RemoteError: the server answered with an exception.
            ConnectionLostError: there is no answer, and the call may still be executed.
        """
        while True:
            try:
                frame = self._early.pop(call_id, b"") or self._frame(deadline_s)
                head, at = delimited(frame, 0)
                header = Message(head)
                answered = header.number(1)
                if answered == call_id:
                    self._awaited.discard(call_id)
                    return self._answer(header, frame, at)
                if answered in self._awaited:
                    self._early[answered] = frame
                elif answered in self._abandoned:
                    self._abandoned.remove(answered)
                elif header.has(2):
                    # an exception about the connection, as about a login that the server requires, has no call
                    failure = _remote_error(header.message(2))
                    self._stream.abort()
                    raise failure
                else:
                    raise WireError(f"an answer to call {answered}, which was not sent")  # noqa: TRY301 - as others
            except WireError as error:
                self._stream.abort()
                raise ConnectionLostError(f"{self.address} does not answer as a server of HBase: {error}") from error

    def _answer(self, header: Message, frame: bytes, at: int) -> Answer:
        self._used_s = self._clock()
        if header.has(2):
            raise _remote_error(header.message(2))
        message, at = delimited(frame, at)
        size = header.message(3).number(1) if header.has(3) else 0
        if size > len(frame) - at:
            raise WireError(f"{size} bytes of cells at byte {at} of {len(frame)}")
        return Answer(message, frame[at : at + size])

    def _frame(self, deadline_s: float) -> bytes:
        (size,) = struct.unpack(">I", self._stream.receive(4, deadline_s))
        if size > MAX_ANSWER_BYTES:
            raise WireError(f"an answer of {size} bytes; at most {MAX_ANSWER_BYTES >> 20} MiB are read")
        return self._stream.receive(size, deadline_s)


def _remote_error(exception: Message) -> RemoteError:
    """An ExceptionResponse of RPC.proto."""
    return RemoteError(exception.text(1), exception.text(2), is_overloaded=exception.flag(6))

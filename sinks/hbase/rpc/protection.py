"""
Protection of a connection after the login with Kerberos.

Sources: RFC 4752; `SaslWrapHandler` and `SaslUnwrapHandler` of HBase 2.6. Both sides wrap all bytes::

    4 bytes length, wrapped message

A frame may be in several of them. HBase's servers ignore the longest message that the client accepts.
"""

import struct
from typing import Protocol

from sinks.hbase.rpc.errors import ConnectionLostError
from sinks.hbase.rpc.stream import Stream

_INT = struct.Struct(">i")
_MAX_WRAPPED_BYTES = (256 << 20) + (64 << 10)
"""The largest answer that a connection reads, and the additions of Kerberos."""


class ProtectionError(Exception):
    """A message cannot be wrapped, or was changed on its way."""


class SecurityContext(Protocol):
    """The client's side of a login, and then its protection; a context of GSSAPI."""

    @property
    def is_established(self) -> bool:
        """Whether both sides have authenticated themselves."""

    def step(self, token: bytes) -> bytes:
        """
        The next token for the server; empty if it needs none.

        Args:
            token: of the server; empty for the first step.

        Raises:
            LoginError: the server is not the expected one, or there is no ticket for it.
            StoreUnavailableError: no KDC answers.
        """

    def wrap(self, message: bytes, *, encrypt: bool) -> bytes:
        """
        A message with a checksum, encrypted on request.

        Raises:
            ProtectionError: it cannot be wrapped.
        """

    def unwrap(self, wrapped: bytes) -> tuple[bytes, bool]:
        """
        A message of the server, and whether it was encrypted.

        Raises:
            ProtectionError: it was changed.
        """

    def max_message(self, wrapped_bytes: int, *, encrypt: bool) -> int:
        """Size of the longest message that is not longer than this when it is wrapped."""


class ProtectedStream:
    """
    A stream whose bytes are wrapped. After a `ConnectionLostError` it is closed.

    Args:
        stream: to the server.
        context: established.
        encrypt: whether both sides must encrypt.
        max_message: size of the longest message that is wrapped.
    """

    def __init__(self, stream: Stream, context: SecurityContext, *, encrypt: bool, max_message: int) -> None:
        self._stream = stream
        self._context = context
        self._encrypt = encrypt
        self._max_message = max_message
        self._received = bytearray()

    @property
    def is_open(self) -> bool:
        """Whether it was neither closed nor lost."""
        return self._stream.is_open

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has arrived: neither bytes nor the end of the connection."""
        return not self._received and self._stream.is_quiet

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._stream.close()

    def abort(self) -> None:
        """Close the connection and discard unsent bytes."""
        self._stream.abort()

    def left_s(self, deadline_s: float) -> float:
        """As `Stream.left_s`."""
        return self._stream.left_s(deadline_s)

    def send(self, parts: list[bytes], deadline_s: float) -> None:
        """
        Send all bytes of some parts.

        Raises:
            ConnectionLostError: some may have been sent.
        """
        plain = b"".join(parts)
        size = self._max_message
        try:
            wrapped = [
                self._context.wrap(plain[begin : begin + size], encrypt=self._encrypt)
                for begin in range(0, len(plain), size)
            ]
            content = b"".join(part for message in wrapped for part in (_INT.pack(len(message)), message))
            self._stream.send([content], deadline_s)
        except ProtectionError as error:
            raise self._broken(error) from error
        except BaseException:
            self.abort()  # interrupted after a message was numbered
            raise

    def receive(self, size: int, deadline_s: float) -> bytes:
        """
        The next bytes.

        Raises:
            ConnectionLostError: so many have not arrived, or they were changed on their way.
        """
        try:
            while len(self._received) < size:
                self._received += self._message(deadline_s)
        except ProtectionError as error:
            raise self._broken(error) from error
        except BaseException:
            self.abort()  # interrupted after a part of a frame
            raise
        with memoryview(self._received) as received:
            found = bytes(received[:size])
        del self._received[:size]
        return found

    def _message(self, deadline_s: float) -> bytes:
        (size,) = _INT.unpack(self._stream.receive(_INT.size, deadline_s))
        if not 0 <= size <= _MAX_WRAPPED_BYTES:
            raise ProtectionError(f"a wrapped message of {size} bytes")
        message, is_encrypted = self._context.unwrap(self._stream.receive(size, deadline_s))
        if self._encrypt and not is_encrypted:
            raise ProtectionError("a message that is not encrypted")
        return message

    def _broken(self, error: ProtectionError) -> ConnectionLostError:
        self.abort()
        return ConnectionLostError(f"the connection to {self._stream.address} is not protected any more: {error}")

"""Security contexts without Kerberos: both ends of a login and its protection, for servers in the process of a test."""

import hashlib
import socket
import struct
from collections.abc import Callable, Sequence

from ingest.api import StoreError
from sinks.hbase.rpc.protection import ProtectionError
from sinks.hbase.rpc.sasl import Login
from sinks.hbase.rpc.stream import Address
from sinks.hbase.security import Qop
from tests.support.rpc_server import frame, framed

PRINCIPAL = "hbase/localhost@EXAMPLE.ORG"
BITS = {Qop.AUTH: 1, Qop.AUTH_INT: 2, Qop.AUTH_CONF: 4}
_CHECKSUM_BYTES = 4
_OVERHEAD = 1 + 4 + _CHECKSUM_BYTES


class XorContext:
    """
    One end of a context: an established one protects messages by a number, a checksum and, as encryption, XOR.

    Args:
        tokens: that this end expects of the other one.
        answers: its own tokens, one more at the client.
        failure: raised by the last step in place of a token.
    """

    def __init__(
        self,
        tokens: Sequence[bytes] = (b"", b"AP-REP"),
        answers: Sequence[bytes] = (b"AP-REQ", b""),
        failure: StoreError | None = None,
    ) -> None:
        self._expected = list(tokens)
        self._answers = list(answers)
        self._failure = failure
        self._sent = self._received = 0
        self.is_established = False
        self.wrapped: list[tuple[int, bool]] = []

    def step(self, token: bytes) -> bytes:
        """The next token."""
        assert token == self._expected.pop(0)
        self.is_established = not self._expected
        if self.is_established and self._failure is not None:
            raise self._failure
        return self._answers.pop(0)

    def wrap(self, message: bytes, *, encrypt: bool) -> bytes:
        """A message with a number and a checksum."""
        assert self.is_established
        self.wrapped.append((len(message), encrypt))
        head = bytes([encrypt]) + struct.pack(">I", self._sent)
        self._sent += 1
        return head + _checksum(head + message) + (_xor(message) if encrypt else message)

    def unwrap(self, wrapped: bytes) -> tuple[bytes, bool]:
        """The message, if it is the next one and unchanged."""
        assert self.is_established
        head, checksum, message = wrapped[:5], wrapped[5:_OVERHEAD], wrapped[_OVERHEAD:]
        is_encrypted = head[:1] == b"\x01"
        plain = _xor(message) if is_encrypted else message
        if _checksum(head + plain) != checksum:
            raise ProtectionError("the checksum is wrong")
        if head[1:] != struct.pack(">I", self._received):
            raise ProtectionError("a message is missing or comes twice")
        self._received += 1
        return plain, is_encrypted

    def max_message(self, wrapped_bytes: int, *, encrypt: bool) -> int:
        """Without the number and the checksum."""
        return wrapped_bytes - _OVERHEAD


class WrappingPeer:
    """The server's end of a protected connection, which wraps each sent piece as one message."""

    def __init__(self, accepted: socket.socket, context: XorContext, *, encrypt: bool) -> None:
        self._accepted = accepted
        self._context = context
        self._encrypt = encrypt
        self._plain = b""

    def recv(self, size: int, /) -> bytes:
        """At most so many bytes."""
        if not self._plain:
            self._plain, is_encrypted = self._context.unwrap(frame(self._accepted))
            assert is_encrypted is self._encrypt
        found, self._plain = self._plain[:size], self._plain[size:]
        return found

    def sendall(self, content: bytes, /) -> None:
        """Send a message."""
        if content:
            self._accepted.sendall(framed(self._context.wrap(content, encrypt=self._encrypt)))


class ServerLogin:
    """
    The server's side of logins.

    Args:
        offers: the protections that it allows.
        max_wrapped: size of the longest wrapped message that it accepts.

    Attributes:
        chosen: the client's last message of each login.
        contexts: one for each login.
    """

    def __init__(self, offers: Sequence[Qop] = tuple(Qop), max_wrapped: int = 65_536) -> None:
        self._offer = bytes([sum(BITS[qop] for qop in offers)]) + max_wrapped.to_bytes(3, "big")
        self.chosen: list[bytes] = []
        self.contexts: list[XorContext] = []

    def __call__(self, accepted: socket.socket) -> "socket.socket | WrappingPeer":
        """Run a login."""
        context = XorContext([b"AP-REQ", b""], [b"AP-REP", b""])
        self.contexts.append(context)
        accepted.sendall(success(context.step(frame(accepted))))
        context.step(frame(accepted))
        accepted.sendall(success(context.wrap(self._offer, encrypt=False)))
        choice, _ = context.unwrap(frame(accepted))
        self.chosen.append(choice)
        if choice[0] == BITS[Qop.AUTH]:
            return accepted
        return WrappingPeer(accepted, context, encrypt=choice[0] == BITS[Qop.AUTH_CONF])


class TestLogins:
    """
    Logins of a client in a test, which all have the same context.

    Args:
        qop: of the connections.
        principals: service -> the principals to try; without an entry there is one.
        new_context: returns the client's end of a context for a principal.
    """

    __test__ = False

    def __init__(
        self,
        qop: Qop = Qop.AUTH_CONF,
        new_context: Callable[[str], XorContext] = lambda _principal: XorContext(),
        principals: Sequence[str] = (PRINCIPAL,),
    ) -> None:
        self._qop = qop
        self._new_context = new_context
        self._principals = principals

    def check(self) -> None:
        """There is a ticket."""

    def at(self, address: Address, service: str) -> list[Login]:
        """A login for each principal."""
        return [
            Login(principal, self._qop, lambda principal=principal: self._new_context(principal))  # type: ignore[misc]
            for principal in self._principals
        ]


def success(token: bytes) -> bytes:
    """What a server sends with a token."""
    return struct.pack(">i", 0) + framed(token)


def refusal(name: str, text: str | None) -> bytes:
    """What a server sends when it refuses a login."""
    reason = struct.pack(">i", -1) if text is None else framed(text.encode())
    return struct.pack(">i", 1) + framed(name.encode()) + reason


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:_CHECKSUM_BYTES]


def _xor(content: bytes) -> bytes:
    return content.translate(bytes(value ^ 0x55 for value in range(256)))

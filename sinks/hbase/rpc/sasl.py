"""
Login at a server with Kerberos.

Sources: RFC 4752 (the SASL mechanism GSSAPI); `SaslChallengeDecoder`, `NettyHBaseSaslRpcServerHandler`
and `ServerRpcConnection` of HBase 2.6. After the preamble with authentication 81::

    client, a token     4 bytes length, token
    server, a token     4 bytes status 0; 4 bytes length, token
    server, refusal     4 bytes status 1; twice 4 bytes length, UTF-8: class and text of an exception
    server, no Kerberos 4 bytes status 0, 4 bytes -88 instead of a length

The tokens are those of Kerberos until both sides have authenticated themselves; the client's last one is empty. Then
the server's token is a wrapped message of 4 bytes: which protections it allows (a bit each: 1 auth, 2 auth-int,
4 auth-conf), and the size of the longest wrapped message that it accepts. The client's answer is another one: the
protection it chooses, and the longest that it accepts itself. The server does not answer that.

With auth nothing changes after the login. Else all bytes are wrapped, as `protection` describes.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sinks.hbase.rpc.errors import ConnectionLostError, LoginError
from sinks.hbase.rpc.protection import ProtectedStream, ProtectionError, SecurityContext
from sinks.hbase.rpc.stream import Address, Stream
from sinks.hbase.security import Qop

_INT = struct.Struct(">i")
_SUCCESS = 0
_REFUSAL = 1
_SIMPLE = -88
"""`SaslUtil.SWITCH_TO_SIMPLE_AUTH`."""
_MAX_TOKEN_BYTES = 1 << 20
"""As HBase's client; a token of Kerberos has at most some 64 KiB, for a user in many groups of Active Directory."""
_BITS = {Qop.AUTH: 1, Qop.AUTH_INT: 2, Qop.AUTH_CONF: 4}
_OFFER_BYTES = 4
_MAX_SIZE = 0xFFFFFF
"""The largest that fits into three bytes."""


@dataclass(frozen=True, slots=True)
class Login:
    """
    How to log in at a server.

    Attributes:
        principal: of the server.
        qop: the protection of the connection.
        new_context: returns a context of this process for the principal; raises as `SecurityContext.step`.
    """

    principal: str
    qop: Qop
    new_context: Callable[[], SecurityContext]


class Logins(Protocol):
    """The logins of a client at the servers of a cluster."""

    def check(self) -> None:
        """
        Obtain a ticket, unless there is a valid one.

        Raises:
            CredentialsError: there is none, and none can be obtained.
            StoreUnavailableError: no KDC answers.
        """

    def at(self, address: Address, service: str) -> Sequence[Login]:
        """The logins to try at a server for one of its services, in order; at least one."""


def log_in(stream: Stream, login: Login, deadline_s: float) -> Stream | ProtectedStream:
    """
    Log in at a server, after the preamble; returns the stream for all that follows.

    Raises:
        LoginError: the server refuses the login, or is not the expected one, or does not allow the protection.
        StoreUnavailableError: no KDC answers.
        ConnectionLostError: the server does not answer.
    """
    try:
        context = login.new_context()
        token = context.step(b"")
        _send(stream, token, deadline_s)
        while not context.is_established:
            token = context.step(_token(stream, login, deadline_s))
            _send(stream, token, deadline_s)
        return _protected(stream, context, login, deadline_s)
    except ProtectionError as error:
        stream.abort()
        raise ConnectionLostError(f"the login at {stream.address} failed: {error}") from error
    except BaseException:
        stream.abort()
        raise


def _protected(stream: Stream, context: SecurityContext, login: Login, deadline_s: float) -> Stream | ProtectedStream:
    """Choose the protection that the settings name."""
    offer, _ = context.unwrap(_token(stream, login, deadline_s))
    if len(offer) != _OFFER_BYTES:
        raise ProtectionError(f"the server offers {offer!r}")
    if not offer[0] & _BITS[login.qop]:
        raise _other_qop(stream.address, login.qop, offer[0])
    is_wrapped = login.qop is not Qop.AUTH
    choice = bytes([_BITS[login.qop]]) + (_MAX_SIZE if is_wrapped else 0).to_bytes(3, "big")
    _send(stream, context.wrap(choice, encrypt=False), deadline_s)
    if not is_wrapped:
        return stream
    encrypt = login.qop is Qop.AUTH_CONF
    max_message = context.max_message(int.from_bytes(offer[1:], "big"), encrypt=encrypt)
    if max_message <= 0:
        raise ProtectionError(f"the server accepts messages of at most {int.from_bytes(offer[1:], 'big')} bytes")
    return ProtectedStream(stream, context, encrypt=encrypt, max_message=max_message)


def _send(stream: Stream, token: bytes, deadline_s: float) -> None:
    stream.send([_INT.pack(len(token)), token], deadline_s)


def _token(stream: Stream, login: Login, deadline_s: float) -> bytes:
    """A token of the server."""
    status = _int(stream, deadline_s)
    if status == _REFUSAL:
        name, text = _text(stream, deadline_s), _text(stream, deadline_s)
        raise _refusal(stream.address, login, name.rpartition(".")[2], text)
    if status != _SUCCESS:
        raise ProtectionError("it does not answer as a server of HBase with Kerberos")
    size = _int(stream, deadline_s)
    if size == _SIMPLE:
        raise LoginError(
            f"the server {stream.address} has no Kerberos: it offers a connection without a login",
            hint="leave out security: {kerberos: …} of the store, or set hbase.security.authentication to kerberos in "
            "the hbase-site.xml of all servers",
        )
    return _sized(stream, size, deadline_s)


def _text(stream: Stream, deadline_s: float) -> str:
    size = _int(stream, deadline_s)
    return _sized(stream, max(0, size), deadline_s).decode("utf-8", "replace")  # -1 for no text


def _sized(stream: Stream, size: int, deadline_s: float) -> bytes:
    if not 0 <= size <= _MAX_TOKEN_BYTES:
        raise ProtectionError(f"a token of {size} bytes")
    return stream.receive(size, deadline_s)


def _int(stream: Stream, deadline_s: float) -> int:
    found: int = _INT.unpack(stream.receive(_INT.size, deadline_s))[0]
    return found


def _refusal(address: Address, login: Login, name: str, text: str) -> LoginError:
    return LoginError(
        f"the server {address} refuses the login as {login.principal}: {name}: {text}",
        hint="HBase gives the reason only in the log of the server: it has another principal (`server_principal` and "
        "`master_principal` of the store) or other keys than the KDC, or the clocks differ",
    )


def _other_qop(address: Address, qop: Qop, offered: int) -> LoginError:
    allowed = [each for each, bit in _BITS.items() if offered & bit]
    names = " or ".join(f"`qop: {each}`" for each in allowed)
    return LoginError(
        f"the server {address} does not allow `qop: {qop}`",
        hint=f"write {names}, or add {qop.name_in_hbase} to hbase.rpc.protection in the hbase-site.xml of all servers",
    )

"""Login with Kerberos, and protected connections, against a server in this process."""

import socket
import struct
from collections.abc import Callable

import pytest

from ingest.api import StoreUnavailableError
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import ConnectionLostError, LoginError
from sinks.hbase.rpc.sasl import Login
from sinks.hbase.security import Qop
from tests.support.gssapi_contexts import PRINCIPAL, ServerLogin, WrappingPeer, XorContext, refusal, success
from tests.support.rpc_server import Peer, RpcServer, RpcServers, frame, framed, soon


def connection_to(server: RpcServer, qop: Qop = Qop.AUTH_CONF, context: XorContext | None = None) -> Connection:
    login = Login(PRINCIPAL, qop, lambda: context or XorContext())
    return Connection(server.address, "ClientService", login=login)


def opened(server: RpcServer, qop: Qop = Qop.AUTH_CONF, context: XorContext | None = None) -> Connection:
    connection = connection_to(server, qop, context)
    connection.open(soon())
    return connection


@pytest.mark.parametrize("qop", Qop)
def test_calls_after_the_login(serve: RpcServers, qop: Qop) -> None:
    log_in = ServerLogin()
    server = serve(log_in=log_in)
    connection = opened(server, qop)
    for _ in range(3):
        sent = connection.send("Multi", b"parameter", b"x" * 200_000, soon())
        answer = connection.receive(sent, soon())
        assert (answer.message, len(answer.cells)) == (b"parameter", 200_000)
        assert connection.is_usable
    connection.close()
    assert log_in.chosen == [
        b"\x01\0\0\0" if qop is Qop.AUTH else bytes([2 if qop is Qop.AUTH_INT else 4]) + b"\xff" * 3
    ]
    (header,) = server.headers
    assert not header.has(1)  # the user is the principal
    assert header.text(2) == "ClientService"


def test_messages_are_at_most_as_long_as_the_server_accepts(serve: RpcServers) -> None:
    context = XorContext()
    connection = opened(serve(log_in=ServerLogin(max_wrapped=1000)), context=context)
    sent = connection.send("Multi", b"parameter", b"x" * 5_000, soon())
    assert len(connection.receive(sent, soon()).cells) == 5_000
    connection.close()
    assert {encrypt for _, encrypt in context.wrapped[1:]} == {True}
    assert max(size for size, _ in context.wrapped) == 1000 - 9


def test_answer_in_several_messages_and_several_answers_in_one(serve: RpcServers) -> None:
    class Split(WrappingPeer):
        def sendall(self, content: bytes, /) -> None:
            for begin in range(0, len(content), 3):
                super().sendall(content[begin : begin + 3])

    def log_in(accepted: socket.socket) -> Peer:
        peer = ServerLogin()(accepted)
        assert isinstance(peer, WrappingPeer)
        peer.__class__ = Split
        return peer

    connection = opened(serve(log_in=log_in))
    assert connection.call("A", b"some parameter", soon()).message == b"some parameter"
    connection.post("B", b"")
    assert connection.call("C", b"c", soon()).message == b"c"
    connection.close()


def test_server_without_kerberos(serve: RpcServers) -> None:
    def log_in(accepted: socket.socket) -> Peer:
        frame(accepted)
        accepted.sendall(struct.pack(">ii", 0, -88))
        return accepted

    connection = connection_to(serve(log_in=log_in))
    with pytest.raises(LoginError, match="has no Kerberos: it offers a connection without a login") as caught:
        connection.open(soon())
    assert "hbase.security.authentication" in str(caught.value.hint)
    assert not connection.is_usable


@pytest.mark.parametrize("text", ["GSS initiate failed", None])
def test_server_that_refuses_the_login(serve: RpcServers, text: str | None) -> None:
    def log_in(accepted: socket.socket) -> Peer:
        frame(accepted)
        accepted.sendall(refusal("javax.security.sasl.SaslException", text))
        return accepted

    with pytest.raises(LoginError, match=f"refuses the login as {PRINCIPAL}: SaslException: ") as caught:
        connection_to(serve(log_in=log_in)).open(soon())
    assert caught.value.message.endswith(text or ": ")
    assert "log of the server" in str(caught.value.hint)


def test_protection_that_the_server_does_not_allow(serve: RpcServers) -> None:
    with pytest.raises(LoginError, match="does not allow `qop: auth-conf`") as caught:
        connection_to(serve(log_in=ServerLogin([Qop.AUTH, Qop.AUTH_INT]))).open(soon())
    assert str(caught.value.hint).startswith("write `qop: auth` or `qop: auth-int`, or add privacy to hbase.rpc.protec")


@pytest.mark.parametrize("failure", [LoginError("wrong server"), StoreUnavailableError("no KDC")])
def test_failure_of_the_context_closes_the_connection(serve: RpcServers, failure: LoginError) -> None:
    connection = connection_to(serve(log_in=ServerLogin()), context=XorContext(failure=failure))
    with pytest.raises(type(failure)) as caught:
        connection.open(soon())
    assert caught.value is failure
    assert not connection.is_usable


@pytest.mark.parametrize(
    "answer",
    [
        struct.pack(">i", 2),
        struct.pack(">ii", 0, -1),
        struct.pack(">ii", 0, 2 << 20),
        struct.pack(">ii", 1, 2 << 20),
    ],
)
def test_answer_that_is_no_token(serve: RpcServers, answer: bytes) -> None:
    def log_in(accepted: socket.socket) -> Peer:
        frame(accepted)
        accepted.sendall(answer)
        return accepted

    with pytest.raises(ConnectionLostError, match=r"the login at .* failed"):
        connection_to(serve(log_in=log_in)).open(soon())


@pytest.mark.parametrize("offer", [b"", b"\x07\0\0", b"\x07\0\0\0", b"\x07\0\0\x05"])
def test_offer_that_is_none(serve: RpcServers, offer: bytes) -> None:
    def log_in(accepted: socket.socket) -> Peer:
        context = XorContext([b"AP-REQ", b""], [b"AP-REP", b""])
        accepted.sendall(success(context.step(frame(accepted))))
        context.step(frame(accepted))
        accepted.sendall(success(context.wrap(offer, encrypt=False)))
        raise ConnectionAbortedError

    with pytest.raises(ConnectionLostError, match=r"the login at .* failed"):
        connection_to(serve(log_in=log_in)).open(soon())


def second(context: XorContext, content: bytes) -> bytes:
    """Without the message before it."""
    context.wrap(b"the first", encrypt=True)
    return framed(context.wrap(content, encrypt=True))


def damaged(message: bytes) -> bytes:
    return message[:-1] + bytes([message[-1] ^ 1])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda context, content: framed(damaged(context.wrap(content, encrypt=True))), "checksum is wrong"),
        (lambda context, content: framed(context.wrap(content, encrypt=False)), "not encrypted"),
        (
            lambda context, content: (context.wrap(b"", encrypt=True), framed(context.wrap(content, encrypt=True)))[1],
            "missing",
        ),
        (lambda _context, _content: struct.pack(">i", -5), "of -5 bytes"),
        (lambda _context, _content: struct.pack(">i", 1 << 30), "wrapped message of 1073741824 bytes"),
    ],
)
def test_answer_that_is_not_protected_is_not_used(
    serve: RpcServers, changed: Callable[[XorContext, bytes], bytes], reason: str
) -> None:
    class Attacker(WrappingPeer):
        def sendall(self, content: bytes, /) -> None:
            self._accepted.sendall(changed(self._context, content))

    def log_in(accepted: socket.socket) -> Peer:
        peer = ServerLogin()(accepted)
        assert isinstance(peer, WrappingPeer)
        peer.__class__ = Attacker
        return peer

    connection = opened(serve(log_in=log_in))
    with pytest.raises(ConnectionLostError, match=f"is not protected any more: .*{reason}"):
        connection.call("A", b"parameter", soon())
    assert not connection.is_usable


@pytest.mark.parametrize("step", ["wrap", "unwrap"])
def test_interrupted_call_closes_the_connection(serve: RpcServers, step: str) -> None:
    class Interrupted(XorContext):
        def wrap(self, message: bytes, *, encrypt: bool) -> bytes:
            if step == "wrap" and b"parameter" in message:
                raise KeyboardInterrupt
            return super().wrap(message, encrypt=encrypt)

        def unwrap(self, wrapped: bytes) -> tuple[bytes, bool]:
            message, is_encrypted = super().unwrap(wrapped)
            if step == "unwrap" and b"parameter" in message:
                raise KeyboardInterrupt
            return message, is_encrypted

    connection = opened(serve(log_in=ServerLogin()), context=Interrupted())
    with pytest.raises(KeyboardInterrupt):
        connection.call("A", b"parameter", soon())
    assert not connection.is_usable


def test_login_ends_at_its_deadline(serve: RpcServers) -> None:
    def log_in(accepted: socket.socket) -> Peer:
        frame(accepted)
        return WrappingPeer(accepted, XorContext(), encrypt=True)

    with pytest.raises(ConnectionLostError, match="in time"):
        connection_to(serve(log_in=log_in)).open(soon(0.2))

"""Logins and protected answers with right and wrong parts: a connection works, or raises one of its errors."""

import contextlib
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import ConnectionLostError, LoginError
from sinks.hbase.rpc.sasl import Login
from sinks.hbase.security import Qop
from tests.support.gssapi_contexts import PRINCIPAL, WrappingPeer, XorContext
from tests.support.rpc_server import Peer, RpcServer, frame, framed, soon

TICKET, OFFER = b"AP-REP", b"\x07\x00\xff\xff"
STATUSES = st.sampled_from([1, 2, -1, 2**31 - 1])
SIZES = st.sampled_from([-88, -1, -(2**31), 0, 1, 3, 4096, 1 << 20, (1 << 20) + 1, 2**31 - 1])
SHORT_S = 0.2


class Reply(NamedTuple):
    """
    What a server sends for a token.

    Attributes:
        status: of it; None for none, as within a protected connection.
        size: that it announces; None for that of the token.
        more: bytes after it.
    """

    status: int | None = 0
    size: int | None = None
    token: bytes | None = None
    more: bytes = b""

    def written(self, right: bytes) -> bytes:
        token = right if self.token is None else self.token
        start = b"" if self.status is None else struct.pack(">i", self.status)
        return start + struct.pack(">i", len(token) if self.size is None else self.size) + token + self.more


def replies(status: int | None) -> st.SearchStrategy[Reply]:
    right = Reply(status)
    tokens = st.one_of(st.binary(max_size=12), st.sampled_from([framed(b"text") * 2, b"\x07", b"\x00" * 4]))
    return st.one_of(
        st.builds(right._replace, size=SIZES),
        st.builds(right._replace, token=tokens),
        st.builds(right._replace, more=st.binary(min_size=1, max_size=12)),
        *(
            []
            if status is None
            else [st.builds(Reply, STATUSES, SIZES, tokens), st.builds(right._replace, status=STATUSES)]
        ),
    )


@st.composite
def dialogues(draw: st.DrawFn) -> tuple[Reply, Reply, Reply]:
    """The answers to the ticket, with the offer, and to a call; at most one is not right."""
    wrong = draw(st.sampled_from([None, 0, 1, 2, 2]))
    found = [draw(replies(status)) if at == wrong else Reply(status) for at, status in enumerate((0, 0, None))]
    return found[0], found[1], found[2]


class Client(XorContext):
    """The client's end, which refuses another ticket as GSSAPI does."""

    def step(self, token: bytes) -> bytes:
        if token != self._expected[0]:
            raise LoginError("a damaged token")
        return super().step(token)


class Changed(WrappingPeer):
    """Sends an answer as the test says."""

    reply: Reply

    def sendall(self, content: bytes, /) -> None:
        self._accepted.sendall(self.reply.written(self._context.wrap(content, encrypt=self._encrypt)))


class Server:
    """Answers as the test says."""

    def __init__(self) -> None:
        self.dialogue = (Reply(), Reply(), Reply(None))
        self._server = RpcServer(lambda request: request.answer(b"answer", b"cells"), log_in=self._log_in)
        self.address = self._server.address

    def close(self) -> None:
        self._server.close()

    def _log_in(self, accepted: socket.socket) -> Peer:
        first, second, third = self.dialogue
        context = XorContext([b"AP-REQ", b""], [TICKET, b""])
        token = context.step(frame(accepted))
        accepted.sendall(first.written(token))
        try:
            context.step(frame(accepted))
            accepted.sendall(second.written(context.wrap(OFFER, encrypt=False)))
            context.unwrap(frame(accepted))
        except AssertionError as error:  # the client took another token for that of the ticket
            raise ConnectionResetError from error
        peer = Changed(accepted, context, encrypt=True)
        peer.reply = third
        return peer


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with contextlib.closing(Server()) as made:
        yield made


@given(dialogue=dialogues())
def test_login_of_any_form_is_a_connection_or_an_error(server: Server, dialogue: tuple[Reply, Reply, Reply]) -> None:
    server.dialogue = dialogue
    is_right = dialogue == (Reply(), Reply(), Reply(None))
    limit_s = 10.0 if is_right else SHORT_S
    connection = Connection(server.address, "ClientService", login=Login(PRINCIPAL, Qop.AUTH_CONF, Client))
    try:
        connection.open(soon(limit_s))
        answer = connection.call("Get", b"", soon(limit_s))
    except (ConnectionLostError, LoginError):
        assert not is_right
        assert not connection.is_usable
    else:
        assert answer == (b"answer", b"cells")
    connection.close()

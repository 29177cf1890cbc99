"""Answers with a header of right and wrong fields: `receive` returns the answer, or raises one of its errors."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.hbase.protobuf import data, flag, number, varint
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError
from tests.support.rpc_server import RpcServer, framed, soon

POSTED, OTHER, CALL = 1, 2, 3
"""Calls of a test, in this order."""
MESSAGE, CELLS = b"message", b"cells"


class Sent(NamedTuple):
    """
    A frame, and whether `receive` has to accept it as the answer to CALL.

    Attributes:
        is_right: None if that is not known.
    """

    frame: bytes
    is_right: bool | None


class Part(NamedTuple):
    """A field of the header."""

    field: bytes
    is_right: bool | None


ID = Part(number(1, CALL), True)
IDS = [
    Part(b"", False),
    *(Part(number(1, value), False) for value in (0, POSTED, OTHER, 4, 2**31, 2**64 - 1)),
    Part(data(1, b"\x03"), False),
    Part(number(1, OTHER) + number(1, CALL), True),  # the last value counts
]
NONE = Part(b"", True)
NAME = b"org.apache.hadoop.hbase.NotServingRegionException"
EXCEPTIONS = [
    Part(data(2, data(1, NAME) + data(2, NAME + b": gone\n\tat")), False),
    Part(data(2, b""), False),
    Part(number(2, 7), False),
    Part(data(2, b"\xff\xff"), False),
    Part(data(2, number(1, 7)), False),
    Part(data(2, data(1, b"\xff")), False),
    Part(data(2, data(1, b"E") + data(6, b"1")), False),
    Part(data(2, data(1, b"RpcThrottlingException") + data(2, b" - wait " + b"9" * 400 + b"hrs, 1ms")), False),
]
META = Part(data(3, number(1, len(CELLS))), True)
METAS = [
    Part(data(3, number(1, 6)), False),
    Part(data(3, number(1, 2**64 - 1)), False),
    Part(data(3, data(1, b"5")), False),
    Part(number(3, 5), False),
    Part(data(3, b"\x08"), False),
]
UNKNOWN = [
    Part(flag(4) + data(99, b"later"), True),
    Part(b"\x2b\x2c", False),  # a group
    Part(varint(5 << 3 | 1) + b"1234", False),  # eight bytes, of which four are there
    Part(b"\x80" * 11, False),
]


@st.composite
def frames(draw: st.DrawFn) -> Sent:
    wrong = draw(st.sets(st.sampled_from("iemuls"), max_size=2))
    parts = [
        draw(st.sampled_from(IDS)) if "i" in wrong else ID,
        draw(st.sampled_from(EXCEPTIONS)) if "e" in wrong else NONE,
        draw(st.sampled_from(METAS)) if "m" in wrong else META,
        draw(st.sampled_from(UNKNOWN)) if "u" in wrong else NONE,
    ]
    header = b"".join(part.field for part in draw(st.permutations(parts)))
    content = varint(len(header)) + header + varint(len(MESSAGE)) + MESSAGE + CELLS
    verdicts = {part.is_right for part in parts}
    if "l" in wrong:  # lengths that are not those of their bytes
        content = varint(draw(st.sampled_from([0, 1, len(header) + 1, 2**31, 2**64 - 1]))) + content[1:]
        verdicts.add(None)
    if "s" in wrong:
        content = content[: draw(st.integers(0, len(content) - 1))]
        verdicts.add(False)
    return Sent(framed(content), False if False in verdicts else None if None in verdicts else True)


class Server:
    """Answers nothing, and then what the test says to the call CALL."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self._server = RpcServer(lambda request: b"".join(self.frames) if request.call_id == CALL else b"")
        self.address = self._server.address

    def close(self) -> None:
        self._server.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with contextlib.closing(Server()) as made:
        yield made


@given(sent=frames(), before=st.lists(frames(), max_size=2))
@example(sent=Sent(framed(b"\x04" + number(1, 4) + number(2, 7)), False), before=[])
def test_any_header_is_an_answer_or_an_error(server: Server, sent: Sent, before: list[Sent]) -> None:
    server.frames = [each.frame for each in (*before, sent)]
    connection = Connection(server.address, "ClientService")
    connection.open(soon())
    connection.post("Posted", b"")
    connection.send("Other", b"", b"", soon())
    assert connection.send("Call", b"", b"", soon()) == CALL
    try:
        answer = connection.receive(CALL, soon(0.2))
    except (ConnectionLostError, RemoteError):
        assert before or sent.is_right is not True
    else:
        if not before:
            assert sent.is_right is not False
            assert answer == (MESSAGE, CELLS) or sent.is_right is None
    connection.close()

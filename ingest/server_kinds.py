"""
Which kind of server answers at an address, for the hint about an address that is in the wrong option.

A server closes a connection at a request of another protocol, without a word. So a server that has been reached and has
not answered is asked in each of the other protocols, with a request that changes nothing.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

_ANSWER_S = 0.5  # a server needs milliseconds, and the user waits
_ALL_ANSWERS_S = 2.0  # of all servers, with the resolution of their names: the caller may have a deadline of its own
_ANSWER_BYTES = 512
_MAX_ASKED = 3  # the servers of a cluster are of one kind
_CALL_ID = 0x41324842

KAFKA, ZOOKEEPER, THRIFT, HBASE, WEB = "kafka", "zookeeper", "thrift", "hbase", "web"


@dataclass(frozen=True, slots=True)
class _Probe:
    """
    A request that only one kind of server answers.

    Attributes:
        words: what the server is, and where its address belongs.
        is_its: whether an answer is one of such a server.
    """

    kind: str
    words: str
    request: bytes
    is_its: Callable[[bytes], bool]


def _thrift_call(framed: bool) -> bytes:  # noqa: FBT001 - a private function
    # strict binary protocol: a call of a method that no service has, without arguments
    call = struct.pack(">II", 0x80010001, 10) + b"attr2hbase" + struct.pack(">IB", 0, 0)
    return struct.pack(">I", len(call)) + call if framed else call


_OF_A_STORE = "belongs into `host` and `port` of a store"
_PROBES = (
    # ApiVersions, version 0, without the name of a client; Kafka's protocol guide
    _Probe(
        KAFKA,
        "a Kafka broker, whose address belongs into `brokers` of a source",
        struct.pack(">IHHIh", 10, 18, 0, _CALL_ID, -1),
        lambda answer: answer[4:8] == struct.pack(">I", _CALL_ID),
    ),
    # a four-letter word, which a server executes by default, or says why not (ZooKeeper 3.5.3)
    _Probe(
        ZOOKEEPER,
        "a ZooKeeper server, which no pipeline needs",
        b"srvr",
        lambda answer: answer.startswith((b"Zookeeper version", b"srvr is not", b"This ZooKeeper")),
    ),
    # an exception is the answer to an unknown method
    _Probe(
        THRIFT,
        f"a Thrift server, whose address {_OF_A_STORE}",
        _thrift_call(framed=False),
        lambda answer: answer.startswith(b"\x80\x01\x00"),
    ),
    _Probe(
        THRIFT,
        f"a Thrift server with `transport: framed`, whose address {_OF_A_STORE}",
        _thrift_call(framed=True),
        lambda answer: answer[4:7] == b"\x80\x01\x00",
    ),
    # a preamble of an unknown version; the answer names the Java class of an exception (RPC.proto)
    _Probe(
        HBASE,
        "a master or region server of HBase, whose address belongs into `bootstrap_servers` of a store",
        b"HBas\xff\x50",
        lambda answer: b"hadoop.hbase" in answer,
    ),
    _Probe(
        WEB, "a web server, as for pages of metrics", b"GET / HTTP/1.0\r\n\r\n", lambda answer: answer[:5] == b"HTTP/"
    ),
)


def server_instead(wanted: str, addresses: Iterable[tuple[str, int]]) -> str | None:
    """
    What the first server is that answers as one of another kind, as in `localhost:9092 is a Kafka broker, …`.

    Returns within two seconds. Nothing is remembered: a server that is silent now may answer when it has started.

    Args:
        wanted: the kind that the addresses should be of, such as `KAFKA`.
        addresses: hosts and ports that have been reached.
    """
    asked = list(islice(addresses, _MAX_ASKED))
    found: list[str] = []
    is_late = threading.Event()

    def ask() -> None:
        for host, port in asked:
            for probe in _PROBES:
                if is_late.is_set():
                    return
                if probe.kind != wanted and probe.is_its(_answer(probe.request, host, port)):
                    found.append(f"{host}:{port} is {probe.words}")
                    return

    # a thread of its own, since nothing else ends the resolution of a name
    thread = threading.Thread(target=ask, name="server-kinds", daemon=True)
    thread.start()
    thread.join(_ALL_ANSWERS_S)
    is_late.set()
    return next(iter(found), None)


def _answer(request: bytes, host: str, port: int) -> bytes:
    with suppress(OSError), socket.create_connection((host, port), _ANSWER_S) as connection:
        connection.sendall(request)
        return connection.recv(_ANSWER_BYTES)
    return b""

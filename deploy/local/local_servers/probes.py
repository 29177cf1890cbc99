"""Readiness checks over the protocols of the servers, with the standard library only."""

import socket
import struct

_TIMEOUT_S = 5.0


def kafka_is_ready(port: int) -> bool:
    """Whether a broker lists itself in its metadata response."""
    # Metadata, version 1, of no topic: api key 3, correlation id 1, client id "probe"
    request = struct.pack(">hhih5si", 3, 1, 1, 5, b"probe", 0)
    answer = _ask(port, request)
    return bool(answer) and struct.unpack_from(">i", answer, 4)[0] > 0  # the number of brokers


def thrift_is_ready(port: int, call: str, argument: bytes) -> bool:
    """Whether a Thrift call returns a result and not an error; a call without arguments ignores `argument`."""
    name = call.encode()
    request = struct.pack(">Ii", 0x80010001, len(name)) + name
    request += struct.pack(">iBhi", 1, 11, 1, len(argument)) + argument + b"\0"  # field 1, a string
    head = 12 + len(name)  # of the answer
    answer = _ask(port, request, framed=False, at_least=head + 3)
    # a reply (2) whose first field has id 0, the result; errors have ids from 1
    return answer[:4] == b"\x80\x01\x00\x02" and struct.unpack_from(">h", answer, head + 1)[0] == 0


def hbase_is_ready(master_port: int) -> bool:
    """Whether a master describes a table, which it does after its start is complete."""
    # RPC.proto of HBase: preamble, ConnectionHeader (user, service), RequestHeader (call 1, method), parameter
    connection = b"\x0a\x07\x0a\x05probe\x12\x0dMasterService"
    header = b"\x08\x01\x1a\x13GetTableDescriptors\x20\x01"
    table = b"\x0a\x0d\x0a\x05hbase\x12\x04meta"
    call = bytes((len(header),)) + header + bytes((len(table),)) + table
    request = b"HBas\x00\x50" + struct.pack(">I", len(connection)) + connection + struct.pack(">I", len(call)) + call
    answer = _ask(master_port, request, framed=False, at_least=7)
    return answer[4:7] == b"\x02\x08\x01"  # a ResponseHeader of 2 bytes: call 1, no exception


def _ask(port: int, request: bytes, *, framed: bool = True, at_least: int = 0) -> bytes:
    """The response; empty if there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as connection:
            connection.sendall((struct.pack(">i", len(request)) if framed else b"") + request)
            if framed:
                at_least = struct.unpack(">i", _read(connection, 4))[0]
            return _read(connection, at_least)
    except (OSError, EOFError):
        return b""


def _read(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data

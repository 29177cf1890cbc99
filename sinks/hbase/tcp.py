"""TCP connections to servers of HBase."""

import contextlib
import select
import socket
import struct

CONNECT_S = 10.0
"""A running machine accepts a connection at once."""
MAX_ANSWER_BYTES = 256 << 20
"""
Of the answer to one call. A page of a scan takes a few megabytes, so an answer beyond this comes from a broken server.
"""
_NO_LINGER = struct.pack("ii", 1, 0)
"""Linger for no time: unsent bytes are discarded, and the peer gets a reset."""


def connected(host: str, port: int, timeout_s: float) -> socket.socket:
    """
    A connection to any address of a host, IPv4 or IPv6; its timeout is the same.

    The name is resolved at every call, so a server that moved is found again.

    Args:
        host: its name.
        port: of the server.
        timeout_s: maximum wait for each address, if it is shorter than `CONNECT_S`.

    Raises:
        OSError: no address accepts a connection.
    """
    made = socket.create_connection((host, port), min(timeout_s, CONNECT_S))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return made


def is_quiet(live: socket.socket) -> bool:
    """Whether nothing has arrived: neither bytes nor the end of the connection."""
    poll = select.poll()
    poll.register(live, select.POLLIN)
    return not poll.poll(0)


def abort(live: socket.socket) -> None:
    """
    Close a connection and discard unsent bytes.

    After a time-out a part of a call may still be in the send buffer. A normal close would deliver it once the network
    recovers, and the server would execute it after later calls.
    """
    with contextlib.suppress(OSError):
        live.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    with contextlib.suppress(OSError):
        live.close()

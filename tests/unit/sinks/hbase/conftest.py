"""A server without a protocol."""

import socket
from collections.abc import Iterator

import pytest

WAIT_S = 10.0
"""For a connection; only a failing test waits so long."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket of this machine that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT_S)
        yield server

"""Servers of HBase's native RPC."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.support.rpc_server import RpcServers


@pytest.fixture
def serve() -> Iterator[RpcServers]:
    """Starts servers that answer as the test says."""
    with contextlib.closing(RpcServers()) as servers:
        yield servers

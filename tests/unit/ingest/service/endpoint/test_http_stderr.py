"""Errors of HTTP clients are not printed on stderr."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from ingest.observe.health import Health
from ingest.service.endpoint.http import HttpEndpoint
from tests.support.endpoint import pages

LARGE = bytes(50_000_000)  # more than the socket buffers of a client that does not read


@pytest.mark.parametrize(
    "sent", [b"GET /metrics HTTP/1.1\r\n\r\n", b"GET /livez HTTP/9.9\r\n\r\n"], ids=["does not read", "bad request"]
)
def test_failed_request_prints_nothing_on_stderr(sent, capfd):
    with HttpEndpoint("127.0.0.1:0", pages(Health(["ticks"]), lambda: ("text/plain", LARGE))) as endpoint:
        address = urlsplit(endpoint.url)
        before = threading.active_count()
        with socket.create_connection((address.hostname, address.port), timeout=10) as client:
            client.sendall(sent)
            assert client.recv(4)
            deadline = time.monotonic() + 20
            while threading.active_count() > before:
                assert time.monotonic() < deadline
                threading.Event().wait(0.01)
    assert capfd.readouterr().err == ""

"""The HTTP endpoint: responses, and limits for clients."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import ingest.service.endpoint.http as module
from ingest.api import ConflictError, NotFoundError
from ingest.observe.health import Health, State
from ingest.observe.metrics import Metrics
from ingest.service.endpoint.http import MAX_CONNECTIONS, HttpEndpoint
from tests.support.endpoint import pages


@pytest.fixture
def health() -> Health:
    return Health(["ticks"], clock=lambda: 1308748686.3344)


@pytest.fixture
def endpoint(health: Health) -> Iterator[HttpEndpoint]:
    metrics = Metrics(["ticks"])
    with HttpEndpoint("127.0.0.1:0", pages(health, metrics.render)) as started:
        yield started


def address(endpoint: HttpEndpoint) -> tuple[str, int]:
    parts = urlsplit(endpoint.url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def get(endpoint: HttpEndpoint, path: str, method: str = "GET", body: bytes | None = None):
    connection = http.client.HTTPConnection(*address(endpoint), timeout=10)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_metrics_are_rendered(endpoint):
    status, headers, content = get(endpoint, "/metrics?x=1")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain")
    assert b'attr2hbase_events_read_total{pipeline="ticks"} 0.0\n' in content


def test_probes_follow_the_states(endpoint, health):
    seen = []
    for state in (State.STARTING, State.RUNNING, State.BLOCKED, State.FAILED):
        health.change("ticks", state, "")
        seen.append((get(endpoint, "/livez")[0], get(endpoint, "/readyz")[0]))
    assert seen == [(200, 503), (200, 200), (200, 503), (503, 503)]


def test_probe_gives_the_reason_in_one_line(endpoint, health):
    health.change("ticks", State.BLOCKED, "no answer\r\nfrom h1")
    assert get(endpoint, "/readyz")[2] == b"not ready\nticks: blocked: no answer from h1\n"


def test_pipelines_are_json(endpoint, health):
    health.change("ticks", State.BLOCKED, 'table "x" is disabled')
    status, headers, content = get(endpoint, "/pipelines")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    [found] = json.loads(content)["pipelines"]
    assert {"name": "ticks", "state": "blocked", "since_ms": 1308748686334}.items() <= found.items()
    assert found["reason"] == 'table "x" is disabled'
    assert json.loads(get(endpoint, "/pipelines/ticks")[2]) == found
    assert get(endpoint, "/pipelines/other")[0] == 404


@pytest.mark.parametrize("path", ["/index.html", "/metrics/", "/../metrics", "/control/stop"])
def test_other_paths_are_not_found(endpoint, path):
    assert get(endpoint, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"])
def test_only_get_is_allowed(endpoint, method):
    status, headers, content = get(endpoint, "/metrics", method)
    assert (status, headers["Allow"]) == (405, "GET")
    assert content == (b"" if method == "HEAD" else b"only GET is allowed\n")


def test_failed_page_does_not_affect_the_next(health):
    def render():
        raise RuntimeError("bug")

    with HttpEndpoint("127.0.0.1:0", pages(health, render)) as endpoint:
        assert [get(endpoint, "/metrics")[0], get(endpoint, "/livez")[0]] == [500, 200]


@pytest.mark.parametrize(
    "content",
    [b"\x00\xff\r\n\r\n", b"GET\r\n", b"GET /livez HTTP/9.9\r\n\r\n", b"A" * 100_000, b""],
    ids=range(5),
)
def test_malformed_request_does_not_affect_others(endpoint, content):
    with socket.create_connection(address(endpoint), timeout=10) as client:
        try:
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)
            while client.recv(65536):
                pass
        except OSError:
            pass  # the server may disconnect while we send
    assert get(endpoint, "/livez")[0] == 200


class TestHangingClients:
    def test_idle_connections_are_limited_and_closed(self, endpoint, monkeypatch):
        monkeypatch.setattr(module, "CONNECTION_S", 0.2)
        before = threading.active_count()
        clients = [socket.create_connection(address(endpoint), timeout=10) for _ in range(3 * MAX_CONNECTIONS)]
        try:
            until(lambda: threading.active_count() > before)
            assert threading.active_count() <= before + MAX_CONNECTIONS
            until(lambda: threading.active_count() == before)
            assert get(endpoint, "/livez")[0] == 200
        finally:
            for client in clients:
                client.close()

    def test_slow_sender_is_disconnected(self, endpoint, monkeypatch):
        monkeypatch.setattr(module, "CONNECTION_S", 0.2)
        with socket.create_connection(address(endpoint), timeout=10) as client:

            def is_disconnected() -> bool:
                try:
                    client.sendall(b"G")
                except OSError:
                    return True
                return False

            until(is_disconnected)

    def test_slow_reader_is_disconnected(self, health):
        with HttpEndpoint("127.0.0.1:0", pages(health, lambda: ("text/plain", bytes(50_000_000)))) as endpoint:
            before = threading.active_count()
            with socket.create_connection(address(endpoint), timeout=10) as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                until(lambda: threading.active_count() > before)
                assert get(endpoint, "/livez")[0] == 200
                until(lambda: threading.active_count() == before)


class TestListening:
    def test_busy_port_is_reported_with_a_hint(self, endpoint, health):
        listen = "{}:{}".format(*address(endpoint))
        with pytest.raises(ConflictError, match=rf'"{listen}" is in use; .*listen to another port'):
            HttpEndpoint(listen, pages(health)).start()

    def test_foreign_address_is_refused(self, health):
        with pytest.raises(NotFoundError, match=r'cannot listen on "192\.0\.2\.1:0"'):
            HttpEndpoint("192.0.2.1:0", pages(health)).start()

    def test_port_is_free_after_stop(self, endpoint, health):
        listen = "{}:{}".format(*address(endpoint))
        get(endpoint, "/livez")
        endpoint.stop()
        endpoint.stop()
        with HttpEndpoint(listen, pages(health)) as again:
            assert get(again, "/livez")[0] == 200

    def test_stop_without_start_is_fine(self, health):
        HttpEndpoint("127.0.0.1:0", pages(health)).stop()

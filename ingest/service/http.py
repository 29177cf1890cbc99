"""The HTTP end of a running service: metrics and health, to be read and nothing else."""

import contextlib
import errno
import json
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, TCPServer
from typing import Self

from ingest.api import ConfigError, ConflictError, NotFoundError
from ingest.observe.health import Health, PipelineHealth
from ingest.observe.logs import logger

MAX_CONNECTIONS = 16  # a scraper and two probes need three
CONNECTION_S = 5.0  # whole life of a connection; a page takes milliseconds
SILENCE_S = 2.0  # longest wait for the next byte
SWEEP_S = 0.1  # how often connections that live too long are looked for

_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"

Page = tuple[HTTPStatus, str, bytes]
"""Status, content type, content."""

_log = logger(__name__)


class HttpEndpoint:
    """
    Serves `/metrics`, `/livez`, `/readyz` and `/pipelines`.

    Order: `start`, then `stop`; stopping twice or without a start is fine. What goes wrong with a client stays here:
    connections are few and short-lived, and threads of their own hold no lock of the pipelines while they send.

    Args:
        listen: `host:port`, `[host]:port` for IPv6; port 0 takes a free one.
        health: states of the pipelines.
        render: content type and text of the metrics.
    """

    def __init__(self, listen: str, *, health: Health, render: Callable[[], tuple[str, bytes]]) -> None:
        self._listen = listen
        self._pages = _Pages(health, render)
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """
        Listen.

        Raises:
            ConfigError: `listen` is not an address.
            ConflictError: somebody else listens there.
            NotFoundError: this machine has no such address, or may not use it.
        """
        host, port = address_of(self._listen)
        self._server = _Server(self._listen, host, port, self._pages)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(SWEEP_S,), name="http-endpoint", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens, with the port that was taken; only after `start`."""
        if self._server is None:
            return f"http://{self._listen}"
        host, port = self._server.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def stop(self) -> None:
        """Close it; does not wait for clients."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            server.server_close()
            thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()


def address_of(listen: str) -> tuple[str, int]:
    """
    Host and port of `host:port`.

    Raises:
        ConfigError: it is something else.
    """
    host, colon, port = listen.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not host or not (port.isascii() and port.isdecimal() and int(port) <= 0xFFFF):  # noqa: PLR2004 ports have 16 bits
        raise ConfigError(f'"{listen}" is not an address to listen on', hint='write host:port, as in "127.0.0.1:9464"')
    return host, int(port)


class _Pages:
    """What each path shows."""

    def __init__(self, health: Health, render: Callable[[], tuple[str, bytes]]) -> None:
        self._health = health
        self._render = render

    def page(self, path: str) -> Page:
        match path:
            case "/metrics":
                content_type, content = self._render()
                return HTTPStatus.OK, content_type, content
            case "/livez":
                return self._verdict("live", is_good=self._health.is_live())
            case "/readyz":
                return self._verdict("ready", is_good=self._health.is_ready())
            case "/pipelines":
                pipelines = [_described(each) for each in self._health.snapshot()]
                return HTTPStatus.OK, _JSON, json.dumps({"pipelines": pipelines}).encode() + b"\n"
            case _:
                known = b"no such page; there are /metrics /livez /readyz /pipelines\n"
                return HTTPStatus.NOT_FOUND, _TEXT, known

    def _verdict(self, quality: str, *, is_good: bool) -> Page:
        lines = [quality if is_good else f"not {quality}"]
        lines += [
            f"{each.pipeline}: {each.state}" + (f": {each.reason}" if each.reason else "")
            for each in self._health.snapshot()
        ]
        text = "".join(" ".join(line.split()) + "\n" for line in lines)
        status = HTTPStatus.OK if is_good else HTTPStatus.SERVICE_UNAVAILABLE
        return status, _TEXT, text.encode("utf-8", "backslashreplace")


def _described(health: PipelineHealth) -> dict[str, object]:
    return {
        "name": health.pipeline,
        "state": health.state.value,
        "reason": health.reason,
        "since_ms": round(health.since_s * 1000),
    }


class _Server(TCPServer):
    """Few connections at a time, each for a short time, each in a thread of its own."""

    allow_reuse_address = True  # a restart must not wait for the kernel to forget the old connections
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, listen: str, host: str, port: int, pages: _Pages) -> None:
        self.pages = pages
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family = family
            super().__init__(address, _Handler)  # type: ignore[arg-type] # typeshed knows IPv4 addresses alone
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ConflictError(
                    f'address "{listen}" is in use',
                    hint="stop the other process, or set service: http: listen to another port (0 takes a free one)",
                ) from error
            raise NotFoundError(
                f'can not listen on "{listen}": {error.strerror or error}',
                hint="set service: http: listen to an address of this machine and a port of 1024 or above",
            ) from error

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Answer in a thread, or hang up when there are too many."""
        assert isinstance(request, socket.socket)  # noqa: S101 for mypy: the other kind is UDP's
        with self._lock:
            has_room = len(self._open) < MAX_CONNECTIONS
            if has_room:
                self._open[request] = time.monotonic()
        if not has_room:
            self.shutdown_request(request)
            return
        thread = threading.Thread(
            target=self._answer, args=(request, client_address), name="http-connection", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the machine has no thread left for us
            self._close(request)

    def _answer(self, request: socket.socket, client_address: object) -> None:
        try:
            with contextlib.suppress(OSError):  # the client went away, or was too slow
                self.finish_request(request, client_address)
        finally:
            self._close(request)

    def _close(self, request: socket.socket) -> None:
        with self._lock:
            del self._open[request]
        self.shutdown_request(request)

    def service_actions(self) -> None:
        """Hang up on clients that take too long; their threads then end by themselves."""
        oldest_s = time.monotonic() - CONNECTION_S
        with self._lock:
            for request, since_s in self._open.items():
                if since_s < oldest_s:
                    _hang_up(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: what a client does wrong is no event of ours."""


def _hang_up(request: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be gone already
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """GET, and nothing of a request but its path."""

    timeout = SILENCE_S
    server_version = "attr2hbase"
    sys_version = ""

    def __init__(self, request: socket.socket, client_address: object, server: BaseServer) -> None:
        assert isinstance(server, _Server)  # noqa: S101 for mypy: socketserver hands its own server
        self._pages = server.pages
        super().__init__(request, client_address, server)

    def parse_request(self) -> bool:
        """Refuse every method but GET here, before it is looked for among the methods of this class."""
        if not super().parse_request():
            return False
        if self.command != "GET":
            self._send(HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"only GET is answered\n")
            return False
        return True

    def do_GET(self) -> None:
        """Answer with the page of the path."""
        try:
            status, content_type, content = self._pages.page(self.path.partition("?")[0])
        except Exception as error:  # noqa: BLE001 a page that fails must not take a thread's traceback to stderr
            _log.warning("page failed", path=self.path, error=repr(error))
            status, content_type, content = HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT, b"this page failed; see the log\n"
        self._send(status, content_type, content)

    def _send(self, status: HTTPStatus, content_type: str, content: bytes) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_message: object) -> None:
        """Nothing: probes come every few seconds."""

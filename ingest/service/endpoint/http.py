"""The HTTP endpoint of a service: metrics, health, status and commands."""

import contextlib
import errno
import io
import socket
import threading
import time
from http import HTTPStatus
from socketserver import TCPServer
from typing import Self, TextIO
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import WSGIApplication

from ingest.api import ConflictError, NotFoundError
from ingest.config.http_tls import HttpTlsOptions
from ingest.formats.addresses import host_and_port
from ingest.service.endpoint.tls import EndpointTls, end_tls, handshake

MAX_CONNECTIONS = 16  # a scraper and two probes need three
CONNECTION_S = 5.0  # maximum lifetime of a connection; a page takes milliseconds
SILENCE_S = 2.0  # longest wait for the next byte
SWEEP_S = 0.1  # between checks for connections that are too old


class HttpEndpoint:
    """
    Serves the pages of a service.

    Order: `start`, then `stop`, which may be called twice or without `start`. Clients cannot affect pipelines: their
    number and lifetime are limited, and their threads hold no lock of a pipeline while they send.

    Args:
        listen: `host:port`, `[host]:port` for IPv6; port 0 chooses a free one.
        pages: a WSGI application.
        tls: files for TLS; None for HTTP without it.
    """

    def __init__(self, listen: str, pages: WSGIApplication, tls: HttpTlsOptions | None = None) -> None:
        self._listen = listen
        self._tls = tls
        self._pages = pages
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """
        Listen.

        Raises:
            ValueError: `listen` is not an address.
            ConfigError: the files for TLS cannot be used.
            ConflictError: the address is in use.
            NotFoundError: this machine does not have the address, or the process may not use it.
        """
        host, port = host_and_port(self._listen)
        tls = None if self._tls is None else EndpointTls(self._tls)
        self._server = _Server(self._listen, host, port, self._pages, tls)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(SWEEP_S,), name="http-endpoint", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Its URL; with the chosen port after `start`."""
        scheme = "http" if self._tls is None else "https"
        if self._server is None:
            return f"{scheme}://{self._listen}"
        host, port = self._server.socket.getsockname()[:2]
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

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


class _Server(WSGIServer):
    """A server with a limited number of short-lived connections, each with its own thread."""

    allow_reuse_address = True  # a restart must not wait for connections in TIME_WAIT
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, listen: str, host: str, port: int, pages: WSGIApplication, tls: EndpointTls | None) -> None:
        self._tls = tls
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family = family
            super().__init__(address, _Handler)  # type: ignore[arg-type] # typeshed declares IPv4 addresses only
            self.set_app(pages)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ConflictError(
                    f'address "{listen}" is in use',
                    hint="stop the other process, or set service: http: listen to another port (0 takes a free one)",
                ) from error
            raise NotFoundError(
                f'cannot listen on "{listen}": {error.strerror or error}',
                hint="set service: http: listen to an address of this machine and a port of 1024 or above",
            ) from error

    def server_bind(self) -> None:
        """Bind the address, without the reverse DNS lookup of the library."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Answer in a thread; close the connection if there are too many."""
        assert isinstance(request, socket.socket)  # noqa: S101 for mypy: the other type is for UDP
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
        except RuntimeError:  # the machine has no threads left
            self._close(request)

    def _answer(self, request: socket.socket, client_address: object) -> None:
        try:
            with contextlib.suppress(OSError):  # the client disconnected, was too slow, or failed the TLS handshake
                if self._tls is not None:
                    secured = self._tls.wrapped(request)
                    self._replace(request, secured)
                    request = secured
                    handshake(secured, SILENCE_S)
                self.finish_request(request, client_address)
        finally:
            self._close(request)

    def _replace(self, request: socket.socket, secured: socket.socket) -> None:
        """Let the lifetime of a connection count for the one that replaces it."""
        with self._lock:
            self._open[secured] = self._open.pop(request)

    def _close(self, request: socket.socket) -> None:
        with self._lock:
            del self._open[request]
        end_tls(request)
        self.shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that are too old; their threads then end."""
        oldest_s = time.monotonic() - CONNECTION_S
        with self._lock:
            for request, since_s in self._open.items():
                if since_s < oldest_s:
                    _disconnect(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors of clients."""


def _disconnect(request: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be closed already
        # not the method of a connection with TLS, after which its thread could send in the clear
        socket.socket.shutdown(request, socket.SHUT_RDWR)


class _Handler(WSGIRequestHandler):
    """One request of a connection, answered by the pages."""

    timeout = SILENCE_S
    server_version = "attr2hbase"
    sys_version = ""

    def parse_request(self) -> bool:
        """
        Read the request line and the headers; answer a request whose headers have two meanings with status 400.

        The library skips lines that are no headers with all that follow them, and all but the first `Content-Length`:
        so a command could lose its content, and would be carried out with its defaults.
        """
        if not super().parse_request():
            return False
        lengths = self.headers.get_all("Content-Length", [])
        if self.headers.defects or len(lengths) > 1 or "" in lengths:
            self.send_error(HTTPStatus.BAD_REQUEST, "Malformed headers")
            return False
        return True

    def get_stderr(self) -> TextIO:
        """A discarded stream: pages log their own errors, so it gets only those of slow or disconnected clients."""
        return io.StringIO()

    def log_message(self, *_message: object) -> None:
        """Log nothing: probes arrive every few seconds."""

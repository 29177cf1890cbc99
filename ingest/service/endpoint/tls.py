"""TLS of the HTTP endpoint: certificates that are renewed while the service runs, and handshakes with a time limit."""

import contextlib
import socket
import ssl
import threading
from pathlib import Path

from ingest.api import ConfigError
from ingest.config.http_tls import HttpTlsOptions
from ingest.observe.logs import logger

_log = logger(__name__)

Mark = tuple[tuple[int, int, int], ...]


class EndpointTls:
    """
    Secures the connections that the HTTP endpoint accepts.

    If a certificate file changes, the next connection uses the new content. If the new content cannot be used, the
    previous one stays in use, and a warning is logged once.

    Called by the threads of the connections.

    Args:
        options: the files.

    Raises:
        ConfigError: a file does not exist, or has no certificate or key, or certificate and key do not match.
    """

    def __init__(self, options: HttpTlsOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._mark = self._mark_of_files()
        self._context = server_context(options)

    def wrapped(self, connection: socket.socket) -> ssl.SSLSocket:
        """
        The connection with TLS, before its handshake; `connection` itself is detached.

        Raises:
            OSError: the client has disconnected.
        """
        return self._current().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)

    def _current(self) -> ssl.SSLContext:
        with self._lock:
            mark = self._mark_of_files()
            if mark != self._mark:
                self._mark = mark
                try:
                    self._context = server_context(self._options)
                except ConfigError as error:
                    _log.warning("the previous certificate of the HTTP endpoint stays in use", reason=str(error))
                else:
                    _log.info("the certificate of the HTTP endpoint was read again")
            return self._context

    def _mark_of_files(self) -> Mark:
        """Modification time in nanoseconds, size and inode of each file; one of them changes with the content."""
        found = []
        for path in filter(None, (self._options.certificate, self._options.key, self._options.client_ca)):
            with contextlib.suppress(OSError):
                status = Path(path).stat()
                found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(found)


def server_context(options: HttpTlsOptions) -> ssl.SSLContext:
    """
    A context for TLS 1.2 and newer, which requires client certificates if `client_ca` is set.

    Raises:
        ConfigError: a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        # without a password OpenSSL would prompt for one at the terminal
        context.load_cert_chain(options.certificate, options.key, password="")
    except (OSError, ValueError) as error:
        files = f'"{options.certificate}" and "{options.key}"'
        raise _unusable(files, error) from error
    if options.client_ca is not None:
        try:
            context.load_verify_locations(options.client_ca)
        except (OSError, ValueError) as error:
            raise _unusable(f'"{options.client_ca}"', error) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def handshake(connection: ssl.SSLSocket, timeout_s: float) -> None:
    """
    The TLS handshake.

    Raises:
        OSError: it failed, or was not complete in time.
    """
    connection.settimeout(timeout_s)
    connection.do_handshake()


def end_tls(connection: socket.socket) -> None:
    """Send the end of the TLS session without waiting for the client's; without TLS, do nothing."""
    if isinstance(connection, ssl.SSLSocket):
        with contextlib.suppress(OSError, ValueError):  # the client has disconnected, or the handshake failed
            connection.settimeout(0)
            connection.unwrap()


def _unusable(files: str, error: Exception) -> ConfigError:
    reason = getattr(error, "strerror", None) or str(error)
    return ConfigError(
        f"{files} cannot be used for the HTTP endpoint: {reason}", hint="check service: {http: {tls: …}}"
    )

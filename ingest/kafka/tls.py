"""TLS of a connection to Kafka; imports no client."""

import ssl

from ingest.api import SourceError
from ingest.kafka.settings import TlsSettings
from ingest.tls import client_context


class CompleteSocket(ssl.SSLSocket):
    """
    A non-blocking socket that delivers what arrived before the end of the connection.

    kafka-python discards the bytes of a read if it also finds the end of the connection. A broker that rejects a login
    says why and closes the connection at once, so the reason would be lost. This socket reports the end only to a read
    of its own.
    """

    _has_delivered = False

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """
        The next bytes; empty at the end of the connection.

        Raises:
            SSLWantReadError: there are none now, or the end follows the bytes of the previous call.
        """
        received = super().recv(buflen, flags)
        was_delivering, self._has_delivered = self._has_delivered, bool(received)
        if not received and was_delivering:
            raise ssl.SSLWantReadError
        return received


def tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """
    A context that always checks the certificate and the host name of the server.

    Raises:
        SourceError: certificates or the key cannot be used.
    """
    return client_context(tls, SourceError, "check security: {tls: …}")

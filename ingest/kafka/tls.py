"""TLS of a connection to Kafka; imports no client."""

import ssl

from ingest.api import SourceError
from ingest.kafka.settings import TlsSettings


def tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """
    A context that always checks the certificate and the host name of the server.

    Raises:
        SourceError: certificates or the key cannot be used.
    """
    password = None if tls.key_password is None else tls.key_password.get_secret_value()
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.key_file is not None:
            # without a password OpenSSL would prompt for one at the terminal
            context.load_cert_chain(tls.key_file, password=password or "")
    except OSError as error:
        files = " or ".join(f'"{path}"' for path in (tls.ca_file, tls.key_file) if path is not None)
        raise SourceError(f"{files} cannot be used: {error}", hint="check security: {tls: …}") from error
    return context

"""
TLS of connections to masters and region servers.

HBase 2.6 has TLS (`hbase.server.netty.tls.enabled`): the handshake comes before all else on a connection. By default a
server also requires a certificate of the client (`hbase.server.netty.tls.client.auth.mode`).
"""

import ssl

from ingest.api import StoreError
from sinks.hbase.settings import HBaseTls


def tls_context(tls: HBaseTls) -> ssl.SSLContext:
    """
    A context that always checks the certificate and the host name of the server.

    Raises:
        StoreError: certificates or the key cannot be used.
    """
    password = None if tls.key_password is None else tls.key_password.get_secret_value()
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.key_file is not None:
            # without a password OpenSSL would prompt for one at the terminal
            context.load_cert_chain(tls.key_file, password=password or "")
    except OSError as error:
        files = " or ".join(f'"{path}"' for path in (tls.ca_file, tls.key_file) if path is not None)
        raise StoreError(f"{files} cannot be used: {error}", hint="check security: {tls: …} of the store") from error
    return context

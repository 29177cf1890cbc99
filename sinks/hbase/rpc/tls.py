"""
TLS of connections to masters and region servers.

HBase 2.6 has TLS (`hbase.server.netty.tls.enabled`): the handshake comes before all else on a connection. By default a
server also requires a certificate of the client (`hbase.server.netty.tls.client.auth.mode`).
"""

import ssl

from ingest.api import StoreError
from ingest.tls import client_context
from sinks.hbase.security import HBaseTls


def tls_context(tls: HBaseTls) -> ssl.SSLContext:
    """
    A context that always checks the certificate and the host name of the server.

    Raises:
        StoreError: certificates or the key cannot be used.
    """
    return client_context(tls, StoreError, "check security: {tls: …} of the store")

"""TLS of the connections to servers."""

import ssl
from typing import Protocol

from ingest.api import IngestError, Secret
from ingest.api.files import reason_of


class TlsFiles(Protocol):
    """The options of TLS that name files."""

    @property
    def ca_file(self) -> str | None:
        """Certificates to trust; None for those of the system."""

    @property
    def key_file(self) -> str | None:
        """Private key and certificate chain of the client; None for none."""

    @property
    def key_password(self) -> Secret | None:
        """Of the private key; None for none."""


def client_context(tls: TlsFiles, error: type[IngestError], hint: str) -> ssl.SSLContext:
    """
    A context that always checks the certificate and the host name of the server.

    Args:
        tls: the files.
        error: raised if certificates or the key cannot be used.
        hint: of that error.
    """
    password = None if tls.key_password is None else tls.key_password.get_secret_value()
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.key_file is not None:
            # without a password OpenSSL would prompt for one at the terminal
            context.load_cert_chain(tls.key_file, password=password or "")
    except OSError as reason:
        files = " or ".join(f'"{path}"' for path in (tls.ca_file, tls.key_file) if path is not None)
        raise error(f"{files} cannot be used: {reason_of(reason)}", hint=hint) from reason
    return context

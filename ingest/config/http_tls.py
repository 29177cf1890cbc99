"""Options for TLS of the HTTP endpoint."""

from pydantic import model_validator

from ingest.api import Model, option
from ingest.api.files import check_private_key


class HttpTlsOptions(Model):
    """TLS 1.2 or newer for the HTTP endpoint. The files are read again when they change."""

    certificate: str = option(
        "PEM file with the server's certificate, followed by its intermediate certificates.",
        example="/etc/ingest/tls.crt",
    )
    key: str = option(
        "PEM file with the private key of the certificate, without a password, readable by its owner alone.",
        example="/etc/ingest/tls.key",
    )
    client_ca: str | None = option(
        "PEM file with the authorities of client certificates. If it is set, a client without a certificate of one of "
        "them is refused. Commands such as `attr2hbase status` present `certificate` as theirs, so it must satisfy "
        "`client_ca`, too, and be issued for clients (clientAuth) as well as for servers.",
        default=None,
        example="/etc/ingest/clients-ca.crt",
    )

    @model_validator(mode="after")
    def _key_is_private(self) -> "HttpTlsOptions":
        check_private_key(self.key, "key")
        return self

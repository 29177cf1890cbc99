"""Options of secure connections to HBase, without heavy imports."""

import re
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import Model, Secret, option
from ingest.api.files import check_private_key

_CLIENT = re.compile(r"[^/@\s]+(/[^/@\s]+)?@[^/@\s]+")
_SERVER = re.compile(r"[^/@\s]+/[^/@\s]+(@[^/@\s]+)?")
_HOST = "_HOST"
KERBEROS_PACKAGE = "gssapi"
INSTALL_KERBEROS = (
    "install it on all machines that run the service or its tasks: pip install 'attr2hbase[kerberos]'; it is compiled "
    "with the headers of MIT Kerberos: apt-get install gcc python3-dev libkrb5-dev"
)


class HBaseTls(Model):
    """TLS; the server's certificate and host name are always checked."""

    ca_file: str | None = option(
        "PEM file with the certificates to trust; the system's when left out.", default=None, example="/etc/ssl/ca.pem"
    )
    key_file: str | None = option(
        "PEM file with the client's private key and certificate chain, readable by its owner alone. HBase requires one "
        "unless `hbase.server.netty.tls.client.auth.mode` says otherwise.",
        default=None,
        example="/etc/ssl/client.pem",
    )
    key_password: Secret | None = option(
        "Password of the private key.", default=None, example="${secret:hbase_key_password}"
    )

    @model_validator(mode="after")
    def _key_is_kept_safe(self) -> Self:
        check_private_key(self.key_file, "key_file")
        return self


class Qop(StrEnum):
    """What protects the bytes of a connection after the login: `hbase.rpc.protection` of the cluster."""

    AUTH = "auth"
    """Nothing; `authentication` in HBase."""
    AUTH_INT = "auth-int"
    """Checksums; `integrity` in HBase."""
    AUTH_CONF = "auth-conf"
    """Encryption; `privacy` in HBase."""

    @property
    def name_in_hbase(self) -> str:
        """The value of `hbase.rpc.protection`."""
        return {Qop.AUTH: "authentication", Qop.AUTH_INT: "integrity", Qop.AUTH_CONF: "privacy"}[self]


class HBaseKerberos(Model):
    """Login with Kerberos; needs the package `gssapi` and MIT Kerberos, with `/etc/krb5.conf`."""

    principal: str = option("Principal of the service.", example="ingest/h1.example.org@EXAMPLE.ORG")
    keytab: str | None = option(
        "File with the principal's keys, readable by its owner alone. It must exist on all machines that run tasks. "
        "When left out, the tickets come from `kinit`, and nothing renews them.",
        default=None,
        example="/etc/security/ingest.keytab",
    )
    server_principal: str = option(
        "Principal of the region servers, `hbase.regionserver.kerberos.principal` of the cluster. `_HOST` stands for "
        "the host name of each server; without a realm, it has the realm of `principal`.",
        default="hbase/_HOST",
        example="hbase/_HOST@EXAMPLE.ORG",
    )
    master_principal: str | None = option(
        "Principal of the masters, as `hbase.master.kerberos.principal`; the region servers' when left out.",
        default=None,
        example="hbase-master/_HOST@EXAMPLE.ORG",
    )
    qop: Qop = option(
        "What protects the connection after the login; one that `hbase.rpc.protection` of the cluster allows. "
        "auth-conf (privacy) encrypts it, auth-int (integrity) adds checksums, auth (authentication) does neither.",
        default="auth-conf",
        strict=False,
    )

    @field_validator("principal")
    @classmethod
    def _has_realm(cls, value: str) -> str:
        if not _CLIENT.fullmatch(value):
            raise PydanticCustomError(
                "wrong_type", '"{text}" is not a principal; write NAME@REALM or NAME/HOST@REALM', {"text": value}
            )
        return value

    @field_validator("server_principal", "master_principal")
    @classmethod
    def _has_host(cls, value: str | None) -> str | None:
        if value is not None and not _SERVER.fullmatch(value):
            raise PydanticCustomError(
                "wrong_type", '"{text}" is not the principal of a server; write hbase/_HOST@REALM', {"text": value}
            )
        return value

    @model_validator(mode="after")
    def _keytab_is_kept_safe(self) -> Self:
        check_private_key(self.keytab, "keytab", "the keys")
        return self

    def principal_of_master(self, host: str) -> str:
        """The principal of the master on a host."""
        return self._of_server(self.master_principal or self.server_principal, host)

    def principal_of_region_server(self, host: str) -> str:
        """The principal of the region server on a host."""
        return self._of_server(self.server_principal, host)

    def _of_server(self, pattern: str, host: str) -> str:
        name, _, realm = pattern.partition("@")
        service, _, on = name.partition("/")
        on = host.lower() if on == _HOST else on
        return f"{service}/{on}@{realm or self.principal.rpartition('@')[2]}"


class HBaseSecurity(Model):
    """Security of the connections: unless they are encrypted, the servers must be on this machine or `insecure` set."""

    tls: HBaseTls | None = option(
        "TLS, with `bootstrap_servers` and HBase 2.6 or newer; `{}` trusts the system's certificates. The files must "
        "exist on all machines that run tasks.",
        default=None,
        example={"ca_file": "/etc/ssl/ca.pem", "key_file": "/etc/ssl/client.pem"},
    )
    kerberos: HBaseKerberos | None = option(
        "Login with Kerberos, with `bootstrap_servers`; with or without `tls`.",
        default=None,
        example={"principal": "ingest@EXAMPLE.ORG", "keytab": "/etc/security/ingest.keytab"},
    )
    insecure: bool = option("True allows servers on other machines without encryption.", default=False)

    @property
    def is_encrypted(self) -> bool:
        """Whether the network cannot read the rows."""
        return self.tls is not None or (self.kerberos is not None and self.kerberos.qop is Qop.AUTH_CONF)

    @property
    def remedy(self) -> str:
        """How to allow servers on other machines."""
        if self.kerberos is not None:
            return "write `qop: auth-conf`, add security: {tls: {}}, or {insecure: true} if the network is trusted"
        return "add security: {tls: {}}, or {insecure: true} if the network is trusted"

    def check_packages(self) -> None:
        """Raise `PydanticCustomError` if a package is missing."""
        if self.kerberos is not None and find_spec(KERBEROS_PACKAGE) is None:
            raise PydanticCustomError(
                "unknown_reference",
                "{problem}",
                {
                    "problem": f'the Python package "{KERBEROS_PACKAGE}" is not installed',
                    "hint": INSTALL_KERBEROS,
                    "option": "security",
                },
            )

    def in_folder(self, folder: Path) -> Self:
        """The same, with absolute paths of files."""
        tls, kerberos = self.tls, self.kerberos
        return self.model_copy(
            update={
                "tls": tls and tls.model_copy(update=_in_folder(tls, folder, "ca_file", "key_file")),
                "kerberos": kerberos and kerberos.model_copy(update=_in_folder(kerberos, folder, "keytab")),
            }
        )


def _in_folder(options: Model, folder: Path, *names: str) -> dict[str, str]:
    """Absolute paths of the options that name a file."""
    return {name: str(folder / path) for name in names if (path := getattr(options, name)) is not None}

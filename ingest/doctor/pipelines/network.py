"""Checks of the way to servers: names resolve, ports are open, TLS handshakes succeed."""

import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ingest.doctor.examination import Finding, Found, Severity
from ingest.doctor.pipelines.guide import docs_of

TIMEOUT_S = 5.0
"""Of a connection; a working server accepts one within milliseconds."""
EXPIRES_SOON_S = 14 * 86_400.0

_MAX_LISTED = 3  # servers by name, in one line

Address = tuple[str, int]


def names(addresses: Sequence[Address], *, subject: str) -> Found:
    """Whether the hosts of a service have addresses."""
    runs = {host: partial(_resolve, host) for host, _ in addresses}
    return _each("names", runs, "does not resolve", subject, hint="check the name, and DNS or /etc/hosts")


def ports(addresses: Sequence[Address], *, subject: str, timeout_s: float = TIMEOUT_S) -> Found:
    """Whether the servers of a service accept connections."""
    runs = {shown(address): partial(_connect, address, timeout_s) for address in addresses}
    hint = "check that the server runs, its port, and firewalls"
    return _each("ports", runs, "does not accept connections", subject, hint=hint)


def tls(addresses: Sequence[Address], context: ssl.SSLContext, *, subject: str, timeout_s: float = TIMEOUT_S) -> Found:
    """Whether the servers of a service complete a TLS handshake, and for how long their certificates are valid."""
    expiring: list[Finding] = []

    def handshake(address: Address) -> str:
        with (
            socket.create_connection(address, timeout_s) as connection,
            context.wrap_socket(connection, server_hostname=address[0]) as secured,
        ):
            ends = str((secured.getpeercert() or {}).get("notAfter", ""))
            if ends and ssl.cert_time_to_seconds(ends) - time.time() < EXPIRES_SOON_S:
                expiring.append(_expiring(address, ends, subject))
            return f"{shown(address)} speaks {secured.version()}"

    hint = "check the certificate of the server, the host name in it, and ca_file and key_file under security: {tls: …}"
    runs = {shown(address): partial(handshake, address) for address in addresses}
    found = _each("tls", runs, "does not complete the TLS handshake", subject, hint=hint)
    return Found(found.text, (*found.findings, *expiring))


def shown(address: Address) -> str:
    """As HOST:PORT."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _resolve(host: str) -> str:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return f"{host} is {', '.join(dict.fromkeys(str(each[4][0]) for each in found))}"


def _connect(address: Address, timeout_s: float) -> str:
    with socket.create_connection(address, timeout_s):
        return f"{shown(address)} is open"


def _each(check: str, runs: Mapping[str, Callable[[], str]], problem: str, subject: str, *, hint: str) -> Found:
    """Run a check for each host; if only some fail, that is a warning, as the service may still be reached."""
    texts, failed = [], []
    for name, run in runs.items():
        try:
            texts.append(run())
        except (OSError, ValueError) as error:  # ValueError: a host that cannot be a name
            failed.append((name, error))
    severity = Severity.WARNING if texts else Severity.ERROR
    numbers = {"failed": len(failed), "of": len(runs)}
    findings = [
        Finding(
            check, severity, f"{name} {problem}: {_reason(error)}", subject, numbers, hint=hint, docs=docs_of(check)
        )
        for name, error in failed
    ]
    return Found(", ".join(texts) if len(texts) <= _MAX_LISTED else f"{len(texts)} servers", tuple(findings))


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _expiring(address: Address, ends: str, subject: str) -> Finding:
    return Finding(
        "tls",
        Severity.WARNING,
        f"the certificate of {shown(address)} ends on {ends}",
        subject,
        {"not_after": ends},
        hint="renew it",
        why="after that no client connects",
        docs=docs_of("tls"),
    )

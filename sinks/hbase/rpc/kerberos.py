"""
Tickets of Kerberos, and logins with them; the only file that imports `gssapi`.

With a keytab the tickets are in the memory of this process. MIT Kerberos (1.11 or newer) obtains the first one when
credentials are requested, and a new one with the first request after half of its lifetime. If no KDC answers then, it
returns the old one, and tries again with the next request. So a new connection has a valid ticket, unless no KDC
answered for half of a ticket's lifetime.

A connection may outlive its ticket: neither HBase's servers nor MIT Kerberos check a ticket after the login.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import gssapi
from gssapi.exceptions import ExpiredCredentialsError, GSSError

from sinks.hbase.rpc.errors import CredentialsError
from sinks.hbase.rpc.kerberos_errors import TICKET_EXPIRED, credentials_error, login_error
from sinks.hbase.rpc.protection import ProtectionError
from sinks.hbase.rpc.sasl import Login
from sinks.hbase.rpc.stream import Address
from sinks.hbase.security import HBaseKerberos

_FLAGS = (
    gssapi.RequirementFlag.mutual_authentication
    | gssapi.RequirementFlag.integrity
    | gssapi.RequirementFlag.confidentiality
    | gssapi.RequirementFlag.replay_detection
    | gssapi.RequirementFlag.out_of_sequence_detection
)
"""What a context must have; RFC 4752 requires these. Tickets are not delegated."""


class Kerberos:
    """
    Logins of one principal.

    Args:
        settings: of the store.
    """

    def __init__(self, settings: HBaseKerberos) -> None:
        self._settings = settings
        self._cache = 0

    def check(self) -> None:
        """
        Obtain a ticket, unless there is a valid one.

        Raises:
            CredentialsError: there is none, and none can be obtained.
            StoreUnavailableError: no KDC answers.
        """
        self._credentials()

    def at(self, address: Address, service: str) -> Sequence[Login]:
        """The logins to try at a server, in order: only the registry is a service of masters and region servers."""
        master = self._settings.principal_of_master(address.host)
        region_server = self._settings.principal_of_region_server(address.host)
        of_service = {
            "MasterService": [master],
            "ClientService": [region_server],
            "AdminService": [region_server],
        }
        principals = of_service.get(service, [master, region_server])
        return [
            Login(principal, self._settings.qop, partial(self._context, principal))
            for principal in dict.fromkeys(principals)
        ]

    def _context(self, principal: str) -> "_Context":
        return _Context(principal, self._credentials())

    def _credentials(self) -> gssapi.Credentials:
        principal, keytab = self._settings.principal, self._settings.keytab
        if keytab is not None:
            _check_readable(keytab)
        try:
            return self._acquired()
        except ExpiredCredentialsError as error:
            raise credentials_error(principal, TICKET_EXPIRED, "it has expired", has_keytab=False) from error
        except GSSError as error:
            raise credentials_error(principal, error.min_code, _text(error), has_keytab=keytab is not None) from error

    def _acquired(self) -> gssapi.Credentials:
        if self._settings.keytab is None:
            return _acquire(self._settings.principal, None)
        try:
            return _acquire(self._settings.principal, self._store(self._settings.keytab))
        except ExpiredCredentialsError:
            # an expired ticket hides why there is no new one
            self._cache += 1
            return _acquire(self._settings.principal, self._store(self._settings.keytab))

    def _store(self, keytab: str) -> dict[str, str]:
        """One cache for all stores of this process with this principal and keytab."""
        cache = f"MEMORY:attr2hbase {self._cache} {self._settings.principal} {keytab}"
        return {"client_keytab": f"FILE:{keytab}", "ccache": cache}


class _Context:
    """A context of GSSAPI; `SecurityContext` describes the methods."""

    def __init__(self, principal: str, credentials: gssapi.Credentials) -> None:
        self._principal = principal
        self._context = gssapi.SecurityContext(
            name=_name(principal),
            creds=credentials,
            usage="initiate",
            mech=gssapi.MechType.kerberos,
            flags=_FLAGS,
        )

    @property
    def is_established(self) -> bool:
        return bool(self._context.complete)

    def step(self, token: bytes) -> bytes:
        try:
            answer = self._context.step(token or None)
        except GSSError as error:
            raise login_error(self._principal, error.min_code, _text(error)) from error
        if self._context.complete and self._context.actual_flags & _FLAGS != _FLAGS:
            raise ProtectionError("the context lacks authentication of the server, or protection")
        return answer or b""

    def wrap(self, message: bytes, *, encrypt: bool) -> bytes:
        try:
            wrapped = self._context.wrap(message, encrypt)
        except GSSError as error:
            raise ProtectionError(_text(error)) from error
        if encrypt and not wrapped.encrypted:
            raise ProtectionError("a message cannot be encrypted")
        return bytes(wrapped.message)

    def unwrap(self, wrapped: bytes) -> tuple[bytes, bool]:
        try:
            found = self._context.unwrap(wrapped)
        except GSSError as error:
            raise ProtectionError(_text(error)) from error
        return bytes(found.message), bool(found.encrypted)

    def max_message(self, wrapped_bytes: int, *, encrypt: bool) -> int:
        try:
            return int(self._context.get_wrap_size_limit(wrapped_bytes, encrypted=encrypt))
        except GSSError as error:
            raise ProtectionError(_text(error)) from error


def _acquire(principal: str, store: dict[str, str] | None) -> gssapi.Credentials:
    found = gssapi.Credentials(name=_name(principal), usage="initiate", mechs=[gssapi.MechType.kerberos], store=store)
    _ = found.lifetime  # raises if the ticket has expired
    return found


def _name(principal: str) -> gssapi.Name:
    return gssapi.Name(principal, gssapi.NameType.kerberos_principal)


def _check_readable(keytab: str) -> None:
    """MIT Kerberos reports a missing keytab as missing tickets."""
    try:
        with Path(keytab).open("rb"):
            return
    except (OSError, ValueError) as error:
        raise CredentialsError(
            f'the keytab "{keytab}" cannot be read: {getattr(error, "strerror", None) or error}',
            hint="copy it to all machines that run the service or its tasks, readable by the user of the service",
        ) from error


def _text(error: GSSError) -> str:
    """The text for the minor status, else for the major status."""
    texts = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return "; ".join(texts or error.get_all_statuses(error.maj_code, True))

"""Our errors for those of MIT Kerberos."""

from ingest.api import IngestError, StoreUnavailableError
from sinks.hbase.rpc.errors import CredentialsError, LoginError

_BASE = -1765328384
"""`ERROR_TABLE_BASE_krb5` of krb5.h; the numbers below are added to it. Up to 127 they are those of RFC 4120."""
_UNSIGNED = 1 << 32
_NO_KDC = frozenset([154, 156, 220])
"""KRB5_REALM_UNKNOWN, KRB5_KDC_UNREACH, KRB5_REALM_CANT_RESOLVE."""
_NO_KEYS = frozenset([141, 195])
"""KRB5_CC_NOTFOUND, KRB5_FCC_NOFILE: nothing filled the ticket cache."""
TICKET_EXPIRED = _BASE + 32
_KINIT = "run kinit as the user of the service, or name a `keytab`"
_HINTS = {
    6: "the KDC does not know `principal`: correct it, or create it there",
    7: "correct `server_principal` and `master_principal`, which are hbase.regionserver.kerberos.principal and "
    "hbase.master.kerberos.principal in the hbase-site.xml of the cluster; `_HOST` becomes the host name that the meta "
    "table or `bootstrap_servers` has",
    14: "the KDC and the keytab have no encryption type in common: export the keytab again",
    18: "the KDC has locked `principal`",
    23: "the keys of `principal` have expired in the KDC: change them, and export the keytab again",
    24: "the keytab does not have the current keys of `principal`: export it again",
    31: "the keytab does not have the current keys of `principal`: export it again",
    32: _KINIT,
    37: "synchronize the clocks of this machine and the KDC",
    141: _KINIT,
    195: _KINIT,
}
_OTHER = "check `principal`, `keytab` and /etc/krb5.conf; KRB5_TRACE=/dev/stderr shows each step of Kerberos"


class KdcUnavailableError(StoreUnavailableError):
    """No server of Kerberos (KDC) answers, or /etc/krb5.conf names none for the realm."""

    code = "kdc_unavailable"
    hint = "check that the KDC runs, and the realm in `/etc/krb5.conf`; the service resumes by itself"


def credentials_error(principal: str, code: int, text: str, *, has_keytab: bool) -> IngestError:
    """
    Our error for an attempt to obtain a ticket for the service.

    Args:
        principal: of the service.
        code: the minor status of GSSAPI.
        text: for that status.
        has_keytab: whether the settings name a keytab.
    """
    what = f"there is no Kerberos ticket for {principal}"
    if has_keytab and _number(code) in _NO_KEYS:
        return CredentialsError(
            f"{what}: the keytab has no keys of it", hint="compare `principal` with the output of klist -k FILE"
        )
    return _error(CredentialsError, what, code, text, _OTHER if has_keytab else _KINIT)


def login_error(server: str, code: int, text: str) -> IngestError:
    """
    Our error for a login at a server.

    Args:
        server: its principal.
        code: the minor status of GSSAPI.
        text: for that status.
    """
    return _error(LoginError, f"the login at {server} failed", code, text, _OTHER)


def _error(kind: type[LoginError], what: str, code: int, text: str, hint: str) -> IngestError:
    number = _number(code)
    if number in _NO_KDC:
        return KdcUnavailableError(f"{what}: {text}")
    return kind(f"{what}: {text}", hint=_HINTS.get(number, hint))


def _number(code: int) -> int:
    return (code - _UNSIGNED if code >= _UNSIGNED // 2 else code) - _BASE

"""Who may control a service: who knows its token, unless a web page of another site sends the request."""

import contextlib
import hmac
import re
import secrets
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ingest.api import IntegrityError
from ingest.config.model import Configuration
from ingest.config.options import is_token
from ingest.durable import create_durably, file_errors, make_folder
from ingest.formats.addresses import host_and_port, is_this_machine

_TOKEN_BYTES = 32
_MIN_TOKEN_CHARS = 16
_HOST = re.compile(r"(?P<name>[^\s\[\]:/?#@]*|\[[^\s\[\]/?#@]*\])(?::[0-9]*)?")
"""A name, or an address of IPv6 in brackets; a port (RFC 9110, 7.2; RFC 3986, 3.2)."""


def token_file(local_dir: Path) -> Path:
    """The file with the token of a service whose configuration has none."""
    return local_dir / "control" / "token"


def made_token(local_dir: Path) -> str:
    """
    The token of a service whose configuration has none; written at its first start, readable only by its user.

    Raises:
        StoreUnavailableError: the disk is full or permission is denied.
        IntegrityError: the file has been changed and has no usable token.
    """
    file = token_file(local_dir)
    with file_errors(file):
        if file.exists():  # also on a full disk
            return token_in(file)
        make_folder(file.parent)
        with contextlib.suppress(FileExistsError):
            create_durably(file, secrets.token_urlsafe(_TOKEN_BYTES).encode())
        return token_in(file)


def token_in(file: Path) -> str:
    """
    The token in a file, without blanks at its ends.

    Raises:
        OSError: the file cannot be read.
        IntegrityError: it has no token, or one with characters that HTTP cannot send.
    """
    token = file.read_text(encoding="utf-8", errors="replace").strip()
    problem = None
    if not token:
        problem = "has no token"
    elif len(token) < _MIN_TOKEN_CHARS:
        problem = f"has a token of fewer than {_MIN_TOKEN_CHARS} characters"
    elif not is_token(token):
        problem = "has a token with other characters than printable ASCII"
    if problem is not None:
        raise IntegrityError(
            f'"{file}" {problem}', hint="remove it, then restart the service: it writes a new token there"
        )
    return token


def token_of(configuration: Configuration) -> str:
    """
    The token that commands of a service need: the configured one, else that in its folder, written if it is missing.

    Raises:
        StoreUnavailableError: the disk is full or permission is denied.
        IntegrityError: the file has been changed and has no usable token.
    """
    token = configuration.service.http.token
    return made_token(configuration.local_dir) if token is None else token.get_secret_value()


def access_of(configuration: Configuration) -> "Access":
    """
    The access to the service of a configuration.

    Raises: as `token_of`.
    """
    http = configuration.service.http
    host, _ = host_and_port(http.listen)
    return Access(token_of(configuration), host=host, is_private=http.tls is not None or is_this_machine(host))


MAX_CONTENT_BYTES = 1 << 20
"""Of a request; one for a job has a few hundred bytes, and 30 for each dead letter that it names."""
ERROR_CODE = "Error-Code"
"""Header of a refusal: the code of its error."""


class Refusal(NamedTuple):
    """The answer to a request that is not allowed."""

    status: HTTPStatus
    text: str


class Access:
    """
    Checks requests that change something.

    A page of another site can make a browser send a request here, also under a name of its own that it lets resolve to
    this machine (DNS rebinding). So `Host` must be an address, `localhost` or the host that the endpoint listens on,
    and `Origin` must be absent or this endpoint.

    Args:
        token: of the service.
        host: that the endpoint listens on.
        is_private: whether no other machine can read the token on its way.
    """

    def __init__(self, token: str, *, host: str, is_private: bool) -> None:
        self._token = token.encode()
        self._hosts = frozenset(["localhost", host.lower()])
        self._is_private = is_private

    def refusal(self, *, host: str, origin: str | None, authorization: str) -> Refusal | None:
        """
        Why a request is refused; None if it is allowed.

        Args:
            host: of the header `Host`, with the port.
            origin: of the header `Origin`; None if the request has none.
            authorization: of the header `Authorization`; "" if the request has none.
        """
        if not self._is_private:
            return Refusal(
                HTTPStatus.FORBIDDEN,
                "this address can be reached from other machines and has no TLS, so it takes no commands; "
                "set service: http: tls",
            )
        name = _name_of(host)
        if not (name in self._hosts or _is_address(name)):
            return Refusal(HTTPStatus.FORBIDDEN, f'"{host}" is not a name of this service')
        if origin is not None and _host_of(origin) != host:
            return Refusal(HTTPStatus.FORBIDDEN, "pages of other sites cannot send commands")
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
            return Refusal(
                HTTPStatus.UNAUTHORIZED, "send the token of this service in the header Authorization: Bearer TOKEN"
            )
        return None


def _name_of(host: str) -> str:
    """The name or address in a header `Host`; "" if the header has another form."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found["name"].strip("[]").lower()


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True

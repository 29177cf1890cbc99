"""Pages of servers over HTTP, with a time-out and a limit of their size."""

import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from ingest.api import ConfigError, NotFoundError

TIMEOUT_S = 10.0
"""Of a connection and of each read; a server with thousands of regions writes its metrics for seconds."""
MAX_BYTES = 64 << 20
"""Of a page; the metrics of a thousand regions take some megabytes."""


def fetched(url: str, *, timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES) -> bytes:
    """
    The content of a page; redirects are not followed.

    Raises:
        ConfigError: this is no http or https URL.
        NotFoundError: the server does not answer, or not with this page.
    """
    if not _is_url(url):
        raise ConfigError(f'"{url}" is not a URL', hint="write http://HOST:PORT/PATH")
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=ssl.create_default_context()), _NoRedirect)
    try:
        with opener.open(url, timeout=timeout_s) as answer:
            content: bytes = answer.read(max_bytes + 1)
            missing = answer.length or 0
    except urllib.error.HTTPError as error:
        error.close()
        raise NotFoundError(f'"{url}" answered {error.code} {error.reason}', hint="check the path") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise NotFoundError(f'"{url}" does not answer: {reason}', hint="check host and port") from error
    if len(content) > max_bytes:
        raise NotFoundError(f'the page "{url}" is larger than {max_bytes >> 20} MiB')
    if missing:
        raise NotFoundError(f'"{url}" closed the connection {missing} bytes before the end of the page')
    return content


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:  # brackets that are no address
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Fails on a redirect: a page of another address says nothing about this server."""

    def redirect_request(self, *_arguments: Any) -> None:
        """Sends no request: a redirect is an error."""

"""Calls of HTTP servers, with time-outs and a limit of the answer's size; redirects are not followed."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

_BLOCK_BYTES = 64 << 10
_HTTP_ERRORS = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of an HTTP server, also one that reports an error."""

    status: int
    reason: str
    content: bytes

    @property
    def is_error(self) -> bool:
        """Whether it reports an error."""
        return self.status >= _HTTP_ERRORS


class CallFailedError(Exception):
    """A call has no whole answer; the text has the reason and no part of the request."""


class TooLargeAnswerError(CallFailedError):
    """The answer is larger than the caller allows."""


def is_url(text: str) -> bool:
    """Whether a text is an http or https URL with a host."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # ValueError for one that is no number
    except ValueError:  # brackets that are no address
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def call(
    url: str,
    *,
    data: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    trusted: ssl.SSLContext | None = None,
    timeout_s: float,
    max_bytes: int,
    max_s: float | None = None,
) -> Answer:
    """
    The answer to a request: a POST if there are data, else a GET.

    A redirect is an answer, with a status from 300 on: it would send what the headers contain to another address.

    Args:
        url: as `is_url`.
        data: content of the request.
        headers: of the request.
        trusted: for https; by default the system's certificates are trusted.
        timeout_s: of the connection and of each read.
        max_bytes: of the answer.
        max_s: of all reads together, for a server that sends a byte now and then; None without a limit.

    Raises:
        CallFailedError: no answer, not a whole one, or a larger one.
    """
    request = urllib.request.Request(url, data=data, headers=dict(headers))  # noqa: S310 - callers check with `is_url`
    context = _context(url) if trusted is None else trusted
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirect)
    ends_s = None if max_s is None else time.monotonic() + max_s
    try:
        try:
            answer = opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            content = _content(answer, max_bytes, ends_s)
            missing = answer.length or 0
            found = Answer(answer.status, answer.reason, content)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise CallFailedError(str(getattr(error, "reason", None) or error or type(error).__name__)) from error
    if missing:
        raise CallFailedError(f"the connection was closed {missing} bytes before the end of the answer")
    return found


def _context(url: str) -> ssl.SSLContext:
    """The system's certificates, which take 20 ms to load, so not for http."""
    return ssl.create_default_context() if url.lower().startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _content(answer: Any, max_bytes: int, ends_s: float | None) -> bytes:
    blocks: list[bytes] = []
    size = 0
    while block := answer.read1(_BLOCK_BYTES):
        blocks.append(block)
        size += len(block)
        if size > max_bytes:
            raise TooLargeAnswerError(f"the answer has more than {max_bytes >> 10} KiB")
        if ends_s is not None and time.monotonic() > ends_s:
            raise CallFailedError("the answer is not complete in time")
    return b"".join(blocks)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Lets a redirect be the answer."""

    def redirect_request(self, *_arguments: Any) -> None:
        """Sends no request."""

"""Pages of servers over HTTP, with a time-out and a limit of their size."""

from ingest.api import ConfigError, NotFoundError
from ingest.http import CallFailedError, TooLargeAnswerError, call, is_url

TIMEOUT_S = 10.0
"""Of a connection and of each read; a server with thousands of regions writes its metrics for seconds."""
MAX_BYTES = 64 << 20
"""Of a page; the metrics of a thousand regions take some megabytes."""
_OK = range(200, 300)


def fetched(url: str, *, timeout_s: float = TIMEOUT_S, max_bytes: int = MAX_BYTES) -> bytes:
    """
    The content of a page; redirects are not followed.

    Raises:
        ConfigError: this is no http or https URL.
        NotFoundError: the server does not answer, or not with this page.
    """
    if not is_url(url):
        raise ConfigError(f'"{url}" is not a URL', hint="write http://HOST:PORT/PATH")
    try:
        answer = call(url, timeout_s=timeout_s, max_bytes=max_bytes)
    except TooLargeAnswerError as error:
        raise NotFoundError(f'the page "{url}" is larger than {max_bytes >> 20} MiB') from error
    except CallFailedError as error:
        raise NotFoundError(f'"{url}" does not answer: {error}', hint="check host and port") from error
    if answer.status not in _OK:
        raise NotFoundError(f'"{url}" answered {answer.status} {answer.reason}', hint="check the path")
    return answer.content

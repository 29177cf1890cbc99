"""Errors of HDFS and S3 as those of a disk: OSError with an errno."""

import contextlib
import errno
import re
import sys
from collections.abc import Iterator

from ingest.api import ConfigError

CREDENTIALS_HINT = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_CLIENT_ERRORS = {"botocore.exceptions": "BotoCoreError", "aiohttp": "ClientError"}
"""Module -> base class of the errors of S3's client; most are no OSError."""
_NO_LOGIN = frozenset({"NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"})
"""Errors of botocore before a request is sent."""
_SYSTEM_REASON = re.compile(r"\[Errno -?[0-9]+\] ([^()\[\]]+)")
_REFUSED_CONDITIONS = (409, 412)
"""HTTP status of a conditional write that was refused: beside another write, and after it."""


@contextlib.contextmanager
def remote_errors(path: str) -> Iterator[None]:
    """
    Give the errors of a block an errno; those of requests, of HDFS and of S3's client have none, or another one.

    Raises:
        ConfigError: there are no credentials.
    """
    try:
        yield
    except ImportError:
        raise
    except _expected() as error:
        if isinstance(error, OSError) and error.errno is not None and not _status(error):
            raise
        if type(error).__name__ in _NO_LOGIN:
            raise ConfigError(f'"{path}" cannot be opened: {error}', hint=CREDENTIALS_HINT) from error
        raise _numbered(error, path) from error


def _expected() -> tuple[type[Exception], ...]:
    """The errors of the clients; those of S3's only while it is in use."""
    loaded = ((sys.modules[module], name) for module, name in _CLIENT_ERRORS.items() if module in sys.modules)
    return (OSError, RuntimeError, *(getattr(module, name) for module, name in loaded))


def _status(error: Exception) -> int:
    """The HTTP status of an answer of S3; 0 for another error."""
    answer = getattr(error.__cause__, "response", None)
    return int(answer["ResponseMetadata"]["HTTPStatusCode"]) if isinstance(answer, dict) else 0


def _without_answer(error: Exception) -> str:
    """What requests says in the names of its classes when a server does not answer; "" for another error."""
    inner = error.args[0] if error.args else None
    pool, cause = getattr(inner, "pool", None), getattr(inner, "reason", inner)
    if pool is None:
        return ""
    if "Timeout" in type(cause).__name__:
        why = "it timed out"
    else:
        found = _SYSTEM_REASON.search(str(cause))
        why = str(cause) if found is None else found[1]
    return f"no answer of {pool.host}:{pool.port}: {why}"


def _numbered(error: Exception, path: str) -> OSError:
    text, status = _without_answer(error) or str(error), _status(error)
    lowered = text.lower()
    if isinstance(error, FileNotFoundError) or "filenotfound" in lowered:
        return FileNotFoundError(errno.ENOENT, text, path)
    is_there = status in _REFUSED_CONDITIONS or "already exist" in lowered or "destination exists" in lowered
    if isinstance(error, FileExistsError) or is_there:
        return FileExistsError(errno.EEXIST, text, path)
    if isinstance(error, PermissionError) or 400 <= status < 500:  # noqa: PLR2004 - refused, as HTTP has it
        return PermissionError(errno.EACCES, text, path)
    return OSError(errno.ENOSPC if "quota" in lowered else errno.EHOSTUNREACH, text, path)

"""Lines of a file argument, or of stdin."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from ingest.api import NotFoundError
from ingest.suggest import did_you_mean


def shown(name: str) -> str:
    """The file's name in messages."""
    return "<stdin>" if name == "-" else name


def lines_of(name: str) -> Iterator[bytes]:
    """
    Lines without their ends; `-` is stdin.

    Raises:
        NotFoundError: there is no such file, or it is a folder.
    """
    if name == "-":
        yield from (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
        return
    try:
        with Path(name).open("rb") as file:
            yield from (line.rstrip(b"\r\n") for line in file)
    except IsADirectoryError as error:
        raise NotFoundError(f'"{name}" is a folder', hint="give one of its files") from error
    except FileNotFoundError as error:
        raise NotFoundError(f'there is no file "{name}"', hint=_near(name)) from error


def content_of(name: str) -> bytes:
    """
    All of a file; `-` is stdin.

    Raises:
        NotFoundError: there is no such file, or it is a folder.
    """
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except IsADirectoryError as error:
        raise NotFoundError(f'"{name}" is a folder', hint="give one of its files") from error
    except FileNotFoundError as error:
        raise NotFoundError(f'there is no file "{name}"', hint=_near(name)) from error


def _near(missing: str) -> str:
    """A hint: the file of the same folder with a similar name, or where a relative path starts."""
    path = Path(missing)
    with contextlib.suppress(OSError):
        if similar := did_you_mean(str(path), [str(other) for other in path.parent.iterdir()]):
            return similar
    return "a relative path starts at the working directory"

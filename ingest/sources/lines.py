"""
Files and their lines as the files source reads them, without Spark.

A record is a line: its topic is the absolute path of the file without symbolic links (as `file_names` writes it), its
offset the position of its first byte in the uncompressed file, its time the modification time of the file.
"""

import errno
import glob
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from ingest.api import IngestError, SourceUnavailableError, UnreadError
from ingest.sources.file_names import path_of, text_of

MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is cut, so that it fits into a dead letter
PARTITION = 0  # of every line

GONE = (FileNotFoundError, NotADirectoryError)
"""Errors that mean that a file does not exist; after any other error it may exist."""

_BUFFER_BYTES = 1 << 20


class UnreadableFileError(UnreadError):
    """A file that no retry can read: it is damaged, was removed, or is another one than it was."""

    code = "damaged_file"


def files_at(path: str) -> Iterator[tuple[str, dict[str, int]]]:
    """
    The files that the option `path` matches now, in no order: text of the path, size and modification time.

    A file may occur twice, through symbolic links. Files whose name begins with a dot or an underscore are skipped.

    Raises:
        SourceUnavailableError: the folder or a file cannot be examined now.
    """
    for name in _names(path):
        file = Path(name)
        if file.name.startswith((".", "_")):
            continue
        try:
            status = file.stat()
        except OSError as error:
            if isinstance(error, GONE) or error.errno == errno.ELOOP:
                continue  # removed since, or a symbolic link to nothing
            raise unread(text_of(file), error) from error
        if stat.S_ISREG(status.st_mode):
            yield text_of(file.resolve()), size_and_time(status)


def size_and_time(status: os.stat_result) -> dict[str, int]:
    """The size and the modification time of a file."""
    return {"size": status.st_size, "mtime_ms": status.st_mtime_ns // 1_000_000}


def is_gzip(path: str) -> bool:
    """Whether the file is read as gzip, which has no random access."""
    return path.endswith(".gz")


def lines_of(path: str, max_event_bytes: int, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, bytes]]:
    """
    (offset, line) for each line whose first byte is in [start, stop); a gzip file is always read to its end.

    Args:
        path: text of a path.
        max_event_bytes: see `lines_in`.
        start: first byte of the range.
        stop: end of the range; None for the end of the file.

    Raises:
        UnreadableFileError: the file does not exist, or cannot be decompressed; after the lines before the damage.
        SourceUnavailableError: it cannot be read now.
    """
    with _read_errors(path), _opened(path) as file:
        offset = 0
        if start > 0:
            # the range begins inside a line unless the byte before it ends one
            file.seek(start - 1)
            offset = start - 1 + _skip_line(file)
        yield from lines_in(file, max_event_bytes, offset, None if is_gzip(path) else stop)


def check_readable(path: str) -> None:
    """
    Check that a file can be read to its end.

    Raises:
        UnreadableFileError: as `lines_of`; no line of the file need be read before it is known.
        SourceUnavailableError: as `lines_of`.
    """
    if is_gzip(path):
        bytes_in(path)
    else:
        with _read_errors(path), _opened(path):
            pass


def bytes_in(path: str) -> int:
    """
    Number of bytes of a file, uncompressed; it is read to its end, so that each damage is found.

    Raises:
        UnreadableFileError: as `lines_of`.
        SourceUnavailableError: as `lines_of`.
    """
    size = 0
    with _read_errors(path), _opened(path) as file:
        while piece := file.read(_BUFFER_BYTES):
            size += len(piece)
    return size


def lines_in(
    file: IO[bytes], max_event_bytes: int, offset: int = 0, stop: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """
    (offset, line without its end) from the position of an open file up to `stop`.

    A line is complete up to MAX_LINE_BYTES even if decoding will reject it, so that its dead letter contains all of it.
    A longer line is cut there, because a file without line ends must not fill the memory.
    """
    while stop is None or offset < stop:
        line = file.readline(max(max_event_bytes, MAX_LINE_BYTES) + len(b"\r\n"))
        if not line:
            return
        yield offset, line.removesuffix(b"\n").removesuffix(b"\r")
        offset += len(line)
        if not line.endswith(b"\n"):
            offset += _skip_line(file)


def unread(path: str, error: OSError) -> IngestError:
    """The error of a file that cannot be read."""
    if isinstance(error, GONE):
        return UnreadableFileError(f'"{path}" was removed before it was read completely', code="removed_file")
    return SourceUnavailableError(
        f'"{path}" cannot be read: {error.strerror or error}',
        hint="the pipeline resumes once its user may read the file and the disk returns it",
    )


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        # the classes of damage that a decompressor finds; a file with a wrong name has the last one
        raise UnreadableFileError(f'"{path}" cannot be decompressed: {error}') from error
    except OSError as error:
        raise unread(path, error) from error


def _skip_line(file: IO[bytes]) -> int:
    skipped = 0
    while piece := file.readline(_BUFFER_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _opened(path: str) -> IO[bytes]:
    file = path_of(path)
    return cast("IO[bytes]", gzip.open(file, "rb")) if is_gzip(path) else file.open("rb", buffering=_BUFFER_BYTES)


def _names(path: str) -> list[str]:
    """The names in a folder, the matches of a glob, or the one file; any may not exist any more."""
    if os.path.isdir(path):  # noqa: PTH112 - a glob is text, not a path
        try:
            return [os.path.join(path, name) for name in os.listdir(path)]  # noqa: PTH118, PTH208 - the same
        except OSError as error:
            raise unread(path, error) from error
    return glob.glob(path) if glob.has_magic(path) else [path]  # noqa: PTH207 - patterns may be absolute

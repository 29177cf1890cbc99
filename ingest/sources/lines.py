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
from hashlib import blake2b
from io import BufferedReader
from pathlib import Path
from typing import IO, cast

from ingest.api import Encoding, IngestError, SourceUnavailableError, UnreadError
from ingest.sources.file_names import path_of, text_of
from ingest.sources.line_ends import LINE_ENDS, LineEnds, encoding_by_mark

MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is cut, so that it fits into a dead letter
PARTITION = 0  # of every line

GONE = (FileNotFoundError, NotADirectoryError)
"""Errors that mean that a file does not exist; after any other error it may exist."""

QUIET_MS = 10_000
"""A last line without a line end is read once its file has not changed for so long: until then it may go on."""

_BUFFER_BYTES = 1 << 20
_TAIL_BYTES = 1024
_MOST_MARK_BYTES = 3


def may_go_on(mtime_ms: int, now_ms: int) -> bool:
    """Whether a file changed so short a time ago that its last line may go on; a file server's clock may be ahead."""
    return abs(now_ms - mtime_ms) < QUIET_MS


class UnreadableFileError(UnreadError):
    """
    A gzip file is truncated, damaged or no gzip file, or a file has the byte order mark of another encoding.

    Its subclasses say that a file was removed, or is another one than it was; no retry can read any of them.
    """

    code = "damaged_file"
    remedy = "Repair the file, or copy it again; then replay the dead letter."


class RemovedFileError(UnreadableFileError):
    """A file was removed before all of it was read."""

    code = "removed_file"
    remedy = "Put the file back; then replay the dead letter."


class ChangedFileError(UnreadableFileError):
    """A file of the files source is not as it was discovered, or is at the path of one that was read before."""

    code = "changed_file"
    remedy = "Give a new file another name; replay the dead letter to read what is at the path now."


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


def lines_of(
    path: str, max_event_bytes: int, start: int = 0, stop: int | None = None, encoding: Encoding = Encoding.UTF8
) -> Iterator[tuple[int, bytes]]:
    """
    (offset, line) for each line whose first byte is in [start, stop); a gzip file is always read to its end.

    Args:
        path: text of a path.
        max_event_bytes: see `lines_in`.
        start: first byte of the range.
        stop: end of the range; None for the end of the file.
        encoding: see `lines_in`.

    Raises:
        UnreadableFileError: the file does not exist, cannot be decompressed, or has another encoding; after the lines
            before the damage.
        SourceUnavailableError: it cannot be read now.
    """
    with _read_errors(path), _opened(path) as file:
        ends = _line_ends(file, encoding, path)
        offset = start + -start % ends.width
        if offset > 0:
            # the range begins inside a line unless the characters before it end one
            file.seek(offset - ends.width)
            offset += ends.skip_line(file) - ends.width
        yield from _lines_in(file, ends, max_event_bytes, offset, None if is_gzip(path) else stop)


def check_readable(path: str, encoding: Encoding = Encoding.UTF8) -> None:
    """
    Check that a file can be read to its end.

    Raises:
        UnreadableFileError: as `lines_of`; no line of the file need be read before it is known.
        SourceUnavailableError: as `lines_of`.
    """
    if is_gzip(path):
        lengths_of(path, encoding)
    with _read_errors(path), _opened(path) as file:
        _line_ends(file, encoding, path)


def lengths_of(path: str, encoding: Encoding = Encoding.UTF8) -> tuple[int, int]:
    """
    Number of bytes of a file, uncompressed, and up to the end of its last line that has one.

    A gzip file is read to its end, so that each damage is found.

    Raises:
        UnreadableFileError: as `lines_of`.
        SourceUnavailableError: as `lines_of`.
    """
    if not is_gzip(path):
        with _read_errors(path):
            size = path_of(path).stat().st_size
        return size, end_of_last_line(path, size, encoding)
    size = ended = 0
    with _read_errors(path), _opened(path) as file:
        ends = _line_ends(file, encoding, path)
        while piece := file.read(_BUFFER_BYTES):
            ended = size + after if (after := ends.after_last(piece)) is not None else ended
            size += len(piece)
    return size, ended


def end_of_last_line(path: str, stop: int, encoding: Encoding = Encoding.UTF8) -> int:
    """
    Where the last line that has a line end ends in the first `stop` bytes of a plain file; 0 without one.

    Raises:
        UnreadableFileError: as `lines_of`.
        SourceUnavailableError: as `lines_of`.
    """
    with _read_errors(path), _opened(path) as file:
        ends = _line_ends(file, encoding, path)
        after = stop - stop % ends.width
        while after > 0:
            begin = max(0, after - 1) // _BUFFER_BYTES * _BUFFER_BYTES
            file.seek(begin)
            found = ends.after_last(file.read(after - begin))
            if found is not None:
                return begin + found
            after = begin
    return 0


def tail_of(path: str, size: int) -> str:
    """
    A hash of the last KiB before an offset, as the file is stored: equal if a file has only grown since.

    Raises:
        UnreadableFileError: as `lines_of`.
        SourceUnavailableError: as `lines_of`.
    """
    with _read_errors(path), path_of(path).open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        return blake2b(file.read(min(size, _TAIL_BYTES)), digest_size=8).hexdigest()


def lines_in(
    file: BufferedReader, max_event_bytes: int, name: str, encoding: Encoding = Encoding.UTF8
) -> Iterator[tuple[int, bytes]]:
    """
    (offset, line without its end) of an open file, from its beginning.

    A line is complete up to MAX_LINE_BYTES even if decoding will reject it, so that its dead letter contains all of it.
    A longer line is cut there, because a file without line ends must not fill the memory. The first line has no byte
    order mark, and a file that consists of one has no line.

    Args:
        file: the open file.
        max_event_bytes: largest line that decoding accepts.
        name: of the file, for messages.
        encoding: of the file; a mark of UTF-16 counts in place of `utf8`.

    Raises:
        UnreadableFileError: the file has a byte order mark of another encoding.
    """
    yield from _lines_in(file, _line_ends(file, encoding, name), max_event_bytes, 0, None)


def _lines_in(
    file: IO[bytes], ends: LineEnds, max_event_bytes: int, offset: int, stop: int | None
) -> Iterator[tuple[int, bytes]]:
    """(offset, line without its end) from the position of an open file up to `stop`."""
    most = max(max_event_bytes, MAX_LINE_BYTES) + len(ends.cr + ends.lf)
    while stop is None or offset < stop:
        line = ends.read_line(file, most)
        if not line or (offset == 0 and line == ends.mark):
            return
        text = ends.without_end(line)
        yield offset, text.removeprefix(ends.mark) if offset == 0 else text
        offset += len(line)
        if not line.endswith(ends.lf):
            offset += ends.skip_line(file)


def _line_ends(file: BufferedReader, encoding: Encoding, name: str) -> LineEnds:
    """How the lines of a file at its beginning end."""
    marked = encoding_by_mark(file.peek(_MOST_MARK_BYTES)) or encoding
    if encoding not in {marked, Encoding.UTF8}:
        raise UnreadableFileError(f'"{name}" has the byte order mark of {marked}, `encoding` is {encoding}')
    return LINE_ENDS[marked]


def unread(path: str, error: OSError) -> IngestError:
    """The error of a file that cannot be read."""
    if isinstance(error, GONE):
        return RemovedFileError(f'"{path}" was removed before it was read completely')
    if isinstance(error, IsADirectoryError):
        return ChangedFileError(f'"{path}" is a folder now')
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


def _opened(path: str) -> BufferedReader:
    file = path_of(path)
    if is_gzip(path):
        return cast("BufferedReader", gzip.open(file, "rb"))  # it has all methods of one
    return cast("BufferedReader", file.open("rb", buffering=_BUFFER_BYTES))


def _names(path: str) -> list[str]:
    """The names in a folder, the matches of a glob, or the one file; any may not exist any more."""
    if os.path.isdir(path):  # noqa: PTH112 - a glob is text, not a path
        try:
            return [os.path.join(path, name) for name in os.listdir(path)]  # noqa: PTH118, PTH208 - the same
        except OSError as error:
            raise unread(path, error) from error
    return glob.glob(path) if glob.has_magic(path) else [path]  # noqa: PTH207 - patterns may be absolute

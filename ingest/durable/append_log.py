"""A file of lines that only grows: each line is durable when it was appended, and a torn last line is recognised."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from ingest.api import IntegrityError
from ingest.durable.files import append_durably, file_errors, make_folder, sync_folder
from ingest.durable.remote import RemotePath, StatePath

_CRC_CHARS = 8
_CANCEL = b"\x18\n"
"""Ends a line that was written in part, so that readers skip it. Source: CAN, cancel, of ECMA-48."""


class AppendLog:
    """
    Appends lines to a file, with one write and one sync each; one process at a time.

    A line is the CRC-32 of its content in hexadecimal, a space, the content and a newline. A crash during an append
    leaves at most one line without a valid checksum, at the end. It was never reported as durable, and `lines_of`
    ignores it. The first `append` of another process, and the next one after an error, removes it.

    On a cluster that `append` cancels it instead, with the byte 0x18 and a newline. The file is never rewritten there:
    a process that was suspended would remove the lines that another one has appended since.

    Each method raises StoreUnavailableError if the disk is full or permission is denied, and IntegrityError if the disk
    fails.

    Args:
        path: of the file; the first `append` creates it and its folder.
    """

    def __init__(self, path: StatePath) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._may_be_torn = True

    def append(self, *contents: bytes) -> None:
        """
        Append lines in one write; durable when this returns. After an error none, some or all of them are in the file.

        Args:
            contents: without newlines.
        """
        lines = b"".join(map(_framed, contents))
        path = self.path
        with file_errors(path):
            if isinstance(path, RemotePath):
                self._append_remote(path, lines)
                return
            try:
                if self._descriptor is None:
                    self._descriptor = _opened(path)
                remaining = memoryview(lines)
                while remaining:
                    remaining = remaining[os.write(self._descriptor, remaining) :]
                os.fdatasync(self._descriptor)
            except OSError:
                self.close()  # the next append removes a line that was written in part
                raise

    def _append_remote(self, path: RemotePath, lines: bytes) -> None:
        may_be_torn, self._may_be_torn = self._may_be_torn, True  # after an error, until an append succeeds
        if may_be_torn:
            make_folder(path.parent)
            if path.exists():
                lines = _CANCEL + lines  # without a torn line it is a line of its own, and skipped as well
        append_durably(path, lines)
        self._may_be_torn = False

    def close(self) -> None:
        """Close the file; may be called twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def lines_of(path: StatePath) -> Iterator[bytes]:
    """
    The contents of the lines, oldest first; none if there is no such file. A process may append meanwhile.

    Raises:
        IntegrityError: a line before the last one is damaged.
        StoreUnavailableError: the file cannot be read now.
    """
    torn: int | None = None
    with file_errors(path):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return
        with file:
            for number, line in enumerate(file, start=1):
                if torn is not None:
                    break
                content = _content(line)
                if content is not None:
                    yield content
                elif not line.endswith(b"\n"):
                    return  # the end of the file at this moment; its writer may be within an append
                elif not line.endswith(_CANCEL):
                    torn = number
            else:
                return
    raise IntegrityError(
        f'line {torn} of "{path}" is damaged', hint="restore the file from a copy, or move it away"
    ) from None


def _framed(content: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _content(line: bytes) -> bytes | None:
    """The content of a line; None if the line is incomplete or does not match its checksum."""
    content = line[_CRC_CHARS + 1 : -1]
    return content if line == _framed(content) else None


def _opened(path: Path) -> int:
    """A descriptor for appending, after the removal of a torn last line."""
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        sync_folder(path.parent)  # also for a file that exists: its writer may have been killed before its own sync
        content = path.read_bytes()
        complete = _without_torn_line(content)
        if complete != content:
            os.ftruncate(descriptor, len(complete))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _without_torn_line(content: bytes) -> bytes:
    """The content up to its last line, if a crash has left that in part; all of it otherwise."""
    last = content.rfind(b"\n", 0, len(content) - 1) + 1  # start of the last line, complete or not
    return content[:last] if content and _content(content[last:]) is None else content

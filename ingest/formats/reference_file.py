"""A file that a step looks things up in: read when the step is made, and again when it has changed."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic_core import PydanticCustomError

from ingest.api import Disposition, IngestError

T = TypeVar("T")
Mark = tuple[int, int, int]

_RESTS_S = 2.0  # a file written to less than this ago may not be whole yet


class ReferenceFileError(IngestError):
    """A file that a step looks things up in is not there, or is not what it was to be."""

    code = "reference_file"
    disposition: ClassVar[Disposition] = Disposition.RETRY
    exit_code: ClassVar[int] = 3


class ReferenceFile(Generic[T]):
    """
    What a file holds, kept in memory, so that nothing that happens to the file changes what a step gives.

    Made with the step, refreshed where a share of a micro-batch begins. A file that can not be read then is no reason
    to go on with what it held before, nor to fail events: the error says that nothing is acknowledged until it can.

    Args:
        path: seen from the current folder.
        read: makes the content; raises OSError or ValueError for a file it can not use.
        now: seconds since the epoch, to tell whether a file was written to just now.

    Raises:
        ReferenceFileError: the file can not be read.
    """

    def __init__(self, path: str, read: Callable[[Path], T], now: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._read = read
        self._now = now
        before = self._mark()
        self.content = self._content()
        self._known = self._mark()
        if self._known != before:
            raise self._error("it is being written to")

    def refresh(self) -> bool:
        """
        Read the file again when it has changed and is at rest; whether there is new content.

        While it is being written to, and for two seconds after, the content stays what it was. A file that is written
        beside its place and then renamed is taken at once when it is older than that.

        Raises:
            ReferenceFileError: it is gone or broken; the content stays what it was.
        """
        mark = self._mark()
        if mark == self._known or abs(self._now() - mark[0] / 1e9) < _RESTS_S:
            return False
        content = self._content()
        if self._mark() != mark:
            return False
        self._known, self.content = mark, content
        return True

    def _mark(self) -> Mark:
        """Time of change in nanoseconds, size and inode: what differs when the file has another content."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _content(self) -> T:
        try:
            return self._read(self._path)
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error
        except ValueError as error:
            raise self._error(str(error)) from error

    def _error(self, reason: str) -> ReferenceFileError:
        hint = "put a good one in its place"
        if not self._path.is_absolute():
            hint += f'; paths are seen from the folder you start in, now "{Path.cwd()}"'
        return ReferenceFileError(f'can not use "{self._path}": {reason}', hint=hint)


def check_file(path: str, read: Callable[[Path], object], option: str = "path") -> None:
    """
    Check in the validator of options that a file they name can be read.

    Raises:
        PydanticCustomError: it can not; becomes a problem at the place of the option.
    """
    try:
        ReferenceFile(path, read)
    except ReferenceFileError as error:
        raise PydanticCustomError(
            "unknown_reference",
            "{problem}",
            {"problem": error.message, "hint": error.hint or "", "option": option},
        ) from error

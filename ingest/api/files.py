"""
Files and folders that options name, all on this machine.

- A `LocalPath` is only the path.
- A `SmallFile` is part of the configuration, such as a schema: the driver reads it once, with the configuration, and
  sends its content to the workers, so all tasks of a run use the same content.
- A `ReferenceFile` is data, such as a database of addresses: of any size, on every machine that runs tasks, and read
  again after it has changed.
"""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, BinaryIO, ClassVar, Generic, TypeVar

from pydantic import AfterValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ingest.api.errors import Disposition, IngestError

T = TypeVar("T")
Mark = tuple[tuple[int, int, int], ...]

MAX_FILE_BYTES = 4 * 1024 * 1024  # of a small file: every micro-batch sends it to the workers
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)
_GROUP_AND_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_ROOT = 0
_MIN_AGE_S = 2.0  # a file that was modified less than this ago may be incomplete


def local_path(path: str) -> str:
    """
    The path itself. A URL is refused: it would create a folder named `hdfs:`.

    Raises:
        PydanticCustomError: it is a URL.
    """
    if _URL.fullmatch(path):
        raise PydanticCustomError("wrong_type", '"{path}" is a URL; write a path of this machine', {"path": path})
    return path


LocalPath = Annotated[str, AfterValidator(local_path)]
"""A path, a folder or a glob of this machine."""


@dataclass(frozen=True, slots=True)
class SmallFile:
    """
    A file, written as its path in YAML; a type for the fields of a component's settings.

    It is read while the configuration is checked, so a missing file is a problem with its place. The plan contains its
    content, so all workers use the same content and need no file. A relative path is relative to the current folder of
    the command.
    """

    path: str
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> "SmallFile":
        """
        Read a file.

        Raises:
            PydanticCustomError: it does not exist, cannot be read, or is too large.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            raise _problem("unknown_reference", path, reason_of(error)) from error
        if len(content) > MAX_FILE_BYTES:
            raise _problem("too_large", path, f"it has more than {MAX_FILE_BYTES >> 20} MiB")
        return cls(path, content)

    def __str__(self) -> str:
        return self.path

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls.read, core_schema.str_schema(strict=True), serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string"}


class ReferenceFileError(IngestError):
    """A reference file of a decorator is missing or damaged. No event is lost."""

    code = "reference_file"
    remedy = "Replace it by a valid file; the service resumes by itself."
    disposition: ClassVar[Disposition] = Disposition.RETRY
    exit_code = 3


class ReferenceFile(Generic[T]):
    """
    The content of a file, kept in memory, so that changes of the file within a split do not change the output.

    Created with its decorator, refreshed at the start of each split. If the file cannot be read then, the decorator
    neither uses the old content nor fails events: the error blocks the pipeline until the file can be read.

    Args:
        path: relative to the current folder.
        read: parses the content; raises OSError or ValueError for a file it cannot use.
        now: seconds since the epoch, to detect a file that is being written.
        beside: suffixes of further files that may exist beside `path` and hold a part of the content.

    Raises:
        ReferenceFileError: the file cannot be read.
    """

    def __init__(
        self,
        path: str,
        read: Callable[[Path], T],
        now: Callable[[], float] = time.time,
        *,
        beside: Iterable[str] = (),
    ) -> None:
        self._path = Path(path)
        self._beside = [Path(path + ending) for ending in beside]
        self._read = read
        self._now = now
        before = self._mark()
        self.content = self._content()
        self._known = self._mark()
        if self._known != before:
            raise self._error("it is being written to")

    def refresh(self) -> bool:
        """
        Read the file again if it has changed and is complete; whether there is new content.

        While the file is being written to, and for two seconds after, the old content stays in use. A file that was
        written elsewhere more than two seconds ago and then renamed is read at once.

        Raises:
            ReferenceFileError: it does not exist or is broken; the content stays as it was.
        """
        mark = self._mark()
        if mark == self._known:
            return False
        now_s = self._now()
        if any(abs(now_s - changed_ns / 1e9) < _MIN_AGE_S for changed_ns, _, _ in mark):
            return False
        content = self._content()
        if self._mark() != mark:
            return False
        self._known, self.content = mark, content
        return True

    def _mark(self) -> Mark:
        """Modification time in nanoseconds, size and inode of each file: one of them changes with the content."""
        found = []
        try:
            own = self._path.stat()
            for path in self._beside:
                with contextlib.suppress(FileNotFoundError):
                    found.append(path.stat())
        except (OSError, ValueError) as error:
            raise self._error(reason_of(error)) from error
        # reading may create an empty file, which is ignored
        relevant = [own, *(each for each in found if each.st_size)]
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in relevant)

    def _content(self) -> T:
        try:
            return self._read(self._path)
        except (OSError, ValueError) as error:
            raise self._error(reason_of(error)) from error

    def _error(self, reason: str) -> ReferenceFileError:
        return ReferenceFileError(_message(str(self._path), reason), hint=_hint(self._path))


def check_file(path: str, read: Callable[[Path], object], option: str = "path") -> None:
    """
    Check, in a validator of options, that a file they name can be read.

    An error of pydantic that `read` raises is raised as it is.

    Raises:
        PydanticCustomError: it cannot be read; becomes a problem at the place of the option.
    """
    try:
        ReferenceFile(path, read)
    except ReferenceFileError as error:
        if isinstance(error.__cause__, PydanticCustomError):
            raise error.__cause__ from error  # it names the option that is wrong
        raise PydanticCustomError(
            "unknown_reference",
            "{problem}",
            {"problem": error.message, "hint": error.hint or "", "option": option},
        ) from error


def open_regular(path: str | Path) -> BinaryIO:
    """
    Open a regular file for reading.

    A named pipe would block until a process writes to it, and a device may have no end.

    Raises:
        OSError: it cannot be opened, or neither it nor what it is a link to is a regular file.
        ValueError: the path has a NUL.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def check_private_key(path: str | None, option: str, content: str = "the private key") -> None:
    """
    Check, in a validator of options, that only the owner of a private key can use its file.

    A file that cannot be examined passes: it may exist only on the machine that runs the pipeline, and whoever opens it
    there reports that it is missing. The group may read a file of root: Kubernetes mounts a secret so for a process of
    another account.

    Args:
        path: of the file; None passes.
        option: that names it.
        content: of the file, for the message.

    Raises:
        PydanticCustomError: other accounts may read, write or execute it; becomes a problem at the place of the option.
    """
    if path is None:
        return
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return
    is_mounted = status.st_uid == _ROOT and os.geteuid() != _ROOT
    if status.st_mode & (_GROUP_AND_OTHERS & ~stat.S_IRGRP if is_mounted else _GROUP_AND_OTHERS):
        raise PydanticCustomError(
            "conflict",
            'others can read {content} in "{path}"; run chmod 600 on it',
            {"content": content, "path": path, "option": option},
        )


def reason_of(error: OSError | ValueError) -> str:
    """Why a file cannot be used, as the system says it."""
    return getattr(error, "strerror", None) or str(error)


def _message(path: str, reason: str) -> str:
    return f'cannot use "{path}": {reason}'


def with_folder(hint: str, path: Path) -> str:
    """A hint about a file, with the folder that its path is relative to."""
    return hint if path.is_absolute() else f'{hint}; paths are relative to the current folder, "{Path.cwd()}"'


def _hint(path: Path) -> str:
    return with_folder("replace it by a valid file", path)


def _problem(kind: str, path: str, reason: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{problem}", {"problem": _message(path, reason), "hint": _hint(Path(path))})

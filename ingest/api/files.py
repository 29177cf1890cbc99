"""
Files that options name, of two kinds.

A `SmallFile` is part of the configuration, as a schema is: read once, with it, and taken along to the workers, so all
of a run uses the same. A `ReferenceFile` is data, as a database of addresses is: of any size, on every machine that
runs tasks, and read again when it has changed. What is wrong with one is told in the same words.
"""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from ingest.api.errors import Disposition, IngestError

T = TypeVar("T")
Mark = tuple[tuple[int, int, int], ...]

MAX_FILE_BYTES = 4 * 1024 * 1024  # of a small file: it travels to the workers with every micro-batch
_RESTS_S = 2.0  # a file written to less than this ago may not be whole yet


@dataclass(frozen=True, slots=True)
class SmallFile:
    """
    A file, written as its path in YAML; a type for the fields of a component's settings.

    It is read where the configuration is checked, so a missing one is a problem with its place, and its content goes
    with the plan to the workers: all of them use the same, and none needs the file. A relative path begins where the
    command is run.
    """

    path: str
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> "SmallFile":
        """
        Read a file.

        Raises:
            PydanticCustomError: there is none, it can not be read, or it is too large.
        """
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:
            raise _problem("unknown_reference", path, _reason(error)) from error
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
        beside: endings that make its path that of files which may be there and hold a part of the content too.

    Raises:
        ReferenceFileError: the file can not be read.
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
        Read the file again when it has changed and is at rest; whether there is new content.

        While it is being written to, and for two seconds after, the content stays what it was. A file that is written
        beside its place and then renamed is taken at once when it is older than that.

        Raises:
            ReferenceFileError: it is gone or broken; the content stays what it was.
        """
        mark = self._mark()
        if mark == self._known:
            return False
        now_s = self._now()
        if any(abs(now_s - changed_ns / 1e9) < _RESTS_S for changed_ns, _, _ in mark):
            return False
        content = self._content()
        if self._mark() != mark:
            return False
        self._known, self.content = mark, content
        return True

    def _mark(self) -> Mark:
        """Time of change in nanoseconds, size and inode of each file: what differs when there is another content."""
        found = []
        try:
            own = self._path.stat()
            for path in self._beside:
                with contextlib.suppress(FileNotFoundError):
                    found.append(path.stat())
        except (OSError, ValueError) as error:
            raise self._error(_reason(error)) from error
        # an empty one may be what reading leaves, and holds nothing
        counted = [own, *(each for each in found if each.st_size)]
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in counted)

    def _content(self) -> T:
        try:
            return self._read(self._path)
        except (OSError, ValueError) as error:
            raise self._error(_reason(error)) from error

    def _error(self, reason: str) -> ReferenceFileError:
        return ReferenceFileError(_message(str(self._path), reason), hint=_hint(self._path))


def check_file(path: str, read: Callable[[Path], object], option: str = "path") -> None:
    """
    Check in the validator of options that a file they name can be read.

    An error of pydantic that `read` raises is raised as it is.

    Raises:
        PydanticCustomError: it can not; becomes a problem at the place of the option.
    """
    try:
        ReferenceFile(path, read)
    except ReferenceFileError as error:
        if isinstance(error.__cause__, PydanticCustomError):
            raise error.__cause__ from error  # it knows which option is wrong
        raise PydanticCustomError(
            "unknown_reference",
            "{problem}",
            {"problem": error.message, "hint": error.hint or "", "option": option},
        ) from error


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _message(path: str, reason: str) -> str:
    return f'can not use "{path}": {reason}'


def _hint(path: Path) -> str:
    hint = "put a good one in its place"
    return hint if path.is_absolute() else f'{hint}; paths are seen from the folder you start in, now "{Path.cwd()}"'


def _problem(kind: str, path: str, reason: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{problem}", {"problem": _message(path, reason), "hint": _hint(Path(path))})

"""
State in a file system that the machines of a cluster share.

`RemoteFiles` is what state needs of such a file system. A `RemotePath` is a path in it, with the part of `pathlib.Path`
that state uses, so the same code reads state on a disk and on a cluster. Errors are as on a disk: OSError with an
errno.
"""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal


class RemoteFiles(ABC):
    """
    The files of one file system; paths are absolute.

    Thread-safe. Each method raises OSError: FileNotFoundError, FileExistsError, PermissionError, ENOSPC for a spent
    quota, and EHOSTUNREACH while the file system does not answer.

    Attributes:
        url: of the file system, such as `hdfs://namenode:8020`.
    """

    url: str

    @abstractmethod
    def read(self, path: str) -> bytes:
        """The content of a file."""

    @abstractmethod
    def write(self, path: str, content: bytes) -> None:
        """Replace or create a file, completely or not at all; durable when this returns."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> None:
        """Create a file as `write` does, but only if it does not exist; of several callers, one succeeds."""

    @abstractmethod
    def append(self, path: str, content: bytes) -> None:
        """Append to a file, and create it if it is missing; durable when this returns. A crash may leave a part."""

    @abstractmethod
    def kind(self, path: str) -> Literal["file", "folder"] | None:
        """What is at a path; None if there is nothing."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names in a folder."""

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents; it may exist."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; durable when this returns."""


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A path of `RemoteFiles`; its methods are those of `pathlib.Path` with the same names."""

    files: RemoteFiles
    path: PurePosixPath

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(self.files, self.path / name)

    def __lt__(self, other: "RemotePath") -> bool:
        return self.path < other.path

    def __str__(self) -> str:
        return f"{self.files.url}{self.path}"

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.name

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return self.path.stem

    @property
    def suffix(self) -> str:
        """The end of the last part, from its last dot on."""
        return self.path.suffix

    @property
    def parent(self) -> "RemotePath":
        """The folder of this path."""
        return RemotePath(self.files, self.path.parent)

    def with_name(self, name: str) -> "RemotePath":
        """The path with another last part."""
        return RemotePath(self.files, self.path.with_name(name))

    def with_suffix(self, suffix: str) -> "RemotePath":
        """The path with another suffix."""
        return RemotePath(self.files, self.path.with_suffix(suffix))

    def exists(self) -> bool:
        """Whether there is a file or a folder."""
        return self.files.kind(str(self.path)) is not None

    def is_dir(self) -> bool:
        """Whether there is a folder."""
        return self.files.kind(str(self.path)) == "folder"

    def iterdir(self) -> Iterator["RemotePath"]:
        """The entries of a folder."""
        return map(self.__truediv__, self.files.names(str(self.path)))

    def read_bytes(self) -> bytes:
        """The content of a file."""
        return self.files.read(str(self.path))

    def read_text(self) -> str:
        """The content of a file as UTF-8."""
        return self.read_bytes().decode()

    def open(self, mode: Literal["rb"]) -> BinaryIO:  # noqa: ARG002 - pathlib's
        """The content of a file, which is read at once."""
        return io.BytesIO(self.read_bytes())

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove a file."""
        try:
            self.files.remove(str(self.path))
        except FileNotFoundError:
            if not missing_ok:
                raise


StatePath = Path | RemotePath
"""A path of state: on this machine, or on a cluster."""

"""
The file system that dumps and archives are in.

A `Root` has the files below a folder of this machine, or below a URL of another file system. It can be pickled, so
tasks of Spark write files below it.

All names are relative to the root, with `/` between folders. Errors are as on a disk: OSError with an errno;
`ingest.durable.file_errors` translates them.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import BinaryIO, NamedTuple

TEMPORARY = ".tmp-"
"""Prefix of files that are being written."""


class Entry(NamedTuple):
    """
    A file or a folder in a folder.

    Attributes:
        name: without the folder.
        is_folder: whether it is a folder.
        size: of a file, in bytes; 0 for a folder.
        modified_ms: time of its last change, ms since the epoch; 0 if the file system has none.
    """

    name: str
    is_folder: bool
    size: int
    modified_ms: int


class Root(ABC):
    """
    The files below a root. Thread-safe; can be pickled.

    Attributes:
        url: of the root, for messages: a path of this machine, or a URL.
        renames_folders: whether `rename` moves a folder at once; an object store copies file by file.
    """

    url: str
    renames_folders: bool = True

    @abstractmethod
    def entries(self, folder: str) -> list[Entry]:
        """
        Files and folders of a folder, sorted by name; "" is the root.

        Raises:
            FileNotFoundError: there is no such folder.
        """

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """
        A file for reading, from any byte.

        Raises:
            FileNotFoundError: there is no such file.
        """

    @abstractmethod
    def new_file(self, path: str) -> AbstractContextManager[BinaryIO]:
        """
        A file for writing; its folder exists.

        At the end of the block the content is durable and the file appears, in place of an older one. If the block
        raises, nothing appears.
        """

    @abstractmethod
    def create(self, path: str, content: bytes) -> None:
        """
        Create a file with its content, completely or not at all; of several processes, one succeeds.

        Raises:
            FileExistsError: it exists, and is unchanged.
        """

    @abstractmethod
    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents; it may exist."""

    @abstractmethod
    def rename(self, path: str, to: str) -> None:
        """
        Move a file or a folder, at once; of several processes, one succeeds. Durable when it returns.

        An object store moves only a file, by a copy: if the process is killed, both files may be there, and several
        processes may succeed. Nothing that needs one winner may rely on it there.

        Raises:
            FileNotFoundError: there is nothing at the path.
            FileExistsError: there is something at the new path.
        """

    @abstractmethod
    def move(self, path: str, to: str) -> None:
        """
        Move a file, in place of an older one, so that the new path always has a complete file. Durable when it returns.

        Raises:
            FileNotFoundError: there is nothing at the path; an older file stays.
        """

    @abstractmethod
    def remove_file(self, path: str) -> None:
        """Remove a file, durably; it may be missing."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Remove an empty folder; it may be missing."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Free space in bytes; None if the file system does not say."""

    def settle(self, folder: str) -> None:  # noqa: B027 - elsewhere a name is durable once it is seen
        """Make durable the names that a process has given or moved in a folder, which may have been killed since."""

    def read(self, path: str, most: int = -1) -> bytes:
        """The content of a file, or its first bytes."""
        with self.open(path) as file:
            return file.read(most)

    def write(self, path: str, content: bytes) -> None:
        """Create or replace a file, completely or not at all; durable when it returns."""
        with self.new_file(path) as file:
            file.write(content)

    def file_names(self, folder: str) -> list[str]:
        """The files of a folder, sorted, without those that are being written; none without the folder."""
        try:
            entries = self.entries(folder)
        except FileNotFoundError:
            return []
        return [entry.name for entry in entries if not entry.is_folder and not entry.name.startswith(TEMPORARY)]

    def remove_empty_folder(self, path: str) -> None:
        """Remove a folder if it has no entries; one of an object store has disappeared with its last file."""
        with contextlib.suppress(FileNotFoundError):
            if not self.entries(path):
                self.remove_folder(path)

    def files_below(self, folder: str) -> Generator[tuple[str, Entry]]:
        """Path and entry of each file below a folder, at any depth, sorted within each folder; none without it."""
        try:
            entries = self.entries(folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            path = _below(folder, entry.name)
            if entry.is_folder:
                yield from self.files_below(path)
            else:
                yield path, entry

    def remove_tree(self, folder: str) -> None:
        """Remove a folder: its files, then its folders; it may be missing."""
        try:
            entries = self.entries(folder)
        except FileNotFoundError:
            return
        for entry in entries:
            path = _below(folder, entry.name)
            if entry.is_folder:
                self.remove_tree(path)
            else:
                self.remove_file(path)
        self.remove_folder(folder)

    def __str__(self) -> str:
        return self.url


def _below(folder: str, name: str) -> str:
    """The path of a name in a folder; "" is the root."""
    return f"{folder}/{name}" if folder else name

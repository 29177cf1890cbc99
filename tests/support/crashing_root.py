"""A root that ends its process, as far as a test is concerned, at a chosen change of the file system."""

import contextlib
import errno
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ingest.api import StoreUnavailableError
from sinks.files.root import Entry, Root


class CrashError(BaseException):
    """The process has ended; the task of an archive alone catches it, and raises StoreUnavailableError instead."""


class CrashingRoot(Root):
    """
    The files of another root, until a number of changes was made.

    Args:
        root: that has the files.
        most: number of changes after which each further one ends the process.
    """

    def __init__(self, root: Root, most: int) -> None:
        self._root = root
        self._left = most
        self.url = root.url
        self.changes: list[str] = []

    def entries(self, folder: str) -> list[Entry]:
        return self._root.entries(folder)

    def exists(self, path: str) -> bool:
        return self._root.exists(path)

    def open(self, path: str) -> BinaryIO:
        return self._root.open(path)

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[BinaryIO]:
        with self._root.new_file(path) as file:
            yield file
            self._change(f"write {path}")

    def create(self, path: str, content: bytes) -> None:
        self._change(f"create {path}")
        self._root.create(path, content)

    def make_folder(self, path: str) -> None:
        self._change(f"make {path}")
        self._root.make_folder(path)

    def rename(self, path: str, to: str) -> None:
        self._change(f"rename {path} {to}")
        self._root.rename(path, to)

    def move(self, path: str, to: str) -> None:
        self._change(f"move {path} {to}")
        self._root.move(path, to)

    def remove_file(self, path: str) -> None:
        self._change(f"remove {path}")
        self._root.remove_file(path)

    def remove_folder(self, path: str) -> None:
        self._change(f"remove {path}/")
        self._root.remove_folder(path)

    def free_bytes(self) -> int | None:
        return self._root.free_bytes()

    def _change(self, what: str) -> None:
        if self._left == 0:
            if threading.current_thread() is not threading.main_thread():  # it ends with the process
                raise OSError(errno.EHOSTUNREACH, "the process has ended")
            raise CrashError
        self._left -= 1
        self.changes.append(what)


class ReplaceableRoot(Root):
    """
    The files of a root that a test replaces.

    Attributes:
        files: the present root.
    """

    def __init__(self, files: Root) -> None:
        self.files = files
        self.url = files.url

    def entries(self, folder: str) -> list[Entry]:
        return self.files.entries(folder)

    def exists(self, path: str) -> bool:
        return self.files.exists(path)

    def open(self, path: str) -> BinaryIO:
        return self.files.open(path)

    def new_file(self, path: str) -> contextlib.AbstractContextManager[BinaryIO]:
        return self.files.new_file(path)

    def create(self, path: str, content: bytes) -> None:
        self.files.create(path, content)

    def make_folder(self, path: str) -> None:
        self.files.make_folder(path)

    def rename(self, path: str, to: str) -> None:
        self.files.rename(path, to)

    def move(self, path: str, to: str) -> None:
        self.files.move(path, to)

    def remove_file(self, path: str) -> None:
        self.files.remove_file(path)

    def remove_folder(self, path: str) -> None:
        self.files.remove_folder(path)

    def free_bytes(self) -> int | None:
        return self.files.free_bytes()

    def settle(self, folder: str) -> None:
        self.files.settle(folder)


def crashes(make: Callable[[], Root], action: Callable[[Root], None]) -> list[Root]:
    """The state after a kill at each change of an action; `make` returns the state before."""
    found = []
    for most in itertools.count():
        files = make()
        try:
            action(CrashingRoot(files, most))
        except (CrashError, StoreUnavailableError):  # in a task, any exception means that the batch runs again
            found.append(files)
        else:
            assert len(found) > 5
            return found
    raise AssertionError

"""A file system of a cluster, in memory."""

import errno
import os
import threading
from pathlib import PurePosixPath
from typing import Literal

from ingest.durable.remote import RemoteFiles, RemotePath


class MemoryFiles(RemoteFiles):
    """
    Files and folders in memory.

    Attributes:
        is_away: whether each call fails, as without a NameNode.
        refused: set by the first call that fails because of that.
    """

    def __init__(self, url: str = "hdfs://memory") -> None:
        self.url = url
        self.is_away = False
        self.refused = threading.Event()
        self._files: dict[str, bytes] = {}
        self._folders = {"/"}
        self._lock = threading.Lock()

    def root(self) -> RemotePath:
        """A folder that does not exist yet."""
        return RemotePath(self, PurePosixPath("/state"))

    def read(self, path: str) -> bytes:
        self._check(path)
        if path not in self._files:
            raise _error(errno.ENOENT, path)
        return self._files[path]

    def write(self, path: str, content: bytes) -> None:
        self._check(path)
        self.make_folder(str(PurePosixPath(path).parent))
        self._files[path] = content

    def create(self, path: str, content: bytes) -> None:
        with self._lock:
            if path in self._files:
                raise _error(errno.EEXIST, path)
            self.write(path, content)

    def append(self, path: str, content: bytes) -> None:
        self.write(path, self._files.get(path, b"") + content)

    def kind(self, path: str) -> Literal["file", "folder"] | None:
        self._check(path)
        if path in self._folders:
            return "folder"
        return "file" if path in self._files else None

    def names(self, folder: str) -> list[str]:
        self._check(folder)
        if folder not in self._folders:
            raise _error(errno.ENOENT, folder)
        paths = map(PurePosixPath, [*self._files, *self._folders])
        return [path.name for path in paths if str(path) != folder and str(path.parent) == folder]

    def make_folder(self, path: str) -> None:
        self._check(path)
        self._folders.update({path, *map(str, PurePosixPath(path).parents)})

    def remove(self, path: str) -> None:
        self._check(path)
        if self._files.pop(path, None) is None:
            raise _error(errno.ENOENT, path)

    def _check(self, path: str) -> None:
        if self.is_away:
            self.refused.set()
            raise _error(errno.EHOSTUNREACH, path)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)

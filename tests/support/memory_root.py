"""Dumps in memory, for tests that make many of them."""

import contextlib
import io
from collections.abc import Iterator
from typing import BinaryIO

from sinks.files.root import Entry, Root


class MemoryRoot(Root):
    """
    Files in memory; a folder exists if it was made, or if it has a file.

    Attributes:
        files: path -> content.
    """

    url = "memory"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._folders = {""}

    def entries(self, folder: str) -> list[Entry]:
        if folder not in self._folders:
            raise FileNotFoundError(2, "no such folder", folder)
        prefix = f"{folder}/" if folder else ""
        files = [
            Entry(path.removeprefix(prefix), False, len(content), 0)
            for path, content in self.files.items()
            if path.rpartition("/")[0] == folder
        ]
        folders = [
            Entry(path.removeprefix(prefix), True, 0, 0)
            for path in self._folders
            if path and path.rpartition("/")[0] == folder
        ]
        return sorted(files + folders)

    def exists(self, path: str) -> bool:
        return path in self.files or path in self._folders

    def open(self, path: str) -> BinaryIO:
        if path not in self.files:
            raise FileNotFoundError(2, "no such file", path)
        return io.BytesIO(self.files[path])

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[BinaryIO]:
        file = io.BytesIO()
        yield file
        self.files[path] = file.getvalue()

    def create(self, path: str, content: bytes) -> None:
        if path in self.files:
            raise FileExistsError(17, "exists", path)
        self.files[path] = content

    def make_folder(self, path: str) -> None:
        while path:
            self._folders.add(path)
            path = path.rpartition("/")[0]

    def rename(self, path: str, to: str) -> None:
        if self.exists(to):
            raise FileExistsError(17, "exists", to)
        if not self.exists(path):
            raise FileNotFoundError(2, "no such file", path)
        for names in (self.files, self._folders):
            for name in [name for name in names if name == path or name.startswith(f"{path}/")]:
                moved = to + name.removeprefix(path)
                if isinstance(names, dict):
                    names[moved] = names.pop(name)
                else:
                    names.remove(name)
                    names.add(moved)

    def move(self, path: str, to: str) -> None:
        if path not in self.files:
            raise FileNotFoundError(2, "no such file", path)
        self.files[to] = self.files.pop(path)

    def remove_file(self, path: str) -> None:
        self.files.pop(path, None)

    def remove_folder(self, path: str) -> None:
        if path in self._folders and self.entries(path):
            raise OSError(39, "not empty", path)
        self._folders.discard(path)

    def free_bytes(self) -> int | None:
        return None

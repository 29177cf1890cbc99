"""A register in a folder of a root."""

from contextlib import AbstractContextManager

from ingest.durable import file_errors
from ingest.durable.register import FolderRegister
from sinks.files.root import Root


class RootRegister(FolderRegister):
    """
    A register in a folder of its own below a root.

    Args:
        root: has the folder.
        folder: its path; created by the first text; never remove it.
    """

    def __init__(self, root: Root, folder: str) -> None:
        super().__init__()
        self._root = root
        self._folder = folder

    def __str__(self) -> str:
        return f"{self._root}/{self._folder}"

    def _names(self) -> list[str]:
        return self._root.file_names(self._folder)

    def _read(self, name: str) -> bytes:
        return self._root.read(f"{self._folder}/{name}")

    def _make_folder(self) -> None:
        self._root.make_folder(self._folder)

    def _create(self, name: str, content: bytes) -> None:
        self._root.create(f"{self._folder}/{name}", content)

    def _remove(self, name: str) -> None:
        self._root.remove_file(f"{self._folder}/{name}")

    def _errors(self) -> AbstractContextManager[None]:
        return file_errors(self._root)

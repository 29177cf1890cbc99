"""Files below a folder of this machine; files are synced before they appear, folders after each change."""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ingest.durable import link_new, make_folder, sync_folder
from sinks.files.root import TEMPORARY, Entry, Root


class LocalRoot(Root):
    """
    The files below a folder of this machine.

    Args:
        folder: created by the first `make_folder`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = str(folder)

    def entries(self, folder: str) -> list[Entry]:
        """Files and folders of a folder."""
        with os.scandir(self._path(folder)) as found:
            entries = [_entry(each) for each in found]
        return sorted(entry for entry in entries if entry is not None)

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder."""
        return self._path(path).exists()

    def open(self, path: str) -> BinaryIO:
        """A file for reading."""
        return self._path(path).open("rb")

    @contextlib.contextmanager
    def new_file(self, path: str) -> Iterator[BinaryIO]:
        """A file for writing, which appears at the end of the block."""
        target = self._path(path)
        with _written_beside(target) as (temporary, file):
            yield file
            _sync(file)
            temporary.replace(target)
        sync_folder(target.parent)

    def create(self, path: str, content: bytes) -> None:
        """Create a file that does not exist."""
        target = self._path(path)
        with _written_beside(target) as (temporary, file):
            file.write(content)
            _sync(file)
            link_new(temporary, target)

    def make_folder(self, path: str) -> None:
        """Create a folder and its missing parents."""
        make_folder(self._path(path), 0o777)

    def rename(self, path: str, to: str) -> None:
        """Move a file or a folder."""
        target = self._path(to)
        if target.exists():  # os.rename replaces a file, and an empty folder
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        self.move(path, to)

    def move(self, path: str, to: str) -> None:
        """Move a file, in place of an older one."""
        source, target = self._path(path), self._path(to)
        source.replace(target)
        for folder in {source.parent, target.parent}:
            sync_folder(folder)

    def remove_file(self, path: str) -> None:
        """Remove a file."""
        file = self._path(path)
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
            sync_folder(file.parent)

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        with contextlib.suppress(FileNotFoundError):
            self._path(path).rmdir()

    def settle(self, folder: str) -> None:
        """Sync the folder."""
        sync_folder(self._path(folder))

    def free_bytes(self) -> int | None:
        """Free space of the file system, for this user; that of the first folder above that exists."""
        folder = self._folder.absolute()
        while not folder.exists():
            folder = folder.parent
        return shutil.disk_usage(folder).free

    def _path(self, path: str) -> Path:
        return self._folder / path


def _entry(found: "os.DirEntry[str]") -> Entry | None:
    """A file or folder; None if it was removed after it was listed, as the temporary files of a heartbeat are."""
    try:
        status = found.stat()
    except FileNotFoundError:
        return None
    is_folder = found.is_dir()
    return Entry(found.name, is_folder, 0 if is_folder else status.st_size, status.st_mtime_ns // 1_000_000)


@contextlib.contextmanager
def _written_beside(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file of a name that no reader looks at; removed at the end of the block if it is still there."""
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(4)}-{target.name}")
    try:
        with temporary.open("xb") as file:
            yield temporary, file
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())

"""The folder from which HBase loads files: of this machine and HBase's, or in HDFS."""

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from sinks.files.opening import open_root
from sinks.files.root import Root

T = TypeVar("T")

_AT_A_TIME = 8
"""Files that are written side by side: one into HDFS takes 0.4 s, whatever its size, and nearly no CPU."""
_PREFIX = "loading-"
_KEPT_MS = 24 * 3600 * 1000
_READ_BYTES = 1 << 20
_NAME_BYTES = 16
"""Random bytes of a name: HBase may keep it in the folder of a family, where files of all tasks and loads meet."""


class StagedFileDamagedError(OSError):
    """A file in the folder is not as it was written; HBase would load it."""


class StagingFailedError(OSError):
    """The library of a file system failed with an error of its own."""


class StagedFiles:
    """
    Files in the folder of a store, in a folder of their own; called by one thread.

    A process that is killed leaves its folder. Whoever next starts to write removes folders that have not changed for a
    day: a load takes seconds.

    Args:
        url: of the folder; HBase's servers see the same files under it. It needs not exist.
        name: of the folder in it; no other process or connection has the same.
        now_ms: the time, in milliseconds since the epoch.
    """

    def __init__(self, url: str, name: str, now_ms: Callable[[], int]) -> None:
        self._url = url
        self._name = f"{_PREFIX}{name}"
        self._now_ms = now_ms
        self._root: Root | None = None

    def __str__(self) -> str:
        return self._url

    def write(self, contents: Sequence[Sequence[bytes]], on_progress: Callable[[], None] = lambda: None) -> list[str]:
        """
        Write files, and read them back; returns their names, which no other file ever has.

        Args:
            contents: of the files, each in pieces.
            on_progress: called after each file; what it raises ends the call.

        Raises:
            OSError: the folder cannot be used, or a file is not as it was written. No file stays, as after any error.
        """
        root = _without_other_errors(self._opened)
        _without_other_errors(lambda: root.make_folder(self._name))
        names = [f"{self._name}/{secrets.token_hex(_NAME_BYTES)}" for _ in contents]
        try:
            with ThreadPoolExecutor(min(_AT_A_TIME, len(contents))) as pool:
                for written in [pool.submit(_write, root, *one) for one in zip(names, contents, strict=True)]:
                    _without_other_errors(written.result)
                    on_progress()
        except BaseException:
            self.remove(names)
            raise
        return names

    def _opened(self) -> Root:
        if self._root is None:
            self._root = open_root(self._url)
            self._remove_old(self._root)
        return self._root

    def _remove_old(self, root: Root) -> None:
        oldest_ms = self._now_ms() - _KEPT_MS
        with suppress(Exception):
            for entry in root.entries(""):
                if entry.is_folder and entry.name.startswith(_PREFIX) and 0 < entry.modified_ms < oldest_ms:
                    root.remove_tree(entry.name)

    def url_of(self, name: str) -> str:
        """The name of a file for HBase; nothing in it is encoded, since Hadoop decodes nothing."""
        if "://" in self._url:
            return f"{self._url.rstrip('/')}/{name}"
        return f"file://{Path(self._url).absolute() / name}"

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; they may be missing, since HBase has moved them. What cannot be removed stays."""
        if self._root is not None:
            for name in names:
                with suppress(Exception):  # as `_without_other_errors`
                    self._root.remove_file(name)

    def close(self) -> None:
        """Remove the folder of this process, if it is empty."""
        root, self._root = self._root, None
        if root is not None:
            with suppress(Exception):
                root.remove_folder(self._name)


def _without_other_errors(use: Callable[[], T]) -> T:
    """
    The result of a use of the folder.

    Raises:
        OSError: whatever was raised: a missing package, and what the library of a file system raises by itself.
    """
    try:
        return use()
    except OSError:
        raise
    except Exception as error:
        raise StagingFailedError(f"{type(error).__name__}: {error}") from error


def _write(root: Root, name: str, content: Sequence[bytes]) -> None:
    with root.new_file(name) as file:
        for piece in content:
            file.write(piece)
    with root.open(name) as file:
        stored = iter(lambda: file.read(_READ_BYTES), b"")
        if reduce(_continued, stored, 0) != reduce(_continued, content, 0):
            raise StagedFileDamagedError(f"{root}/{name} is not as it was written")


def _continued(checksum: int, piece: bytes) -> int:
    return crc32(piece, checksum)

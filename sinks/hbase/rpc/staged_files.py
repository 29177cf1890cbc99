"""The folder from which HBase loads files: of this machine and HBase's, or in HDFS."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from sinks.files.opening import open_root
from sinks.files.root import Root

_AT_A_TIME = 8
"""Files that are written side by side: one into HDFS takes 0.4 s, whatever its size, and nearly no CPU."""
_PREFIX = "loading-"
_KEPT_MS = 24 * 3600 * 1000


class StagedFileDamagedError(OSError):
    """A file in the folder is not as it was written; HBase would load it."""


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
        self._number = 0
        self._root: Root | None = None

    def __str__(self) -> str:
        return self._url

    def write(self, contents: Sequence[bytes]) -> list[str]:
        """
        Write files, and read them back; returns their names.

        Raises:
            OSError: the folder cannot be used, or a file is not as it was written. No file stays.
        """
        root = self._opened()
        root.make_folder(self._name)
        names = [f"{self._name}/{self._number + at:08x}" for at in range(len(contents))]
        self._number += len(contents)
        try:
            with ThreadPoolExecutor(min(_AT_A_TIME, len(contents))) as pool:
                for written in [pool.submit(_write, root, *one) for one in zip(names, contents, strict=True)]:
                    written.result()
        except OSError:
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
        with suppress(OSError):
            for entry in root.entries(""):
                if entry.is_folder and entry.name.startswith(_PREFIX) and 0 < entry.modified_ms < oldest_ms:
                    root.remove_tree(entry.name)

    def url_of(self, name: str) -> str:
        """The name of a file for HBase."""
        if "://" in self._url:
            return f"{self._url.rstrip('/')}/{name}"
        return (Path(self._url).absolute() / name).as_uri()

    def remove(self, names: Sequence[str]) -> None:
        """Remove files; they may be missing, since HBase has moved them. What cannot be removed stays."""
        if self._root is not None:
            for name in names:
                with suppress(OSError):
                    self._root.remove_file(name)

    def close(self) -> None:
        """Remove the folder of this process, if it is empty."""
        root, self._root = self._root, None
        if root is not None:
            with suppress(OSError):
                root.remove_folder(self._name)


def _write(root: Root, name: str, content: bytes) -> None:
    root.write(name, content)
    if crc32(root.read(name)) != crc32(content):
        raise StagedFileDamagedError(f"{root}/{name} is not as it was written")

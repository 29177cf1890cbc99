"""
Pins keep entries of a folder while processes read them and another process removes old ones.

An entry is a folder with a marker in it, such as a dump. A pin is a lock of the kernel (flock) on the entry itself: it
needs no disk space and no permission to write, and ends with its process. It works between processes of one machine.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ingest.api import NotFoundError
from ingest.durable.files import on_disk


@contextlib.contextmanager
def pinned(entry: Path, marker: str) -> Iterator[None]:
    """
    Keep an entry from removal until the block or the process ends. Any number of processes may pin it.

    Args:
        entry: the folder.
        marker: name of the file in it that marks it as complete.

    Raises:
        NotFoundError: there is no such entry, it is incomplete, or it is being removed.
        StoreUnavailableError: the folder cannot be read.
    """
    with _opened(entry) as descriptor:
        if descriptor is not None:
            with on_disk(entry):
                fcntl.flock(descriptor, fcntl.LOCK_SH)  # waits at most for the removal of a marker
        if descriptor is None or not _has(descriptor, marker):
            raise NotFoundError(f'"{entry}" does not exist, or has no "{marker}"', hint="choose a complete one")
        yield


@contextlib.contextmanager
def unpinned(entry: Path) -> Iterator[bool]:
    """Whether no process has pinned an entry. If so, none can until the block ends; keep the block short."""
    with _opened(entry) as descriptor:
        is_free = True
        if descriptor is not None:
            with on_disk(entry):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    is_free = False
        yield is_free


@contextlib.contextmanager
def _opened(entry: Path) -> Iterator[int | None]:
    with on_disk(entry):
        try:
            descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            descriptor = None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _has(descriptor: int, name: str) -> bool:
    """Whether the open folder, not another one that has its name by now, has a file of this name."""
    return os.access(name, os.F_OK, dir_fd=descriptor)

"""Files that are there whole or not at all, also after a power cut."""

import contextlib
import os
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """
    Replace a file: written beside its place, synced, renamed, and the folder synced.

    Raises:
        OSError: nothing was changed, or the rename is not known to be durable.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        # never synced a second time: after a failed sync a later one succeeds without having written anything
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder, readable by its owner alone, and those above it, so that what is put there is not lost with it."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

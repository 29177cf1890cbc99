"""Files that are there whole or not at all, also after a power cut."""

import os
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """
    Replace a file: written beside its place, synced, renamed, and the folder synced.

    Raises:
        OSError: nothing was changed, or the rename is not known to be durable.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

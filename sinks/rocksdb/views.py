"""
Frozen views: the store as it was at one moment, in a folder inside of the store's.

A view is a checkpoint of RocksDB: hard links to the files of the store, so it is made in milliseconds and takes no
space until the store removes files that it still has. The file FROZEN in it holds the moment; cells that had expired
then are not read, and those that expire later are. It also lists the files with rows: RocksDB reads a table as empty if
one of them is missing.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from rocksdict import Checkpoint, Rdict

from ingest.api import IntegrityError
from ingest.durable import file_errors, make_folder, open_private

VIEWS = "views"
"""
Folder of the views. It is inside of the store's, because hard links need the same file system: the store may be a
mount point. RocksDB ignores folders.
"""
FROZEN = "FROZEN"
_REMOVED = ".removed"
"""End of the name of a view that is being removed."""
_PROCESS = token_hex(8)
"""Start of the names of the views of this process: those of others were left by a killed one."""


class Frozen(NamedTuple):
    """
    The content of FROZEN.

    Attributes:
        folder: of the view.
        at_ms: the moment of the view.
        files: names of its files with rows.
    """

    folder: Path
    at_ms: int
    files: frozenset[str]

    def check(self) -> None:
        """
        Check that the view has all of its files; after a read, what was read is complete.

        Raises:
            IntegrityError: it lacks some.
        """
        missing = self.files - _files_with_rows(self.folder)
        if missing:
            raise IntegrityError(
                f'the frozen view "{self.folder}" lacks {len(missing)} of its {len(self.files)} files',
                hint="another process has removed it; start the dump again",
            )


def create(root: Rdict, store: Path, at_ms: int) -> Path:
    """
    Create a view; returns its folder.

    Args:
        root: the open database.
        store: its folder.
        at_ms: the present time.

    Raises:
        StoreUnavailableError: the disk is full, or permission is denied.
    """
    folder = store.resolve() / VIEWS / f"{_PROCESS}-{token_hex(8)}"
    with file_errors(folder):
        make_folder(folder.parent)
    Checkpoint(root).create_checkpoint(str(folder))
    with file_errors(folder), open_private(folder / FROZEN, "wb") as file:
        file.write("\n".join([str(at_ms), *sorted(_files_with_rows(folder))]).encode())
    return folder


def frozen(folder: Path) -> Frozen | None:
    """What FROZEN says about a view; None for a store."""
    with suppress(FileNotFoundError):
        at_ms, *files = (folder / FROZEN).read_text(encoding="utf-8").split("\n")
        return Frozen(folder, int(at_ms), frozenset(files))
    return None


def remove(folder: Path) -> None:
    """
    Remove a view, if it is there; what cannot be removed is left to `remove_others`.

    The folder is renamed first, so no reader opens a part of the view.
    """
    removed = folder.with_name(f"{folder.name}{_REMOVED}")
    with suppress(OSError):
        folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)


def remove_others(store: Path) -> None:
    """Remove the views of a store that an earlier process left; only its writer calls this."""
    with suppress(FileNotFoundError):
        for folder in (store.resolve() / VIEWS).iterdir():
            if folder.name.endswith(_REMOVED):
                shutil.rmtree(folder, ignore_errors=True)
            elif not folder.name.startswith(_PROCESS):
                remove(folder)


def _files_with_rows(folder: Path) -> frozenset[str]:
    """Names of the files with rows that a folder has; none without the folder."""
    return frozenset(file.name for file in folder.glob("*.sst"))

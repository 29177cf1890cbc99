"""Leases of consumer groups as files of this machine, for a store that only its service may write."""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ingest.durable import file_errors, make_folder, open_private, sync_folder, write_durably
from sinks.feed.leases import LeaseStore, unreadable

_FILE = ".json"
_LOCK = "lock"


class FileLeases(LeaseStore):
    """
    Leases as files of this machine, `NAME/SHARD.json`; a lock of the kernel covers each compare-and-set.

    Args:
        folder: of the table; created by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        with file_errors(self._folder):
            if not self._folder.is_dir():
                return ()
            return tuple(sorted(each.name for each in self._folder.iterdir() if any(each.glob(f"*{_FILE}"))))

    def read(self, group: str) -> Mapping[int, str]:
        """
        The texts of a group, read until no file has come or gone meanwhile, and the record is the same.

        A text may name the lease of another; and the leases of a group that begins anew have the names of the old ones.
        """
        folder = self._folder / group
        with file_errors(folder):
            files = _files(folder)
            while True:
                found = ((shard, _read(file)) for shard, file in files.items())
                texts = {shard: text for shard, text in found if text is not None}
                now = _files(folder)
                if now == files and (0 not in files or _read(files[0]) == texts.get(0)):
                    return texts
                files = now

    def replace(self, group: str, shard: int, before: str | None, after: str | None) -> bool:
        """Replace a file."""
        folder = self._folder / group
        file = folder / f"{shard}{_FILE}"
        with file_errors(file), _locked(folder):
            present = _read(file)
            if present == after:
                return True
            if present != before:
                return False
            if after is None:
                file.unlink()
                sync_folder(folder)
            else:
                write_durably(file, after.encode())
            return True


def _files(folder: Path) -> dict[int, Path]:
    """The files of the leases of a group, by shard."""
    return {int(file.stem): file for file in sorted(folder.glob(f"*{_FILE}")) if file.stem.isdigit()}


def _read(file: Path) -> str | None:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise unreadable(f'"{file}"') from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Exclude all other writers of a group, of this process too; they hold the lock for milliseconds."""
    make_folder(folder)
    with open_private(folder / _LOCK, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

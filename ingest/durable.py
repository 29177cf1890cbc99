"""Files that are there whole or not at all, also after a power cut."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from ingest.api import IngestError, IntegrityError, StoreUnavailableError

_DENIED = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
}
"""A human can mend it: rights, or what stands at the place."""
_SHORT = {errno.ENOMEM, errno.EAGAIN, errno.EBUSY}
"""The machine has too little of something just now, and the disk was not even asked."""


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


@contextlib.contextmanager
def on_disk(place: Path) -> Iterator[None]:
    """
    Work on our own files, where what the disk says becomes what to do about it.

    Raises:
        StoreUnavailableError: no room, no rights, or the machine is short of something: it can be tried again.
        IntegrityError: the disk fails.
    """
    try:
        yield
    except OSError as error:
        raise unusable(f'"{place}" can not be used', error.errno or 0, error.strerror or str(error)) from error


def unusable(what: str, number: int, reason: str) -> IngestError:
    """
    The error for something a disk refused.

    Room and rights can be given and what was short comes back: these are waited for. Any other failure is final: after
    a failed sync nobody knows what the disk holds, and a second one that succeeds proves nothing.

    Args:
        what: was tried, in words.
        number: the system's (errno).
        reason: its words.
    """
    if number in (errno.ENOSPC, errno.EDQUOT):
        return StoreUnavailableError(f"{what}: {reason}", code="disk_full", hint="make room; it is tried again")
    if number in _DENIED:
        return StoreUnavailableError(
            f"{what}: {reason}", code="disk_denied", hint="look at who owns it and who may write there"
        )
    if number in (errno.EMFILE, errno.ENFILE):
        return StoreUnavailableError(
            f"{what}: {reason}",
            code="too_many_open_files",
            hint="let the service have more open files (ulimit -n, or LimitNOFILE= of systemd); it is tried again",
        )
    if number in _SHORT:
        return StoreUnavailableError(f"{what}: {reason}", code="disk_busy", hint="it is tried again")
    return IntegrityError(
        f"{what}: {reason}", code="disk_failed", hint="the disk fails; put state_dir on another one, then start again"
    )

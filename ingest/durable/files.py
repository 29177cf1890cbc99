"""Files that are written completely or not at all, also through a power cut; on a disk or on a cluster."""

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from ingest.api import IngestError, IntegrityError, StoreUnavailableError
from ingest.durable.remote import RemotePath, StatePath

_DENIED = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
}
"""An operator can correct it: permissions, or another file at the path."""
_SHORT = {errno.ENOMEM, errno.EAGAIN, errno.EBUSY}
"""The machine is short of a resource; the disk itself has not failed."""
_AWAY = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNREFUSED, errno.ETIMEDOUT}
"""The file system is on another machine, which does not answer."""


_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}
"""The file system has no hard links."""

_OWNER_ALONE = 0o077
"""Umask with which new files are 0600 and new folders 0700."""


class DiskBusyError(StoreUnavailableError):
    """There is no memory for an operation on a file of the service, or another process has locked the file."""

    code = "disk_busy"
    remedy = "Free memory, or stop the process that locks the file; the service resumes by itself."


class DiskDeniedError(StoreUnavailableError):
    """The service has no permission to read or write one of its files."""

    code = "disk_denied"
    remedy = "Grant the permission to the service's user; the service resumes by itself."


class DiskFailedError(IntegrityError):
    """A write to the disk failed, so the content of the file is unknown."""

    code = "disk_failed"
    remedy = "Replace the disk, restore the state from a backup, then start again."


class DiskFullError(StoreUnavailableError):
    """There is no space left for the state or other files of the service."""

    code = "disk_full"
    remedy = "Free space; the service resumes by itself."


class StateUnavailableError(StoreUnavailableError):
    """HDFS or S3, where the state, a dump or an archive is, does not answer or refuses to write."""

    code = "state_unavailable"
    hint = "check the servers of the file system, such as the NameNode of HDFS"


class TooManyOpenFilesError(StoreUnavailableError):
    """The process has reached its limit of open files; it waits."""

    code = "too_many_open_files"
    hint = "raise the limit of open files (`ulimit -n`, or `LimitNOFILE=` of systemd); the call is retried"


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """
    Within the block, only the owner can read the new files and folders of this process and its children.

    For commands that write state: RocksDB, Spark and plugins create files too, and none of them takes a mode. The umask
    belongs to the whole process, so one block at a time.
    """
    before = os.umask(_OWNER_ALONE)
    try:
        yield
    finally:
        os.umask(before)


def open_private(path: Path, mode: Literal["ab", "a+b", "wb", "xb"]) -> IO[bytes]:
    """Open a file for writing; if it is new, only its owner can read it, whatever the umask of the process."""
    return open(path, mode, opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_durably(path: StatePath, content: bytes) -> None:
    """
    Replace a file: write a temporary file in its folder, sync it, rename it, and sync the folder.

    Raises:
        OSError: nothing was changed, or the rename may not be durable.
    """
    if isinstance(path, RemotePath):
        path.files.write(str(path.path), content)
        return
    with _written_beside(path, content) as temporary:
        temporary.replace(path)
    sync_folder(path.parent)


def create_durably(path: StatePath, content: bytes) -> None:
    """
    Create a file as `write_durably` does, but only if it does not exist; of several concurrent callers one succeeds.

    On a file system without hard links, such as SMB, that holds only for callers one after the other.

    Raises:
        FileExistsError: it exists, and is unchanged; its name is durable.
        OSError: nothing was changed, or the new name may not be durable.
    """
    if isinstance(path, RemotePath):
        path.files.create(str(path.path), content)
        return
    with _written_beside(path, content) as temporary:
        link_new(temporary, path)


def link_new(temporary: Path, path: Path) -> None:
    """
    Give a file that is complete and synced its final name, durably, unless there is such a file.

    Raises:
        FileExistsError: it exists, and is unchanged; its name is durable.
    """
    try:
        _link(temporary, path)
    except FileExistsError:
        sync_folder(path.parent)  # its writer may have been killed before its own sync
        raise
    sync_folder(path.parent)


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)  # refuses a name that exists, as a rename does not
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        temporary.replace(path)


@contextlib.contextmanager
def _written_beside(path: Path, content: bytes) -> Iterator[Path]:
    temporary = path.with_name(f".{path.name}.{threading.get_native_id()}.tmp")
    try:
        # a killed process may have left it as a second name of a file that is in use
        temporary.unlink(missing_ok=True)
        with open_private(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        # no second sync: after a failed one, a later sync succeeds without having written anything
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def append_durably(path: StatePath, content: bytes) -> None:
    """
    Append to a file, and create it if it is missing; durable when this returns.

    Raises:
        OSError: none, some or all of the content is in the file.
    """
    if isinstance(path, RemotePath):
        path.files.append(str(path.path), content)
        return
    with open_private(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def make_folder(folder: StatePath, mode: int = 0o700) -> None:
    """
    Create a folder and its missing parents, so that they survive a power cut; by default only their owner can read
    them.
    """
    if isinstance(folder, RemotePath):
        folder.files.make_folder(str(folder.path))
        return
    above = [*folder.absolute().parents]
    missing = [each for each in (folder.absolute(), *above) if not each.is_dir()]
    existing = above[len(missing) - 1] if missing else folder.absolute()
    # who has created it may have been killed before its own sync; else it is a mount point, or of another user
    if not existing.is_mount() and os.access(existing.parent, os.R_OK | os.W_OK):
        sync_folder(existing.parent)
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)
        sync_folder(each.parent)


def sync_folder(folder: StatePath) -> None:
    """Make the names in a folder durable."""
    if isinstance(folder, RemotePath):
        return  # they are when the call that made them returns
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_errors(place: object) -> Iterator[None]:
    """
    Translate an OSError of the block into an error with a disposition.

    Args:
        place: what is used, for messages: a path, or a root with many files; then the error names the file.

    Raises:
        StoreUnavailableError: the disk is full, permission is denied, the machine is short of a resource, or the file
            system of a cluster does not answer: retry.
        IntegrityError: the disk fails.
    """
    try:
        yield
    except OSError as error:
        named = place if isinstance(place, StatePath) else error.filename or place
        raise unusable(f'"{named}" cannot be used', error.errno or 0, error.strerror or str(error)) from error


def unusable(what: str, number: int, reason: str, hint: str = "") -> IngestError:
    """
    The error for a file operation that failed.

    A full disk, missing permissions and a shortage can end: the caller retries. Any other failure is final: after a
    failed sync the content of the disk is unknown, and a second sync that succeeds proves nothing.

    Args:
        what: start of the message.
        number: errno.
        reason: the system's message.
        hint: the way out if permissions are missing or the disk fails; by default that of a folder of state.
    """
    if number in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"{what}: {reason}", hint="free some space; the call is retried")
    if number in _DENIED:
        is_file = number in (errno.ENOTDIR, errno.EEXIST)
        remedy = (
            "a file is where a folder is needed: name a folder" if is_file else "check its owner and its permissions"
        )
        return DiskDeniedError(f"{what}: {reason}", hint=hint or remedy)
    if number in (errno.EMFILE, errno.ENFILE):
        return TooManyOpenFilesError(f"{what}: {reason}")
    if number in _AWAY:
        return StateUnavailableError(
            f"{what}: {reason}",
            hint="check the servers of the file system, such as the NameNode of HDFS, and their addresses in "
            "HADOOP_CONF_DIR; the call is retried",
        )
    if number in _SHORT:
        return DiskBusyError(f"{what}: {reason}", hint="the call is retried")
    remedy = "the disk fails; move state_dir to another disk, then start again"
    return DiskFailedError(f"{what}: {reason}", hint=hint or remedy)

"""The locks of folders that one process at a time uses, and the one of this machine."""

import contextlib
import fcntl
import os
import socket
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, Self

from ingest.api import ConflictError, LifecycleError
from ingest.durable.files import file_errors, make_folder, open_private


class LeaseLostError(ConflictError):
    """This process was suspended or cut off, or what has its lock was removed: another one may have taken over."""

    code = "lease_lost"
    remedy = (
        "Leave the work to the process in the message; find what suspended this one or its network, or removed the "
        "file. Then start again."
    )


def this_process() -> str:
    """This process, for messages about its lock or lease."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


class ProcessLock(ABC):
    """
    Exclusive use of a folder by one process, from `acquire` to `release`.

    Attributes:
        lost: why this process has lost the lock since `acquire`, as far as it is known; None otherwise.
    """

    lost: ConflictError | None = None

    @abstractmethod
    def acquire(self) -> None:
        """
        Take the lock.

        Raises:
            ConflictError: another process, or another lock of this process, has it.
            StoreUnavailableError: the folder cannot be written, or its file system does not answer.
        """

    @abstractmethod
    def is_held(self) -> bool:
        """
        Whether a process has the lock; a process that takes it meanwhile is not refused.

        Raises:
            StoreUnavailableError: permission is denied, or the file system does not answer.
        """

    @abstractmethod
    def check(self) -> None:
        """
        Check that this process still has the lock.

        Raises:
            LifecycleError: this process does not have the lock.
            ConflictError: `lease_lost`: another process has taken it.
            StoreUnavailableError: the file system does not answer.
        """

    @abstractmethod
    def release(self) -> None:
        """Release the lock; may be called twice, or without `acquire`."""

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.release()


class FolderLock(ProcessLock):
    """
    Exclusive use of a folder, from `acquire` to `release` or the end of the process, also by kill -9.

    It is a lock of the kernel (flock) on the file `lock` in the folder, which names its owner and must not be removed.
    It excludes the processes of one machine.

    Args:
        folder: created if it is missing.
        kind: of the folder, for messages: "checkpoint".
        hint: for the process that is refused.
    """

    def __init__(self, folder: Path, *, kind: str, hint: str) -> None:
        self._folder = folder
        self._path = folder / "lock"
        self._kind = kind
        self._hint = hint
        self._file: IO[bytes] | None = None

    def acquire(self) -> None:
        """
        Take the lock; does not wait.

        Raises:
            ConflictError: another process, or another `FolderLock` of this process, has it.
            StoreUnavailableError: the folder cannot be written, or the disk is full.
        """
        with file_errors(self._folder), contextlib.ExitStack() as opened:
            make_folder(self._folder)
            file = opened.enter_context(open_private(self._path, "a+b"))
            while not _try_flock(file, fcntl.LOCK_EX):
                if _try_flock(file, fcntl.LOCK_SH):
                    continue  # `is_held` of another process had it, for a moment
                file.seek(0)
                owner = file.read().decode("utf-8", "replace").strip() or "another process"
                raise ConflictError(f'{self._kind} "{self._folder}" is in use by {owner}', hint=self._hint)
            if not self._is_in_place(file):
                raise ConflictError(f'"{self._path}" was replaced while it was locked', hint=self._hint)
            file.truncate(0)
            file.write(this_process().encode())
            file.flush()
            opened.pop_all()
            self._file = file

    def is_held(self) -> bool:
        """Whether a process on this machine has the lock."""
        return is_held(self._folder)

    def check(self) -> None:
        """
        Check that another process would be refused.

        Raises:
            LifecycleError: this process does not have the lock.
            ConflictError: `lease_lost`: the file was removed or replaced, so another process may have taken the folder.
            StoreUnavailableError: the folder cannot be read.
        """
        if self._file is None:
            raise LifecycleError(f'{self._kind} "{self._folder}" is not locked by this process')
        with file_errors(self._folder):
            if self._is_in_place(self._file):
                return
        raise LeaseLostError(
            f'{self._kind} "{self._folder}" is no longer locked by {this_process()}: "{self._path}" was removed or '
            "replaced",
            hint="do not remove this file, the lock ends with its process; check that one process uses the folder, "
            "and start again",
        )

    def _is_in_place(self, file: IO[bytes]) -> bool:
        """Whether the path names the locked file: a process that opens another one gets the lock of that."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Release the lock; may be called twice, or without `acquire`."""
        if self._file is not None:
            self._file.close()
            self._file = None


def is_held(folder: Path) -> bool:
    """
    Whether a `FolderLock` of a process on this machine has a folder.

    Raises:
        StoreUnavailableError: permission is denied.
    """
    with file_errors(folder):
        try:
            file = (folder / "lock").open("rb")
        except FileNotFoundError:
            return False
        with file:
            return not _try_flock(file, fcntl.LOCK_SH)


def _try_flock(file: IO[bytes], operation: int) -> bool:
    """Take a lock of the kernel if no other process has one that excludes it; returns whether it was taken."""
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

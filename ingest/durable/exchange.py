"""Exchanges two folders in one act, so that no crash shows a state between."""

import ctypes
import errno
import os
from pathlib import Path

from ingest.api import ConflictError
from ingest.durable.files import file_errors, sync_folder

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}


class NoExchangeError(ConflictError):
    """The file system of `state_dir` cannot exchange two folders in one act; HDFS cannot."""

    code = "no_exchange"
    remedy = (
        "Use a local file system, such as ext4 or xfs, for `state_dir`; in HDFS move the checkpoint away and start "
        "with --start-from."
    )


def exchange(one: Path, other: Path) -> None:
    """
    Give each of two existing folders the path of the other; durable when this returns.

    Source: renameat2(2) with RENAME_EXCHANGE, of Linux on ext4, xfs, btrfs and tmpfs among others.

    Raises:
        ConflictError: the system or the file system cannot do it; nothing was changed.
        StoreUnavailableError: permission is denied, or a folder is missing; nothing was changed.
        IntegrityError: the disk fails.
    """
    with file_errors(one):
        number = _renameat2(one, other)
        if number in _UNSUPPORTED:
            raise NoExchangeError(
                f'the file system of "{one}" cannot exchange two folders',
                hint="use a local file system, such as ext4 or xfs, for state_dir",
            )
        if number:
            raise OSError(number, os.strerror(number))
        for parent in {one.parent, other.parent}:
            sync_folder(parent)


def _renameat2(one: Path, other: Path) -> int:
    """The error number of the call; 0 if it succeeded."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return errno.ENOSYS
    done = function(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE))
    return ctypes.get_errno() if done else 0

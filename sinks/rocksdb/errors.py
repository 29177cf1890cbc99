"""Maps RocksDB's errors to ours."""

import errno
from pathlib import Path

from rocksdict import DbClosedError

from ingest.api import (
    ConflictError,
    IngestError,
    IntegrityError,
    NotFoundError,
    StoreBusyError,
    StoreRefusedError,
)
from ingest.durable import unusable

OWNER = "OWNER"
"""File beside RocksDB's LOCK that names the process; stale after a kill, so it is read only if LOCK is held."""

_NO_FOLDER = (errno.EEXIST, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP)


def is_from_rocksdb(error: Exception) -> bool:
    """Whether an error is RocksDB's or the file system's; rocksdict has no class of its own for them."""
    return type(error) is Exception or isinstance(error, (OSError, DbClosedError))


def number_of(text: str) -> int:
    """The errno for RocksDB's text about a file: no space, too many open files, or an I/O error."""
    lowered = text.lower()
    if any(words in lowered for words in ("no space left", "quota", "file too large", "max allowed space")):
        return errno.ENOSPC
    if "too many open files" in lowered:
        return errno.EMFILE
    return errno.EIO


def translated(error: Exception, path: Path) -> IngestError:
    """
    Our error for one of RocksDB's, which are plain exceptions with a text.

    A full disk and too many open files are temporary and retried. Any other failure of the disk is permanent: after a
    failed sync the content of the disk is unknown, even if a second sync succeeds.
    """
    text = str(error)
    lowered = text.lower()
    if "lock" in lowered and ("unavailable" in lowered or "lock hold" in lowered or "no locks" in lowered):
        return ConflictError(
            f'the store "{path}" is held by {owner_of(path)}',
            hint="only one process at a time may write it: stop that process, or wait for its end, and then run this "
            "command again; a pipeline of a running service that has failed with this error starts again by "
            "'attr2hbase reload'",
        )
    number = number_of(text)
    if number != errno.EIO:
        what = "no space left" if number == errno.ENOSPC else "too many open files for another one"
        return unusable(f'{what} for the store "{path}"', number, text)
    if "permission denied" in lowered or "read-only file system" in lowered:
        return StoreRefusedError(f'the store "{path}" may not be written: {text}', hint="check who owns the folder")
    if "busy" in lowered or "try again" in lowered or "timed out" in lowered:
        return StoreBusyError(f'the store "{path}" is busy: {text}')
    if isinstance(error, OSError) and error.errno in _NO_FOLDER:
        return NotFoundError(
            f'cannot create the folder "{path}": {error.strerror}',
            hint="the store needs a folder of its own: is a file in its place, or in place of a folder above it?",
        )
    return IntegrityError(
        f'the store "{path}" failed: {text}{_suspects(text, path)}',
        hint="check the disk, and restore a copy if it is damaged",
    )


def _suspects(text: str, path: Path) -> str:
    """Files that may be damaged: RocksDB names all files except logs."""
    if "checksum mismatch" not in text or "MANIFEST" in text or ".sst" in text:
        return ""
    logs = ", ".join(sorted(log.name for log in path.glob("*.log")))
    return f", in a log it reads at the start: {logs}"


def owner_of(path: Path) -> str:
    """The process that holds the store, for messages."""
    try:
        return (path / OWNER).read_text(encoding="utf-8").strip() or "another process"
    except OSError:
        return "another process"

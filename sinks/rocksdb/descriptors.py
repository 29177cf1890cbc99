"""Maximum number of files that RocksDB may have open: a part of the process's limit."""

import resource
from pathlib import Path

MAX_OPEN = 4_096
"""Of one store; further files are opened for each read, which costs far less than the read."""
MIN_OPEN = 20
"""The minimum that RocksDB allows."""
ALL = -1
"""RocksDB's value for no limit."""


def raise_limit() -> None:
    """Raise this process's limit of open files to what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # some systems report a hard limit that they do not grant; the old limit remains
            return


def max_open() -> int:
    """For a store of this process: a quarter of the limit, since there may be several stores."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MAX_OPEN
    return max(MIN_OPEN, min(soft // 4, MAX_OPEN))


def max_open_of_reader(path: Path) -> int:
    """
    The same for a reader of a store that another process writes.

    A reader can read a file that the writer has removed if it is still open, so it opens all files if the limit allows.
    """
    bound = max_open()
    count = sum(1 for _ in path.glob("*.sst"))
    return ALL if count < bound else bound

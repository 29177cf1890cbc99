"""How many files RocksDB may have open at a time: a part of the limit that sockets, logs and Spark use too."""

import resource
from pathlib import Path

MAX_OPEN = 4_096
"""Of one store; further files are opened again for each read, which costs far less than the read."""
MIN_OPEN = 20
"""RocksDB allows no smaller number."""
ALL = -1
"""No bound, as RocksDB writes it."""


def raise_limit() -> None:
    """Raise this process's limit of open files to what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # some systems report a limit that they do not grant; the old one remains in force
            return


def max_open() -> int:
    """For a store of this process: a quarter of the limit, since there may be several stores."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MAX_OPEN
    return max(MIN_OPEN, min(soft // 4, MAX_OPEN))


def max_open_of_reader(path: Path) -> int:
    """
    The same for a store that another process writes.

    A reader can still read a file that the writer removed while it has it open: so it opens all, if it can.
    """
    bound = max_open()
    count = sum(1 for _ in path.glob("*.sst"))
    return ALL if count < bound else bound

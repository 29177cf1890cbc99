"""How many files RocksDB may have open at a time: it must not take what the process needs for all else."""

import resource
from pathlib import Path

MAX_OPEN = 4_096
"""Of one store; what is read beyond that is opened again each time, which costs far less than what is read."""
MIN_OPEN = 20
"""RocksDB makes no smaller number of it."""
ALL = -1
"""No bound, as RocksDB writes it."""


def raise_limit() -> None:
    """Let this process have as many open files as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            # some systems name a limit that they do not give; what there was goes on to hold
            return


def max_open() -> int:
    """For a store of this process: a quarter, for there may be others, and beside them sockets, logs and Spark."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY:
        return MAX_OPEN
    return max(MIN_OPEN, min(soft // 4, MAX_OPEN))


def max_open_of_reader(path: Path) -> int:
    """
    The same for a store that another process writes.

    Its writer removes files, which a reader can go on to read while it has them open: so it has all, where it can.
    """
    bound = max_open()
    count = sum(1 for _ in path.glob("*.sst"))
    return ALL if count < bound else bound

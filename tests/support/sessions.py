"""
Sessions of processes that end with the process of the tests, even if that is killed or exceeds a time limit.

The watchdog is this file as a script, in a session of its own. Its standard input is a pipe from the tests, which
closes when they end: `+7` on a line adds the session 7, `-7` removes it. At the end of the input it kills the processes
of all sessions that are left.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from functools import cache

import psutil

_ROUNDS, _ROUND_S = 100, 0.1  # processes may start others until they are killed


def watch(session: int) -> None:
    """Kill the processes of a session when this process ends."""
    _tell(f"+{session}\n")


def forget(session: int) -> None:
    """No longer kill them: all have ended, so another process may get the number."""
    _tell(f"-{session}\n")


def processes_of(sessions: Collection[int]) -> list[psutil.Process]:
    """The running processes of sessions."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _tell(line: str) -> None:
    pipe = _watchdog().stdin
    assert pipe is not None
    pipe.write(line.encode())
    pipe.flush()


@cache
def _watchdog() -> "subprocess.Popen[bytes]":
    watchdog = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(watchdog.communicate)
    return watchdog


def main(lines: Iterable[str]) -> None:
    """Follow the lines of the tests; at their end, kill what is left."""
    sessions: set[int] = set()
    for line in lines:
        change = sessions.add if line[0] == "+" else sessions.discard
        change(int(line[1:]))
    for _ in range(_ROUNDS):
        left = processes_of(sessions)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not left:
            break
        time.sleep(_ROUND_S)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(sys.stdin)

"""A server process that outlives the command that started it: pid file, log, signals."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local_servers.errors import ServerError

POLL_S = 0.05  # interval between checks of a condition


class ServerProcess:
    """
    A process identified by a pid file in a folder.

    The pid file also contains the start time of the process, so a reused pid is never signalled.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._pid_file = folder / f"{name}.pid"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Pid of the running process, or None."""
        if self._child is not None:
            self._child.poll()  # reaps a finished child, which else stays a zombie and seems alive
        try:
            stored = json.loads(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        pid = int(stored["pid"])
        return pid if _began(pid) == stored["began"] is not None else None

    def start(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> int:
        """Start the process in its own session, so that Ctrl-C in a terminal does not reach it."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self._pid_file.write_text(json.dumps({"pid": self._child.pid, "began": _began(self._child.pid)}))
        return self._child.pid

    def signal(self, number: int) -> bool:
        """Send a signal, if the process runs; returns whether it did."""
        pid = self.pid
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            return True
        return False

    def stop(self, *, grace_s: float = 20.0) -> bool:
        """Stop the process with SIGTERM, after `grace_s` with SIGKILL; returns False if it did not run."""
        if not self.signal(signal.SIGTERM):
            self._forget()
            return False
        self.signal(signal.SIGCONT)  # a paused process does not handle SIGTERM
        if not _reached(lambda: self.pid is None, grace_s):
            return self.kill()
        self._forget()
        return True

    def kill(self) -> bool:
        """Kill the process with SIGKILL and wait until it is gone."""
        was_there = self.signal(signal.SIGKILL)
        if was_there and not _reached(lambda: self.pid is None, 10.0):
            raise ServerError(f"{self.name} with pid {self.pid} does not end after SIGKILL")
        self._forget()
        return was_there

    def wait_until(
        self,
        ready: Callable[[], bool],
        *,
        timeout_s: float,
        progress: Callable[[], object] = lambda: None,
        most_s: float = 0.0,
    ) -> None:
        """
        Wait until the server is ready: for `timeout_s`, and again as long as it makes progress, with a line on stderr.

        Args:
            ready: whether it is.
            timeout_s: without progress.
            progress: a value that changes when the server does something.
            most_s: in all, if that is longer: a server may do the same again and again.

        Raises:
            ServerError: it ended, or was not ready in time; the message names its log.
        """
        begun_s, before = time.monotonic(), progress()
        while not _reached(lambda: self.pid is None or ready(), timeout_s):
            waited_s = time.monotonic() - begun_s
            what = f"{self.name} was not ready within {waited_s:.0f} s"
            now = progress()
            if now == before or waited_s >= most_s:
                raise ServerError(f"{what}: {self.last_error()}; see {self.log}")
            print(f"{what}; waiting, since its log goes on: {self.last_error()}", file=sys.stderr, flush=True)
            before = now
        if self.pid is None:
            raise ServerError(f"{self.name} ended while it was starting: {self.last_error()}; see {self.log}")

    def log_size(self) -> int:
        """Bytes of its log."""
        return self.log.stat().st_size if self.log.exists() else 0

    def last_error(self) -> str:
        """The last line of its log with an error, or its last line."""
        if not self.log.exists():
            return "it was not started"
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if any(word in line for word in ("ERROR", "Error", "Exception"))]
        return (errors or lines or ["its log is empty"])[-1].strip()[:200]

    def _forget(self) -> None:
        if self._child is not None:
            self._child.wait(10)
            self._child = None
        self._pid_file.unlink(missing_ok=True)


def free_ports(count: int) -> list[int]:
    """
    Free ports, all different.

    They are below the range of ephemeral ports, so that no outgoing connection occupies the port of a server that is
    restarted.
    """
    candidates = random.SystemRandom().sample(range(15_000, 32_000), 1_000)
    found: list[int] = []
    with contextlib.ExitStack() as sockets:
        for port in candidates:
            if len(found) == count:
                break
            one = sockets.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                found.append(port)
    return found


def _reached(condition: Callable[[], bool], timeout_s: float) -> bool:
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def _began(pid: int) -> str | None:
    """Start time of a process, as the system reports it; None if it does not exist or is a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    status, _, began = answer.stdout.strip().partition(" ")
    return None if not status or status.startswith("Z") else began.strip()

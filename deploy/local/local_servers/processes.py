"""One server process that outlives the command which started it: pid file, log, signals."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from local_servers.errors import ServerError

POLL_S = 0.05  # how often a condition is looked at while waiting


class ServerProcess:
    """
    A process known by a pid file in a folder.

    The pid file also holds when the process began, so a pid that was given to a stranger since is never signalled.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._pid_file = folder / f"{name}.pid"
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Pid of the running process, None when there is none."""
        if self._child is not None:
            self._child.poll()  # a finished child stays a zombie, and so seems alive, until it is asked for
        try:
            kept = json.loads(self._pid_file.read_text())
        except (FileNotFoundError, ValueError):
            return None
        pid = int(kept["pid"])
        return pid if _began(pid) == kept["began"] is not None else None

    def start(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> int:
        """Start the process in a session of its own, so that Ctrl-C in a terminal does not reach it."""
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
        """Send a signal if the process is still there."""
        pid = self.pid
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            return True
        return False

    def stop(self, *, grace_s: float = 20.0) -> bool:
        """End the process with SIGTERM, after the grace with SIGKILL; False when there was none."""
        if not self.signal(signal.SIGTERM):
            self._forget()
            return False
        self.signal(signal.SIGCONT)  # a paused process takes no SIGTERM
        if not _reached(lambda: self.pid is None, grace_s):
            return self.kill()
        self._forget()
        return True

    def kill(self) -> bool:
        """End the process with SIGKILL and wait until it is gone."""
        was_there = self.signal(signal.SIGKILL)
        if was_there and not _reached(lambda: self.pid is None, 10.0):
            raise ServerError(f"{self.name} with pid {self.pid} does not end after SIGKILL")
        self._forget()
        return was_there

    def wait_until(self, ready: Callable[[], bool], *, timeout_s: float) -> None:
        """
        Wait until the server answers.

        Raises:
            ServerError: it ended, or did not answer in time; the message names its log.
        """
        reached = _reached(lambda: self.pid is None or ready(), timeout_s)
        if self.pid is None:
            raise ServerError(f"{self.name} ended while it was starting: {self._last_words()}; see {self.log}")
        if not reached:
            said = self._last_words()
            raise ServerError(f"{self.name} was not ready within {timeout_s:.0f} s: {said}; see {self.log}")

    def _forget(self) -> None:
        if self._child is not None:
            self._child.wait(10)
            self._child = None
        self._pid_file.unlink(missing_ok=True)

    def _last_words(self) -> str:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        telling = [line for line in lines if "ERROR" in line or "Exception" in line]
        return (telling or lines or ["it said nothing"])[-1].strip()[:200]


def free_ports(count: int) -> list[int]:
    """
    Ports nobody listens on now; all held until the last is found, so they differ.

    From below the range out of which systems give ports to outgoing connections: a server that is started again on its
    port must not find a client there.
    """
    candidates = random.SystemRandom().sample(range(15_000, 32_000), 1_000)
    found: list[int] = []
    with contextlib.ExitStack() as held:
        for port in candidates:
            if len(found) == count:
                break
            one = held.enter_context(socket.socket())
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
    """When a process began, as the system tells it; None when there is no such process, or it is a zombie."""
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

"""A memory limit for the processes of a service, at which the kernel kills one of them."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import psutil

from tests.support.waiting import reached

CONTROLLER = Path("/sys/fs/cgroup/memory")
ROOM_BYTES = 128 << 20
HOG = """
import sys, time
sys.stdin.read()
blocks = []
while True:
    blocks.append(bytearray(b"x") * (8 << 20))
    time.sleep(0.05)
"""


class MemoryLimit:
    """
    A control group.

    Processes started in `joined` belong to it. `kill` adds a process that allocates memory up to the limit; the kernel
    then kills the victim, because its OOM score is the highest.
    """

    def __init__(self, name: str) -> None:
        self._folder = CONTROLLER / name

    @staticmethod
    def is_available() -> bool:
        """Whether the machine has control groups of version 1, and the test runs as root."""
        return os.access(CONTROLLER / "memory.limit_in_bytes", os.W_OK) and os.geteuid() == 0

    def __enter__(self) -> Self:
        self._folder.mkdir()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._write("memory.limit_in_bytes", "-1")
        # move remaining processes to the root group
        for pid in (self._folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (CONTROLLER / "cgroup.procs").write_text(pid)

        def gone() -> bool:
            with contextlib.suppress(OSError):
                self._folder.rmdir()
            return not self._folder.exists()

        assert reached(gone, 20, 0.1)

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """Processes started in this block belong to the group, with their descendants."""
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        home = next(line.split(":")[2] for line in lines if line.split(":")[1] == "memory").strip("/")
        self._write("cgroup.procs", str(os.getpid()))
        try:
            yield
        finally:
            (CONTROLLER / home / "cgroup.procs").write_text(str(os.getpid()))

    def kill(self, victim: psutil.Process) -> None:
        """Make the kernel kill a process of the group, and wait until it has ended."""
        before = self.kills
        Path(f"/proc/{victim.pid}/oom_score_adj").write_text("1000")
        with subprocess.Popen([sys.executable, "-c", HOG], stdin=subprocess.PIPE, start_new_session=True) as hog:
            try:
                self._write("cgroup.procs", str(hog.pid))
                self._write("memory.limit_in_bytes", str(self._of("memory.stat", "total_rss") + ROOM_BYTES))
                assert hog.stdin is not None
                hog.stdin.close()
                assert reached(lambda: self.kills > before and _is_gone(victim), 60), "the kernel killed no process"
            finally:
                hog.kill()
        self._write("memory.limit_in_bytes", "-1")

    @property
    def kills(self) -> int:
        """Number of processes of the group that the kernel has killed."""
        return self._of("memory.oom_control", "oom_kill")

    def _of(self, file: str, name: str) -> int:
        lines = (self._folder / file).read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.split()[0] == name)

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text)


def _is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True

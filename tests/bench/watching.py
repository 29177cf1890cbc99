"""CPU and memory of processes while something runs."""

import os
import threading
from collections.abc import Callable, Iterable
from typing import Self

import psutil

Processes = Callable[[], Iterable[psutil.Process]]


def ours() -> list[psutil.Process]:
    """This process and all it started, but for servers, which have sessions of their own."""
    here = psutil.Process()
    session = os.getsid(0)
    return [here, *(child for child in here.children(recursive=True) if _session(child) == session)]


class Watch:
    """Memory and CPU of processes, also of those that ended meanwhile; looked at twice a second."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.peak_mib = 0.0

    def __enter__(self) -> Self:
        for process in self._processes():
            self._first[process.pid] = _cpu_s(process)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @property
    def cpu_s(self) -> float:
        """Seconds of CPU since the beginning."""
        return sum(last - self._first.get(pid, 0.0) for pid, last in self._last.items())

    def _follow(self) -> None:
        while True:
            over = self._end.wait(0.5)
            held = 0
            for process in self._processes():
                try:
                    held += process.memory_info().rss
                    self._last[process.pid] = _cpu_s(process)
                except psutil.Error:
                    continue
            self.peak_mib = max(self.peak_mib, held / 2**20)
            if over:
                return


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1

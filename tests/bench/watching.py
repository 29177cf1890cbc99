"""Time, CPU and memory of a run after its warm-up, that is, during the second half of its events."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import psutil

from tests.bench.threads import CpuByThread, seconds, usage
from tests.support.local import ServerProcess

Processes = Callable[[], Iterable[psutil.Process]]

WARM_UP = 0.5
"""Fraction of the events for the warm-up of each run: JVMs compile, connections and files are opened."""
POLL_S = 0.2
TIMEOUT_S = 900.0


@dataclass(frozen=True)
class Sample:
    """
    Measurements of one run of a stage or peer, after its warm-up.

    Attributes:
        events: number of events read or stored.
        seconds: duration.
        cpu_s: of its own processes.
        servers_cpu_s: of Kafka, and of HBase with its Thrift server if it is used.
        peak_mib: resident memory of all its own processes together, since the start.
        threads: CPU by process and purpose of threads, with the servers; only of threads that still run at the end.
        share_of_files: of all rows of the run, those that HBase has loaded as files.
    """

    events: int
    seconds: float
    cpu_s: float
    servers_cpu_s: float
    peak_mib: float
    threads: CpuByThread = field(default_factory=dict)
    share_of_files: float = 0.0

    @property
    def per_s(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def ours() -> list[psutil.Process]:
    """This process and its descendants, without servers, which have their own sessions."""
    here = psutil.Process()
    session = os.getsid(0)
    return [here, *(child for child in here.children(recursive=True) if _session(child) == session)]


def processes_of(*servers: ServerProcess) -> Processes:
    """The running processes of servers."""
    return lambda: [psutil.Process(server.pid) for server in servers if server.pid is not None]


class Usage:
    """CPU and memory of processes, including those that end meanwhile; sampled twice a second in a `with` block."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._seen: dict[int, float] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.peak_mib = 0.0

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def cpu_s(self) -> float:
        """CPU seconds so far of all processes seen."""
        self._look()
        return sum(self._seen.values())

    def _follow(self) -> None:
        while not self._end.wait(0.5):
            self._look()

    def _look(self) -> None:
        memory = 0
        for process in self._processes():
            try:
                memory += process.memory_info().rss
                times = process.cpu_times()
            except psutil.Error:
                continue
            self._seen[process.pid] = times.user + times.system
        self.peak_mib = max(self.peak_mib, memory / 2**20)


def follow(
    events: int,
    done: Callable[[], int],
    *,
    its: Processes,
    servers: Processes,
    runs: Callable[[], bool] = lambda: True,
    repeats: bool = False,
) -> Sample:
    """
    Measure a started run until all its events are done.

    Args:
        events: number of events of the whole run.
        done: returns the number of events done so far.
        its: the run's own processes.
        servers: processes of the servers it uses.
        runs: whether the run is still active.
        repeats: whether it may store an event more than once; all are counted.

    Raises:
        RuntimeError: the run ended early, took too long, or processed a wrong number of events.
    """
    end = time.monotonic() + TIMEOUT_S

    def reach(wanted: float) -> int:
        while (count := done()) < wanted:
            if not runs() or time.monotonic() > end:
                raise RuntimeError(f"the run stopped at {count} of {events} events")
            time.sleep(POLL_S)
        return count

    with Usage(its) as own, Usage(servers) as others:
        first = reach(events * WARM_UP)
        before = seconds([*its(), *servers()])
        started, own_s, others_s = time.perf_counter(), own.cpu_s(), others.cpu_s()
        last = reach(events)
        took, own_s, others_s = time.perf_counter() - started, own.cpu_s() - own_s, others.cpu_s() - others_s
        processes = [*its(), *servers()]
        used = usage(processes, before, seconds(processes))
        if last > events and not repeats:
            raise RuntimeError(f"{last} events were done, expected {events}")
        if last == first:
            raise RuntimeError(f"all {events} events were done during the warm-up; use more events")
        return Sample(last - first, took, own_s, others_s, own.peak_mib, used)


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1

"""What a run takes once it is warm: time, CPU and memory of processes, from half of its events to the last."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import psutil

from tests.bench.threads import Shares, seconds, shares
from tests.support.local import ServerProcess

Processes = Callable[[], Iterable[psutil.Process]]

WARM_SHARE = 0.5
"""Of the events, which every rung and peer has for its start: JVMs compile, connections are made, files opened."""
POLL_S = 0.2
PATIENCE_S = 900.0


@dataclass(frozen=True)
class Sample:
    """
    One run of one rung or peer, once it was warm.

    Attributes:
        events: that were seen or stored while it was watched.
        seconds: for those.
        cpu_s: of its own processes.
        servers_cpu_s: of Kafka, and of HBase with its Thrift server where it takes part.
        peak_mib: resident memory of all its processes together, from its start.
        threads: CPU by process and by what its threads are for, the servers' too; of what runs at the end.
    """

    events: int
    seconds: float
    cpu_s: float
    servers_cpu_s: float
    peak_mib: float
    threads: Shares = field(default_factory=dict)

    @property
    def per_s(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def ours() -> list[psutil.Process]:
    """This process and all it started, but for servers, which have sessions of their own."""
    here = psutil.Process()
    session = os.getsid(0)
    return [here, *(child for child in here.children(recursive=True) if _session(child) == session)]


def processes_of(*servers: ServerProcess) -> Processes:
    """Those of servers that run."""
    return lambda: [psutil.Process(server.pid) for server in servers if server.pid is not None]


class Usage:
    """CPU and memory of processes, also of those that ended meanwhile; looked at twice a second, in a `with` block."""

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
        """Seconds of CPU so far, of all that were ever seen."""
        self._look()
        return sum(self._seen.values())

    def _follow(self) -> None:
        while not self._end.wait(0.5):
            self._look()

    def _look(self) -> None:
        held = 0
        for process in self._processes():
            try:
                held += process.memory_info().rss
                times = process.cpu_times()
            except psutil.Error:
                continue
            self._seen[process.pid] = times.user + times.system
        self.peak_mib = max(self.peak_mib, held / 2**20)


def follow(
    events: int,
    done: Callable[[], int],
    *,
    its: Processes,
    servers: Processes,
    runs: Callable[[], bool] = lambda: True,
) -> Sample:
    """
    Watch a run that was started, until all its events are done.

    Args:
        events: of the whole run.
        done: how many are, by now.
        its: its own processes.
        servers: those it works with.
        runs: whether it still does.

    Raises:
        RuntimeError: it ended before, or takes too long.
    """
    end = time.monotonic() + PATIENCE_S

    def reach(wanted: float) -> int:
        while (count := done()) < wanted:
            if not runs() or time.monotonic() > end:
                raise RuntimeError(f"it came to {count} of {events} events")
            time.sleep(POLL_S)
        return count

    with Usage(its) as own, Usage(servers) as others:
        first = reach(events * WARM_SHARE)
        before = seconds([*its(), *servers()])
        started, own_s, others_s = time.perf_counter(), own.cpu_s(), others.cpu_s()
        last = reach(events)
        took, own_s, others_s = time.perf_counter() - started, own.cpu_s() - own_s, others.cpu_s() - others_s
        everybody = [*its(), *servers()]
        used = shares(everybody, before, seconds(everybody))
        if last > events:
            raise RuntimeError(f"{last} events where there are {events}")
        if last == first:
            raise RuntimeError(f"all {events} events were done before it was warm; it needs more of them")
        return Sample(last - first, took, own_s, others_s, own.peak_mib, used)


def follow_peer(
    process: ServerProcess, command: Sequence[str], events: int, done: Callable[[], int], *, servers: Processes
) -> Sample:
    """Start a peer, watch it as `follow` does, and end it."""
    process.start(command)
    try:
        return follow(events, done, its=processes_of(process), servers=servers, runs=lambda: process.pid is not None)
    finally:
        process.kill()


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1

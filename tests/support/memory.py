"""Resident memory of the processes of a service over time."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median

import psutil

from tests.support.service import Service

EVERY_S = 1.0
KINDS = ("driver", "jvm", "workers")


@dataclass(frozen=True)
class Sample:
    """
    A sample.

    Attributes:
        at_s: monotonic time in seconds.
        bytes: kind of process -> resident memory; the sum for workers.
    """

    at_s: float
    bytes: dict[str, int]


class Memory:
    """Samples of one service."""

    def __init__(self, service: Service) -> None:
        self.samples: list[Sample] = []
        self._service = service

    def sample(self) -> None:
        """Take a sample."""
        jvm = self._service.jvm()
        found = {
            "driver": _resident([psutil.Process(self._service.pid)]),
            "jvm": _resident([] if jvm is None else [jvm]),
            "workers": _resident(self._service.workers()),
        }
        self.samples.append(Sample(time.monotonic(), found))

    def between(self, begin_s: float, end_s: float) -> dict[str, float]:
        """Kind of process -> median between two times, in MiB."""
        found = [sample.bytes for sample in self.samples if begin_s <= sample.at_s < end_s]
        assert found, "no sample in that time"
        return {kind: median(sample[kind] for sample in found) / 2**20 for kind in KINDS}


@contextmanager
def watched(service: Service) -> Iterator[Memory]:
    """Sample a running service until the block ends."""
    memory = Memory(service)
    end = threading.Event()

    def run() -> None:
        while not end.wait(EVERY_S):
            with suppress(psutil.Error):  # a process may have ended
                memory.sample()

    thread = threading.Thread(target=run, name="memory", daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        end.set()
        thread.join()


def described(memory: dict[str, float]) -> str:
    """As text."""
    return ", ".join(f"{kind} {size:.0f} MiB" for kind, size in memory.items())


def _resident(processes: list[psutil.Process]) -> int:
    return sum(process.memory_info().rss for process in processes)

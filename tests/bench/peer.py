"""What all peers share: processes of their own that write the lines of a topic."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.watching import Processes, Sample, follow, processes_of
from tests.support.local import ServerProcess

OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.util")
]
"""For JVMs: HBase's client and Hadoop need them with Java 17."""


class Peer(ABC):
    """
    A program that does the work of attr2hbase.

    Args:
        folder: of its settings, data and logs.
    """

    repeats = True
    """Whether it may store an event more than once, for example after a failed transaction."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._running: list[ServerProcess] = []

    @abstractmethod
    def commands(self) -> Mapping[str, Sequence[str]]:
        """Name of a process -> its command."""

    @abstractmethod
    def stored(self) -> int:
        """Number of events that are written; 0 while the peer starts."""

    def last(self, events: int) -> int:
        """Number of events with which the measurement of a topic of so many ends."""
        return events

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start its processes, and kill them at the end."""
        try:
            for name, command in self.commands().items():
                process = ServerProcess(name, self.folder)
                self._running.append(process)
                process.start(command)
            yield
        finally:
            for process in self._running:
                process.kill()
            self._running.clear()

    def measured(self, events: int, servers: Processes) -> Sample:
        """
        Measure it, while it runs, over a topic with this number of events.

        Raises:
            RuntimeError: it ended early, or took too long; with the last lines of its logs.
        """
        running = list(self._running)
        try:
            return follow(
                self.last(events),
                self.stored,
                its=processes_of(*running),
                servers=servers,
                runs=lambda: all(process.pid is not None for process in running),
                repeats=self.repeats,
            )
        except RuntimeError as error:
            for process in running:
                error.add_note(process.log.read_text(errors="replace")[-2000:])  # its folder is removed
            raise

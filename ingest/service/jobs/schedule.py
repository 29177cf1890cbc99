"""Submits the jobs that a configuration declares, each at its times."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.service.jobs.job import Job
from ingest.service.jobs.periodic import Periodic

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.service.jobs.scheduler import Jobs

POLL_S = 1.0
DAY_S = 86_400
JOIN_S = 1.0
"""How long the end of a schedule waits for it: a root of dumps may be on a file system that does not answer."""
_log = logger(__name__)


class Daily(NamedTuple):
    """Once a day, at a time in seconds from midnight, in UTC."""

    at_s: int

    def next_s(self, now_s: float) -> float:
        """The next such moment after now, in seconds since the epoch."""
        today = now_s // DAY_S * DAY_S + self.at_s
        return today if today > now_s else today + DAY_S


class Every(NamedTuple):
    """After each interval."""

    interval_s: float

    def next_s(self, now_s: float) -> float:
        """The moment one interval from now."""
        return now_s + self.interval_s


class ScheduledJob(NamedTuple):
    """
    A job that a configuration declares.

    Attributes:
        when: its times.
        job: of the next run; no other one that is declared has its subject.
        tables: names of the tables that it works on.
    """

    when: Daily | Every
    job: Job[Any]
    tables: tuple[str, ...]


class Schedule(Periodic):
    """
    Submits each job of a kind that the configuration declares, at its times.

    A job that was due while the service did not run is not made up for. A job that still waits or runs is not
    submitted a second time. It follows the configuration of the service through reloads. Runs in a thread, in a block.

    Args:
        name: of the thread.
        jobs: of the service, started.
        declared: the jobs that a configuration declares.
        on_change: called with them and the present time, in seconds since the epoch: at first, and when a reload has
            changed times or tables.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self,
        name: str,
        jobs: "Jobs",
        declared: Callable[[Configuration], list[ScheduledJob]],
        on_change: Callable[[list[ScheduledJob], float], None],
        *,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        super().__init__(name, POLL_S, self.submit_due, join_s=JOIN_S)
        self._jobs = jobs
        self._declared = declared
        self._on_change = on_change
        self._clock_ms = clock_ms
        self._known: list[tuple[str, Daily | Every, tuple[str, ...]]] = []
        self._due_s: dict[tuple[str, Daily | Every], float] = {}

    def submit_due(self) -> None:
        """Submit the jobs that are due now; one that is refused is due again at its next time."""
        shared = self._jobs.shared
        if shared is None:
            return
        now_s, declared = self._clock_ms() / 1000, self._declared(shared.configuration)
        known = [(each.job.subject, each.when, each.tables) for each in declared]
        if known != self._known:
            self._known = known
            self._on_change(declared, now_s)
        before, self._due_s = self._due_s, {}
        for each in declared:
            # a reload that leaves the times of a job as they are must not move one that is due
            key, next_s = (each.job.subject, each.when), each.when.next_s(now_s)
            due_s = min(before.get(key, next_s), next_s)  # the clock may have been ahead
            self._due_s[key] = next_s if now_s >= due_s else due_s
            if now_s >= due_s:
                self._submit(each.job)

    def _submit(self, job: Job[Any]) -> None:
        try:
            self._jobs.submit(job)
        except IngestError as error:
            _log.warning("a job was not submitted", kind=job.kind, subject=job.subject, reason=str(error))

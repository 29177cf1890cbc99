"""Submits the jobs that a configuration declares, each once a day at its time."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ingest.api import IngestError
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.service.jobs.job import Job
from ingest.service.jobs.periodic import Periodic
from ingest.service.jobs.scheduler import Jobs

POLL_S = 1.0
DAY_S = 86_400
_log = logger(__name__)


class DailyJob(NamedTuple):
    """
    A job that a configuration declares for each day.

    Attributes:
        at_s: seconds from midnight, in UTC.
        tables: names of the tables that it works on.
        job: of the next run; no other one that is declared has its subject.
    """

    at_s: int
    tables: tuple[str, ...]
    job: Job


class DailySchedule(Periodic):
    """
    Submits each job that the configuration declares once a day, at its time.

    A job that was due while the service did not run is not made up for. A job that still waits or runs is not
    submitted a second time. It follows the configuration of the service through reloads. Runs in a thread, in a block.

    Args:
        name: of the thread.
        jobs: of the service, started.
        declared: the jobs that a configuration declares.
        on_change: called with them and the present time, in seconds since the epoch: at first, and when a reload has
            changed times or tables.
        clock_ms: milliseconds since the epoch.
        join_s: as in `Periodic`.
    """

    def __init__(
        self,
        name: str,
        jobs: Jobs,
        declared: Callable[[Configuration], list[DailyJob]],
        on_change: Callable[[list[DailyJob], float], None],
        *,
        clock_ms: Callable[[], int],
        join_s: float | None = None,
    ) -> None:
        super().__init__(name, POLL_S, self.submit_due, join_s=join_s)
        self._jobs = jobs
        self._declared = declared
        self._on_change = on_change
        self._clock_ms = clock_ms
        self._known: Mapping[str, tuple[int, tuple[str, ...]]] = {}
        self._times: Mapping[str, _DailyTime] = {}

    def submit_due(self) -> None:
        """Submit the jobs that are due now; one that is refused is due again on the next day."""
        shared = self._jobs.shared
        if shared is None:
            return
        now_s, declared = self._clock_ms() / 1000, self._declared(shared.configuration)
        known = {each.job.subject: (each.at_s, each.tables) for each in declared}
        if known != self._known:
            self._known = known
            self._times = {subject: self._time(subject, at_s, now_s) for subject, (at_s, _) in known.items()}
            self._on_change(declared, now_s)
        for each in declared:
            if self._times[each.job.subject].take_due(now_s):
                try:
                    self._jobs.submit(each.job)
                except IngestError as error:
                    _log.warning(
                        "a job was not submitted", kind=each.job.kind, subject=each.job.subject, reason=str(error)
                    )

    def _time(self, subject: str, at_s: int, now_s: float) -> "_DailyTime":
        """That of before, unless it has changed: a reload must not move a time that is due to the next day."""
        known = self._times.get(subject)
        return known if known is not None and known.at_s == at_s else _DailyTime(at_s, now_s)


class _DailyTime:
    """
    A time of day, which is due once a day. One that passed since the last call is due at the next one.

    Args:
        at_s: seconds from midnight, in UTC.
        now_s: seconds since the epoch; the first time it is due is after this moment.
    """

    def __init__(self, at_s: int, now_s: float) -> None:
        self.at_s = at_s
        self._due_s = self._next_s(now_s)

    def take_due(self, now_s: float) -> bool:
        """Whether it is due; if so, it is due again on the next day."""
        next_s = self._next_s(now_s)
        due_s = min(self._due_s, next_s)  # the clock may have been ahead
        self._due_s = next_s if now_s >= due_s else due_s
        return now_s >= due_s

    def _next_s(self, now_s: float) -> float:
        """The next moment after now with this time of day, in seconds since the epoch."""
        today = now_s // DAY_S * DAY_S + self.at_s
        return today if today > now_s else today + DAY_S

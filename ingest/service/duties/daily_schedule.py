"""Submits the duties that a configuration declares, each once a day at its time."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ingest.api import IngestError
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.service.duties.duty import Duty
from ingest.service.duties.periodic import Periodic
from ingest.service.duties.scheduler import Duties

POLL_S = 1.0
DAY_S = 86_400
_log = logger(__name__)


class DailyDuty(NamedTuple):
    """
    A duty that a configuration declares for each day.

    Attributes:
        at_s: seconds from midnight, in UTC.
        tables: names of the tables that it works on.
        duty: of the next run; no other one that is declared has its subject.
    """

    at_s: int
    tables: tuple[str, ...]
    duty: Duty


class DailySchedule(Periodic):
    """
    Submits each duty that the configuration declares once a day, at its time.

    A duty that was due while the service did not run is not made up for. A duty that still waits or runs is not
    submitted a second time. It follows the configuration of the service through reloads. Runs in a thread, in a block.

    Args:
        name: of the thread.
        duties: of the service, started.
        declared: the duties that a configuration declares.
        on_change: called with them and the present time, in seconds since the epoch: at first, and when a reload has
            changed times or tables.
        clock_ms: milliseconds since the epoch.
        join_s: as of `Periodic`.
    """

    def __init__(
        self,
        name: str,
        duties: Duties,
        declared: Callable[[Configuration], list[DailyDuty]],
        on_change: Callable[[list[DailyDuty], float], None],
        *,
        clock_ms: Callable[[], int],
        join_s: float | None = None,
    ) -> None:
        super().__init__(name, POLL_S, self.submit_due, join_s=join_s)
        self._duties = duties
        self._declared = declared
        self._on_change = on_change
        self._clock_ms = clock_ms
        self._known: Mapping[str, tuple[int, tuple[str, ...]]] = {}
        self._times: Mapping[str, _DailyTime] = {}

    def submit_due(self) -> None:
        """Submit the duties that are due now; one that is refused is due again on the next day."""
        shared = self._duties.shared
        if shared is None:
            return
        now_s, declared = self._clock_ms() / 1000, self._declared(shared.configuration)
        known = {each.duty.subject: (each.at_s, each.tables) for each in declared}
        if known != self._known:
            self._known = known
            self._times = {subject: self._time(subject, at_s, now_s) for subject, (at_s, _) in known.items()}
            self._on_change(declared, now_s)
        for each in declared:
            if self._times[each.duty.subject].take_due(now_s):
                try:
                    self._duties.submit(each.duty)
                except IngestError as error:
                    _log.warning(
                        "a duty was not submitted", kind=each.duty.kind, subject=each.duty.subject, reason=str(error)
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

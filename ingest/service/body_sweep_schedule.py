"""Submits the daily sweeps of bodies that the tables of a configuration declare."""

from collections.abc import Callable, Mapping

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.service.body_sweep import BodySweepDuty
from ingest.service.duties import Duties
from ingest.service.periodic import DAY_S, DailyTime, Periodic

POLL_S = 1.0
_log = logger(__name__)


class BodySweepSchedule(Periodic):
    """
    Submits a duty for each table with `bodies: {sweep_at: …}`, once a day at this time.

    A sweep that was due while the service did not run is not made up for. A sweep that still waits or runs is not
    submitted a second time. It follows the configuration of the service through reloads. Runs in a thread, in a block.

    Args:
        duties: of the service, started.
        metrics: of the service.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, duties: Duties, metrics: Metrics, *, clock_ms: Callable[[], int] = now_ms) -> None:
        super().__init__("sweeps", POLL_S, self.submit_due)
        self._duties = duties
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._known: Mapping[str, int] = {}
        self._times: dict[str, DailyTime] = {}

    def submit_due(self) -> None:
        """Submit the sweeps that are due now."""
        shared = self._duties.shared
        if shared is None:
            return
        now_s, known = self._clock_ms() / 1000, daily_sweeps(shared.configuration)
        if known != self._known:
            self._metrics.sweeps_scheduled(dict.fromkeys(known, DAY_S), now_s)
            changed = {table: at_s for table, at_s in known.items() if at_s != self._known.get(table)}
            self._times |= {table: DailyTime(at_s, now_s) for table, at_s in changed.items()}
            self._known = known
        for table in known:
            if self._times[table].is_due(now_s):
                try:
                    self._duties.submit(BodySweepDuty(table))
                except IngestError as error:
                    _log.warning("a sweep was not submitted", table=table, reason=str(error))


def daily_sweeps(configuration: Configuration) -> dict[str, int]:
    """The tables whose bodies are swept once a day, with the seconds from midnight, in UTC."""
    found = {}
    for name, table in configuration.tables.items():
        at_s = None if table.options.bodies is None else table.options.bodies.sweep_at_s
        if at_s is not None:
            found[name] = at_s
    return found

"""Submits the daily dump that a configuration declares."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.service.dump_duty import DumpDuty
from ingest.service.dump_plan import tables_of
from ingest.service.dump_request import DumpRequest
from ingest.service.duties import Duties
from ingest.service.periodic import DAY_S, DailyTime, Periodic
from sinks.dumps.listing import complete_dumps
from sinks.files.root import open_root, root_errors

POLL_S = 1.0
JOIN_S = 1.0  # the root may be on a file system that does not answer
_log = logger(__name__)


class DailyDump(NamedTuple):
    """
    A dump that is repeated.

    Attributes:
        at_s: seconds from midnight, in UTC.
        tables: names of its tables.
    """

    at_s: int
    tables: tuple[str, ...]
    request: DumpRequest


class DumpSchedule(Periodic):
    """
    Submits a duty for the dump of `stash: {at: …}`, once a day at this time.

    A dump that was due while the service did not run is not made up for. A dump that still waits or runs is not
    submitted a second time. It follows the configuration of the service through reloads. Runs in a thread, in a block.

    Args:
        duties: of the service, started.
        metrics: of the service.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, duties: Duties, metrics: Metrics, *, clock_ms: Callable[[], int] = now_ms) -> None:
        super().__init__("dumps", POLL_S, self.submit_due, join_s=JOIN_S)
        self._duties = duties
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._known: DailyDump | None = None
        self._time: DailyTime | None = None

    def submit_due(self) -> None:
        """Submit the dump if it is due now."""
        shared = self._duties.shared
        if shared is None:
            return
        now_s, daily = self._clock_ms() / 1000, daily_dump(shared.configuration)
        if daily != self._known:
            self._known = daily
            self._time = None if daily is None else DailyTime(daily.at_s, now_s)
            last_s = {} if daily is None else _last_s(daily, now_s)
            self._metrics.stash_scheduled(last_s, DAY_S)
        if daily is None or self._time is None or not self._time.is_due(now_s):
            return
        try:
            self._duties.submit(DumpDuty(daily.request))
        except IngestError as error:
            _log.warning("a dump was not submitted", root=daily.request.root, reason=str(error))


def daily_dump(configuration: Configuration) -> DailyDump | None:
    """The dump that a configuration declares for each day; None without one."""
    stash = configuration.stash
    if stash is None or stash.at_s is None:
        return None
    return DailyDump(stash.at_s, tuple(tables_of(configuration, ())), DumpRequest.of_options(stash))


def _last_s(daily: DailyDump, now_s: float) -> Mapping[str, float]:
    """The end of the last complete dump of each table, in seconds since the epoch; now if there is none."""
    last_s = dict.fromkeys(daily.tables, now_s)
    try:
        root = open_root(daily.request.root)
        with root_errors(root):
            for dump in complete_dumps(root):
                known = dump.tables() if dump.manifest is None else dump.manifest.tables
                last_s |= dict.fromkeys((name for name in known if name in last_s), dump.success.end_ms / 1000)
    except IngestError as error:
        _log.warning("the last dump cannot be read", root=daily.request.root, reason=str(error))
    return last_s

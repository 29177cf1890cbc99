"""Submits the daily dump that a configuration declares."""

from collections.abc import Callable, Mapping

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.service.dumps.job import DumpJob
from ingest.service.dumps.plan import tables_of
from ingest.service.dumps.request import DumpRequest
from ingest.service.jobs.schedule import DAY_S, Daily, Schedule, ScheduledJob
from ingest.service.jobs.scheduler import Jobs
from sinks.dumps.listing import complete_dumps
from sinks.files.root import open_root, root_errors

_log = logger(__name__)


class DumpSchedule(Schedule):
    """
    Submits a job for the dump of `dump: {at: …}`.

    Args:
        jobs: of the service, started.
        metrics: of the service.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, jobs: Jobs, metrics: Metrics, *, clock_ms: Callable[[], int] = now_ms) -> None:
        def set_metrics(dumps: list[ScheduledJob], now_s: float) -> None:
            last_s: dict[str, float] = {}
            for each in dumps:
                last_s |= _last_s(each, now_s)
            metrics.dump_scheduled(last_s, DAY_S)

        super().__init__("dumps", jobs, daily_dumps, set_metrics, clock_ms=clock_ms)


def daily_dumps(configuration: Configuration) -> list[ScheduledJob]:
    """The dump that a configuration declares for each day; none without one."""
    dump = configuration.dump
    if dump is None or dump.at_s is None:
        return []
    request = DumpRequest.of_options(dump)
    return [ScheduledJob(Daily(dump.at_s), DumpJob(request), tuple(tables_of(configuration, ())))]


def _last_s(daily: ScheduledJob, now_s: float) -> Mapping[str, float]:
    """The end of the last complete dump of each table, in seconds since the epoch; now if there is none."""
    last_s = dict.fromkeys(daily.tables, now_s)
    try:
        root = open_root(daily.job.subject)
        with root_errors(root):
            for dump in complete_dumps(root):
                known = dump.tables() if dump.manifest is None else dump.manifest.tables
                last_s |= dict.fromkeys((name for name in known if name in last_s), dump.success.end_ms / 1000)
    except IngestError as error:
        _log.warning("the last dump cannot be read", root=daily.job.subject, reason=str(error))
    return last_s

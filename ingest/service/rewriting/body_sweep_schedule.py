"""Submits the daily sweeps of bodies that the tables of a configuration declare."""

from collections.abc import Callable

from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.jobs.daily_schedule import DAY_S, DailyJob, DailySchedule
from ingest.service.jobs.scheduler import Jobs
from ingest.service.rewriting.body_sweep_job import BodySweepJob


class BodySweepSchedule(DailySchedule):
    """
    Submits a job for each table with `bodies: {sweep_at: …}`.

    Args:
        jobs: of the service, started.
        metrics: of the service.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, jobs: Jobs, metrics: Metrics, *, clock_ms: Callable[[], int] = now_ms) -> None:
        def set_metrics(sweeps: list[DailyJob], now_s: float) -> None:
            metrics.sweeps_scheduled({each.job.subject: DAY_S for each in sweeps}, now_s)

        super().__init__("sweeps", jobs, daily_sweeps, set_metrics, clock_ms=clock_ms)


def daily_sweeps(configuration: Configuration) -> list[DailyJob]:
    """The sweeps of the tables whose bodies are swept once a day."""
    return [
        DailyJob(table.options.bodies.sweep_at_s, (name,), BodySweepJob(name))
        for name, table in configuration.tables.items()
        if table.options.bodies is not None and table.options.bodies.sweep_at_s is not None
    ]

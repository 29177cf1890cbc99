"""Submits the daily sweeps of bodies that the tables of a configuration declare."""

from collections.abc import Callable

from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.service.duties.daily_schedule import DAY_S, DailyDuty, DailySchedule
from ingest.service.duties.scheduler import Duties
from ingest.service.rewriting.body_sweep_duty import BodySweepDuty


class BodySweepSchedule(DailySchedule):
    """
    Submits a duty for each table with `bodies: {sweep_at: …}`.

    Args:
        duties: of the service, started.
        metrics: of the service.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(self, duties: Duties, metrics: Metrics, *, clock_ms: Callable[[], int] = now_ms) -> None:
        def set_metrics(sweeps: list[DailyDuty], now_s: float) -> None:
            metrics.sweeps_scheduled({each.duty.subject: DAY_S for each in sweeps}, now_s)

        super().__init__("sweeps", duties, daily_sweeps, set_metrics, clock_ms=clock_ms)


def daily_sweeps(configuration: Configuration) -> list[DailyDuty]:
    """The sweeps of the tables whose bodies are swept once a day."""
    return [
        DailyDuty(table.options.bodies.sweep_at_s, (name,), BodySweepDuty(name))
        for name, table in configuration.tables.items()
        if table.options.bodies is not None and table.options.bodies.sweep_at_s is not None
    ]

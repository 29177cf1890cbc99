"""Submits the compactions that the tables of a configuration declare."""

import time
from collections.abc import Callable, Mapping

from ingest.api import IngestError
from ingest.clock import now_ms
from ingest.config.model import Configuration
from ingest.config.tables import CompactionOptions, CompactOptions
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.service.jobs.periodic import Periodic
from ingest.service.jobs.scheduler import Jobs
from ingest.service.jobs.table_job import table_with_updates
from ingest.service.rewriting.compaction import Compaction

POLL_S = 1.0
_log = logger(__name__)


class CompactionSchedule(Periodic):
    """
    Submits a job for each table with `compact`, as often as it says; the first time after one interval.

    A compaction that still waits or runs is not submitted a second time. It follows the configuration of the service
    through reloads. Runs in a thread, in a block.

    Args:
        jobs: of the service, started.
        metrics: of the service.
        clock: monotonic seconds.
    """

    def __init__(self, jobs: Jobs, metrics: Metrics, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__("compactions", POLL_S, self.submit_due)
        self._jobs = jobs
        self._metrics = metrics
        self._clock = clock
        self._known: Mapping[str, CompactOptions] = {}
        self._next_s: dict[str, float] = {}

    def submit_due(self) -> None:
        """Submit the compactions that are due now."""
        shared = self._jobs.shared
        if shared is None:
            return
        now_s, known = self._clock(), scheduled(shared.configuration)
        if known != self._known:
            intervals_s = {table: each.every for table, each in known.items()}
            self._metrics.compactions_scheduled(intervals_s, now_ms() / 1000)
            for table, each in known.items():
                if each != self._known.get(table):
                    self._next_s[table] = now_s + each.every
            self._known = known
        for table, each in known.items():
            if now_s >= self._next_s[table]:
                self._next_s[table] = now_s + each.every
                try:
                    self._jobs.submit(compaction_of(table, each))
                except IngestError as error:
                    _log.warning("a compaction was not submitted", table=table, reason=str(error))


def compaction_of(table: str, declared: CompactOptions) -> Compaction:
    """The compaction that a table declares."""
    options = {name: getattr(declared, name) for name in CompactionOptions.model_fields}
    return Compaction(table, CompactionOptions.model_construct(**options))


def scheduled(configuration: Configuration) -> dict[str, CompactOptions]:
    """The compactions of the tables that a pipeline of the configuration writes, by table."""
    found = {}
    for name, table in configuration.tables.items():
        options = None if table.options.updates is None else table.options.updates.compact
        if options is not None and _is_written(configuration, name):
            found[name] = options
    return found


def _is_written(configuration: Configuration, table: str) -> bool:
    try:
        table_with_updates(configuration, table)
    except IngestError:
        return False
    return True

"""A compaction as a duty of a service."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from ingest.clock import now_ms
from ingest.observe.metrics import Compacted
from ingest.plan.assemble import plan_of
from ingest.plan.updates import live_merging
from ingest.service.compaction import CompactionResult, TableCompaction
from ingest.service.compaction_request import CompactionRequest
from ingest.service.duty import DutyRun, Progress
from ingest.service.pipeline import Shared
from ingest.service.table_duty import TableDuty
from ingest.spark.jobs.compaction import SparkEngine
from ingest.spark.session import JobGroup
from sinks.rewriting.compaction import UNIT_S
from sinks.rewriting.groups_of_table import StoreCalls
from sinks.rewriting.units import Engine, InProcess


class CompactionDuty(TableDuty[CompactionRequest]):
    """
    Compacts a table through the stores of the running service; see `TableCompaction`.

    A store that only the driver may write is compacted on the driver, between the writes of the pipelines.

    Args:
        table: its name.
        request: which updates.
    """

    kind = "compaction"

    def check(self, shared: Shared) -> None:
        """Refuse a table without deferred updates."""
        table, _ = self.declared(shared)
        self.needs_slots = shared.configuration.stores[table.store].settings.own_folder is None

    def run(self, run: DutyRun) -> None:
        """
        Compact the table.

        Raises:
            NotFoundError: the file of the service declares no such table any more.
            IngestError: as `TableCompaction.run`.
        """
        shared = run.context.shared
        table, pipeline = self.declared(shared)
        plan = plan_of(shared.configuration, pipeline, shared.catalog)
        progress = _Reporter(run.report)
        with ExitStack() as opened:
            store = shared.stores.used_by(plan, opened)[table.store]
            calls = StoreCalls(store.held)
            if store.capabilities.written_by_driver:
                merging = live_merging(plan.updates[table.store][table.name])
                engine: Engine = InProcess(calls, merging, is_cancelled=lambda: run.cancellation.is_requested)
            else:
                group = opened.enter_context(JobGroup(run.context.session, f"compaction of {table.name}"))
                opened.enter_context(run.cancellation.calls(group.cancel))
                engine = SparkEngine(run.context.session, plan, table.store, run.tasks, seconds=UNIT_S)
            result = TableCompaction(table.spec(), self.request, calls, engine, unit_of_work=run.unit_of_work).run(
                on_progress=progress.advanced, on_blocked=progress.blocked, cancellation=run.cancellation
            )
        progress.done(result)
        if result.bound_ms is not None:
            shared.metrics.compacted(table.name, _metrics_of(result))


def _metrics_of(result: CompactionResult) -> Compacted:
    counts = result.counts
    p50, p99 = counts.rows_per_key(0.5), counts.rows_per_key(0.99)
    return Compacted(p50, p99, counts.replaced, counts.left, result.seconds, now_ms() / 1000)


class _Reporter:
    """Reports the progress of a compaction as that of a duty."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._progress = Progress()

    def advanced(self, result: CompactionResult, done: int, total: int) -> None:
        self._progress = Progress(done, total, result.to_json())
        self._report(self._progress)

    def blocked(self, reason: str) -> None:
        if reason != self._progress.blocked:
            self._progress = replace(self._progress, blocked=reason)
            self._report(self._progress)

    def done(self, result: CompactionResult) -> None:
        total = self._progress.total
        self._progress = Progress(total, total, result.to_json())
        self._report(self._progress)

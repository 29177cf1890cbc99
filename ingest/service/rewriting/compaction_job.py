"""A compaction as a job of a service."""

from contextlib import ExitStack

from ingest.clock import now_ms
from ingest.observe.results import Compacted
from ingest.plan.assemble import plan_of
from ingest.plan.updates import live_merging
from ingest.service.jobs.job import JobReporter, JobRun
from ingest.service.rewriting.compaction import CompactionResult, TableCompaction
from ingest.service.rewriting.compaction_request import CompactionRequest
from ingest.service.rewriting.table_group import table_group
from ingest.service.rewriting.table_job import TableJob
from ingest.service.shared import Shared
from ingest.spark.jobs.compaction import SparkEngine
from ingest.spark.session import JobGroup
from sinks.rewriting.compaction import UNIT_S
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.units import CompactionEngine, InProcess


class CompactionJob(TableJob[CompactionRequest]):
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

    def run(self, run: JobRun) -> None:
        """
        Compact the table.

        Raises:
            NotFoundError: the file of the service declares no such table any more.
            IngestError: as `TableCompaction.run`.
        """
        shared = run.context.shared
        table, pipeline = self.declared(shared)
        plan = plan_of(shared.configuration, pipeline, shared.catalog)
        progress = JobReporter(run.report)
        with ExitStack() as opened:
            stores = shared.stores.used_by(plan, opened)
            all_calls = {name: StoreCalls(store.held) for name, store in stores.items()}
            store, calls = stores[table.store], all_calls[table.store]
            if store.capabilities.written_by_driver:
                merging = live_merging(plan.updates[table.store][table.name])
                engine: CompactionEngine = InProcess(calls, merging, is_cancelled=lambda: run.cancellation.is_requested)
            else:
                jobs = opened.enter_context(JobGroup(run.context.session, f"compaction of {table.name}"))
                opened.enter_context(run.cancellation.calls(jobs.cancel))
                engine = SparkEngine(run.context.session, plan, table.store, run.tasks, seconds=UNIT_S)
            group = table_group(shared.configuration, pipeline, all_calls)
            compaction = TableCompaction(
                table.spec(), self.request, calls, engine, group, unit_of_work=run.unit_of_work
            )
            result = compaction.run(
                on_progress=progress.advanced, on_blocked=progress.blocked, cancellation=run.cancellation
            )
        progress.done(result)
        if result.bound_ms is not None:
            shared.metrics.compacted(table.name, _metrics_of(result))


def _metrics_of(result: CompactionResult) -> Compacted:
    counts = result.counts
    p50, p99 = counts.rows_per_key(0.5), counts.rows_per_key(0.99)
    return Compacted(
        p50,
        p99,
        original_rows=counts.original_rows,
        update_rows=counts.update_rows,
        replaced=counts.replaced,
        unmerged=counts.unmerged,
        seconds=result.seconds,
        end_s=now_ms() / 1000,
    )

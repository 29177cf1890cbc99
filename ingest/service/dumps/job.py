"""A dump as a job of a service."""

from collections.abc import Collection
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from ingest.api import Store, StoreSettings
from ingest.clock import now_ms
from ingest.config.model import Component
from ingest.observe.results import Dumped
from ingest.plan.reading import reading_plan
from ingest.service.dumps.dump import TableDump
from ingest.service.dumps.host import sources_of
from ingest.service.dumps.plan import tables_of
from ingest.service.dumps.request import DumpRequest
from ingest.service.jobs.job import Job, JobReporter, JobRun
from ingest.service.shared import Shared
from ingest.spark.jobs.dump import SparkDump
from ingest.spark.session import JobGroup


class DumpJob(Job):
    """
    Dumps tables beside the pipelines of the running service; see `TableDump`.

    Of a store that only the driver may write, the driver makes a frozen view, between two writes of the pipelines; the
    tasks read the view. The store stays open until the dump ends: another process that opens it removes its views.

    Args:
        request: which tables, where and how.
    """

    kind = "dump"

    def __init__(self, request: DumpRequest) -> None:
        self.subject = request.root
        self.request = request

    def uses(self, pipelines: Collection[str]) -> bool:  # noqa: ARG002 - of the contract
        """Never: it reads a view of a store, whatever its pipelines do; a reload cannot change the store meanwhile."""
        return False

    def is_same(self, other: Job) -> bool:
        """Whether the other one makes the same dump."""
        return isinstance(other, DumpJob) and other.request == self.request

    def check(self, shared: Shared) -> None:
        """Refuse tables that could be in several stores."""
        tables_of(shared.configuration, self.request.tables)

    def run(self, run: JobRun) -> None:
        """
        Make the dump.

        Raises:
            IngestError: as `TableDump.run`.
        """
        shared = run.context.shared
        tables = tables_of(shared.configuration, self.request.tables)
        progress = JobReporter(run.report)
        with ExitStack() as opened:
            group = opened.enter_context(JobGroup(run.context.session, f"dump to {self.request.root}"))
            opened.enter_context(run.cancellation.calls(group.cancel))

            def opened_store(component: Component[StoreSettings]) -> AbstractContextManager[Store[Any]]:
                plan = reading_plan([component], {}, shared.catalog.files, shared.configuration.masks)
                return shared.stores.used_by(plan, opened, outlives_reload=True)[component.name].held()

            dump = TableDump(
                self.request,
                sources_of(shared.configuration, shared.catalog, opened_store, opened),
                SparkDump(run.context.session, run.tasks),
                unit_of_work=run.unit_of_work,
            )
            result = dump.run(
                [*tables], on_progress=progress.advanced, on_blocked=progress.blocked, cancellation=run.cancellation
            )
        progress.done(result)
        end_s = now_ms() / 1000
        for name, counts in result.tables.items():
            shared.metrics.dumped(name, Dumped(counts.rows, counts.size_bytes, result.seconds, end_s))

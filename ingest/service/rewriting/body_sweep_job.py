"""A sweep of a body store as a job of a service."""

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import asdict

from ingest.api import ConflictError
from ingest.clock import now_ms
from ingest.config.model import Configuration, Pipeline, Table
from ingest.observe.results import Swept
from ingest.plan.assemble import plan_of
from ingest.plan.bodies import bodies_in, dumps_of, table_with_bodies
from ingest.plan.stores import owned_store
from ingest.service.jobs.job import Job, JobRun, Progress
from ingest.service.shared import Shared
from sinks.bodies.sweep import SweepCounts
from sinks.rewriting.store_calls import Access, one_at_a_time

PAGE_BODIES = 50
"""Bodies of a unit of work: the pipelines write to an embedded store between two."""


class BodySweepJob(Job):
    """
    Deletes the bodies of a table that nothing refers to, through the stores of the running service.

    Args:
        table: its name.
    """

    kind = "sweep"
    needs_slots = False

    def __init__(self, table: str) -> None:
        self.subject = table
        self._pipelines: frozenset[str] = frozenset()

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether a pipeline that writes to the store of the table is one of them."""
        return not self._pipelines.isdisjoint(pipelines)

    def is_same(self, other: Job) -> bool:
        """Whether the other one sweeps the same body store."""
        return isinstance(other, BodySweepJob) and other.subject == self.subject

    def check(self, shared: Shared) -> None:
        """Refuse a table without a body store; `uses` answers for the pipelines of this file from now on."""
        self._declared(shared.configuration)

    def run(self, run: JobRun) -> None:
        """
        Sweep the body store, some bodies at a time.

        Raises:
            NotFoundError: the file of the service declares no such table any more.
            ConflictError: it was cancelled; what is deleted is complete.
            StoreError: the store or the root of the dumps is unavailable.
        """
        table = self._declared(run.context.shared.configuration)
        total = SweepCounts()
        start: bytes | None = b""
        horizon = dumps_of(run.context.shared.configuration, self.subject)
        with ExitStack() as opened:
            access = self._access(run.context.shared, table, opened)
            while start is not None:
                if run.cancellation.is_requested:
                    raise ConflictError("the sweep was cancelled; what is deleted is complete", code="job_cancelled")
                with run.unit_of_work(), access() as store:
                    sweep = bodies_in(store, table).new_sweep(horizon)
                    start = sweep.run(start, PAGE_BODIES)
                total.add(sweep.counts)
                run.report(Progress(total.bodies, 0 if start is not None else total.bodies, asdict(total)))
            if total.purged:
                with access() as store:
                    bodies_in(store, table).flush_removed()
        kept = {
            "referenced": total.referenced,
            "named": total.named,
            "unreferenced": total.unreferenced,
            "storing": total.storing,
        }
        swept = Swept(total.purged, total.purged_bytes, kept, now_ms() / 1000)
        run.context.shared.metrics.bodies_swept(self.subject, swept)

    def _declared(self, configuration: Configuration) -> Table:
        """The table, after its pipelines were noted for `uses`."""
        table = table_with_bodies(configuration, self.subject)
        self._pipelines = frozenset(pipeline.name for pipeline in _writers(configuration, table.store))
        return table

    def _access(self, shared: Shared, table: Table, opened: ExitStack) -> Access:
        """The store of the service, if one of its pipelines has it open and no other process may write it."""
        configuration, catalog = shared.configuration, shared.catalog
        if configuration.stores[table.store].settings.own_folder is not None:
            writer = next(iter(_writers(configuration, table.store)), None)
            if writer is not None:
                return shared.stores.used_by(plan_of(configuration, writer, catalog), opened)[table.store].held
        return one_at_a_time(opened.enter_context(owned_store(configuration.stores[table.store], catalog)))


def _writers(configuration: Configuration, store: str) -> list[Pipeline]:
    """The pipelines that write to a store."""
    return [
        pipeline
        for pipeline in configuration.pipelines.values()
        if any(sink.settings.store_name == store for sink in pipeline.sinks)
    ]

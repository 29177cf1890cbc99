"""A rollback as a job of a service, which alone may write an embedded store."""

from contextlib import ExitStack

from ingest.api import ConflictError
from ingest.plan.assemble import plan_of
from ingest.service.jobs.job import JobRun, Progress
from ingest.service.rewriting.rollback import RollbackRequest, TableRollback
from ingest.service.rewriting.table_group import table_group
from ingest.service.rewriting.table_job import TableJob
from sinks.rewriting.rolled_back import Interval
from sinks.rewriting.store_calls import StoreCalls


class RollbackJob(TableJob[RollbackRequest]):
    """
    Rolls a table back through the stores of the running service; see `TableRollback`.

    Args:
        table: its name.
        request: which updates.
    """

    kind = "rollback"
    needs_slots = False

    def run(self, run: JobRun) -> None:
        """
        Roll the table back.

        Raises:
            NotFoundError: the file of the service declares no such table any more.
            IngestError: as `TableRollback.run`.
        """
        shared = run.context.shared
        table, pipeline = self.declared(shared)
        plan = plan_of(shared.configuration, pipeline, shared.catalog)
        interval = Interval(self.request.first_ms, self.request.last_ms)

        def check_running() -> None:
            if run.cancellation.is_requested:
                raise ConflictError("the rollback was cancelled", code="job_cancelled")

        with ExitStack() as opened:
            calls = {name: StoreCalls(store.held) for name, store in shared.stores.used_by(plan, opened).items()}
            group = table_group(shared.configuration, pipeline, calls)
            rollback = TableRollback(calls[table.store], table.spec(), interval, group)
            result = rollback.run(is_strict=self.request.is_strict, check_running=check_running)
        run.report(Progress(1, 1, result.to_json()))

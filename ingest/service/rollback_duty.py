"""A rollback as a duty of a service, which alone may write an embedded store."""

from collections.abc import Collection
from contextlib import ExitStack

from ingest.api import ConflictError
from ingest.plan.assemble import plan_of
from ingest.service.compaction import updated_table
from ingest.service.duty import Duty, DutyRun, Progress
from ingest.service.pipeline import Shared
from ingest.service.rollback import RollbackRequest, TableRollback
from sinks.rewriting.groups_of_table import StoreCalls
from sinks.rewriting.taken_back import Interval


class RollbackDuty(Duty):
    """
    Rolls a table back through the stores of the running service; see `TableRollback`.

    Args:
        table: its name.
        request: which updates.
    """

    kind = "rollback"
    needs_slots = False

    def __init__(self, table: str, request: RollbackRequest) -> None:
        self.subject = table
        self.request = request
        self._pipeline = ""

    def uses(self, pipelines: Collection[str]) -> bool:
        """Whether the pipeline that writes the table is one of them."""
        return self._pipeline in pipelines

    def is_same(self, other: Duty) -> bool:
        """Whether the other one takes the same updates back."""
        return isinstance(other, RollbackDuty) and (self.subject, self.request) == (other.subject, other.request)

    def check(self, shared: Shared) -> None:
        """Refuse a table without deferred updates."""
        self._pipeline = updated_table(shared.configuration, self.subject)[1].name

    def run(self, run: DutyRun) -> None:
        """
        Roll the table back.

        Raises:
            NotFoundError: the file of the service declares no such table any more.
            IngestError: as `TableRollback.run`.
        """
        shared = run.context.shared
        table, pipeline = updated_table(shared.configuration, self.subject)
        self._pipeline = pipeline.name
        plan = plan_of(shared.configuration, pipeline, shared.catalog)
        interval = Interval(self.request.first_ms, self.request.last_ms)

        def check_running() -> None:
            if run.cancellation.is_requested:
                raise ConflictError("the rollback was cancelled", code="duty_cancelled")

        with ExitStack() as opened:
            store = shared.stores.used_by(plan, opened)[table.store]
            rollback = TableRollback(StoreCalls(store.held), table.name, interval)
            result = rollback.run(is_strict=self.request.is_strict, check_running=check_running)
        run.report(Progress(1, 1, result.to_json()))

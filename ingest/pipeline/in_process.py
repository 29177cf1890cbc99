"""Runs a micro-batch in this process, without Spark."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ingest.api import Record, StoreUnavailableError, TaskSpec
from ingest.pipeline.loop import LoopHost
from ingest.pipeline.task import Task
from ingest.receipt import Receipt

T = TypeVar("T")


class InProcessHost(LoopHost):
    """
    Runs all records in one task, and raises where a service would wait, because a user waits for the result.

    Args:
        task: of the pipeline.
        records: iterated once in each attempt.
    """

    def __init__(self, task: Task, records: Iterable[Record]) -> None:
        self._task = task
        self._records = records

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:  # noqa: ARG002 - there is one slot
        """Run one task."""
        return [self._task.run(self._records, spec)]

    def until_possible(self, action: Callable[[], T]) -> T:
        """Run the action; its errors are not retried."""
        return action()

    def blocked(self, code: str, message: str, attempts: int) -> None:  # noqa: ARG002 - there is no later attempt
        """Raise the error."""
        raise StoreUnavailableError(message, code=code)

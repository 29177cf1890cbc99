"""A Spark session for unit tests of jobs: the tasks run in this process."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pyarrow as pa


class Session:
    """
    A fake of a Spark session: its jobs run in this process, after some that fail.

    Args:
        errors: of the first jobs.
        is_stopped: whether the JVM has stopped the context.
        active: number of tasks of a failed job that run at each look; then none.

    Attributes:
        tasks: number of tasks of each job.
        active: those looks that are left.
    """

    def __init__(self, *errors: Exception, is_stopped: bool = False, active: Iterable[int] = ()) -> None:
        self.errors = [*errors]
        self.tasks: list[int] = []
        self.active = [*active]
        tags: list[str] = []
        tracker = SimpleNamespace(
            getJobIdsForTag=lambda _tag: [1],
            getJobInfo=lambda _job: SimpleNamespace(stageIds=[0]),
            getStageInfo=lambda _stage: SimpleNamespace(numActiveTasks=self.active.pop(0) if self.active else 0),
        )
        context = SimpleNamespace(isStopped=lambda: is_stopped, statusTracker=lambda: tracker)
        self.sparkContext = SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: context),
            addJobTag=tags.append,
            removeJobTag=tags.remove,
            statusTracker=lambda: tracker,
        )

    def range(self, start: int, end: int, step: int, parts: int) -> "Session":
        assert (start, end, step) == (0, parts, 1)
        self.tasks.append(parts)
        return self

    def mapInArrow(self, task: Callable, _schema: str) -> "Session":  # noqa: N802 - Spark's name
        self.task = task
        return self

    def collect(self) -> list[SimpleNamespace]:
        if self.errors:
            raise self.errors.pop()
        inputs = [pa.RecordBatch.from_arrays([pa.array([number])], names=["id"]) for number in range(self.tasks[-1])]
        results = [found for batch in inputs for found in self.task([batch])]
        return [SimpleNamespace(result=value) for found in results for value in found.column("result").to_pylist()]

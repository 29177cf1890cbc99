"""Which jobs are watched, and until when; with real workers in `tests/integration/test_pipelines_apart.py`."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from ingest.spark.cancelled_tasks import MAX_JOBS, CancelledTasks

TASKS = {7: [[2, 0], [1, 0], [0, 0]]}
"""Job -> active tasks of its stages, at each look."""


class Tracker:
    """Stands for Spark's status tracker, both of Java and of Python."""

    def __init__(self, tags: list[str], looks: Iterator[list[int]]) -> None:
        self.asked: list[str] = []
        self._tags = tags
        self._looks = looks

    def getJobIdsForTag(self, tag: str) -> list[int]:  # noqa: N802 - Spark's name
        self.asked.append(tag)
        return [7] if tag == self._tags[0] else []

    def getJobInfo(self, job: int) -> Any:  # noqa: N802 - Spark's name
        assert job == 7
        self._active = dict(enumerate(next(self._looks)))
        return SimpleNamespace(stageIds=list(self._active))

    def getStageInfo(self, stage: int) -> Any:  # noqa: N802 - Spark's name
        return SimpleNamespace(numActiveTasks=self._active[stage])


class Spark:
    """Stands for a session and its context; a job with the first tag has the tasks of `TASKS`."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.set: list[str] = []
        self.tracker = Tracker(self.tags, iter(TASKS[7]))
        self.sparkContext = self
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: self.tracker))

    def statusTracker(self) -> Tracker:  # noqa: N802 - Spark's name
        return self.tracker

    def addJobTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.append(tag)
        self.set.append(tag)

    def removeJobTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.set.remove(tag)


@pytest.fixture
def spark() -> Any:
    return Spark()


def cancel(tasks: CancelledTasks) -> None:
    with pytest.raises(RuntimeError), tasks.watched():
        raise RuntimeError


def test_tasks_of_a_cancelled_job_run_until_no_stage_has_an_active_one(spark: Any):
    tasks = CancelledTasks(spark)
    cancel(tasks)
    assert spark.set == []
    assert [tasks.are_running() for _ in range(4)] == [True, True, False, False]
    assert spark.tracker.asked == spark.tags * 3


def test_wait_ends_with_the_tasks(spark: Any):
    tasks = CancelledTasks(spark)
    cancel(tasks)
    tasks.wait()
    assert len(spark.tracker.asked) == len(TASKS[7])


def test_job_that_has_succeeded_is_not_watched(spark: Any):
    tasks = CancelledTasks(spark)
    with tasks.watched():
        assert len(spark.set) == 1
    assert (spark.set, tasks.are_running(), spark.tracker.asked) == ([], False, [])


def test_number_of_watched_jobs_is_limited(spark: Any):
    tasks = CancelledTasks(spark)
    for _ in range(MAX_JOBS + 1):
        cancel(tasks)
    assert not tasks.are_running()
    assert spark.tracker.asked == spark.tags[1:]


def test_wait_ends_with_the_jvm(spark: Any):
    tasks = CancelledTasks(spark)
    cancel(tasks)

    def fail() -> Tracker:
        raise Py4JNetworkError("answer was empty")

    spark.statusTracker = fail
    tasks.wait()

"""Tasks that outlive their Spark job, because the job failed or was cancelled."""

import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from ingest.spark.errors import JVM_GONE

MAX_JOBS = 16
"""Newest jobs that are watched. A pause follows each job that fails, so 16 take longer than the end of a task."""
POLL_S = 0.05


class CancelledTasks:
    """
    Tasks of jobs that failed or were cancelled, which may still write.

    Such a job ends at once. Spark then asks its tasks to end, and kills a Python worker that has not ended two to four
    seconds later. Spark counts the task as active until the worker has ended, or its parent has the request to kill it.
    """

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        self._tags: deque[str] = deque(maxlen=MAX_JOBS)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the tasks of the jobs that this thread starts in the block, if an exception ends the block."""
        tag = f"attr2hbase-{uuid.uuid4()}"
        self._context.addJobTag(tag)
        try:
            yield
        except BaseException:
            self._tags.append(tag)
            raise
        finally:
            with suppress(*JVM_GONE):
                self._context.removeJobTag(tag)

    def are_running(self) -> bool:
        """
        Whether a watched task runs.

        Raises:
            Exception: one of `JVM_GONE`: the JVM has ended, and its workers end with it.
        """
        for tag in tuple(self._tags):
            if self._has_active_task(tag):
                return True
            self._tags.remove(tag)
        return False

    def wait(self) -> None:
        """Wait until no watched task runs."""
        with suppress(*JVM_GONE):
            while self.are_running():
                time.sleep(POLL_S)

    def _has_active_task(self, tag: str) -> bool:
        tracker = self._context.statusTracker()
        # PySpark's tracker has no method for this
        for job in self._context._jsc.sc().statusTracker().getJobIdsForTag(tag):  # noqa: SLF001
            info = tracker.getJobInfo(job)
            stages = [] if info is None else [tracker.getStageInfo(stage) for stage in info.stageIds]
            if any(stage is not None and stage.numActiveTasks for stage in stages):
                return True
        return False

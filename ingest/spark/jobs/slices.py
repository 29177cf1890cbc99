"""
A slice as a Spark job, with one task for each task slot.

A task takes its part of the ranges, and returns its result as plain data, with its error: Spark passes on only the text
of an exception.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import orjson
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest import garbage_collector
from ingest.api import Disposition, IngestError
from ingest.observe.logs import logger
from ingest.spark.cancelled_tasks import CancelledTasks
from ingest.spark.errors import JvmLostError, translated
from ingest.spark.jobs.task_errors import TaskError, TaskUnavailableError, error_of
from ingest.spark.session import is_alive
from ingest.spark.shipping import shipped

PlainResult = dict[str, Any]
"""The result of a task: its `error`, None or as `plain_error` returns it, and what its job adds."""

_R = TypeVar("_R")
_SCHEMA = "result binary"
_log = logger(__name__)


class JobOutcome(NamedTuple):
    """
    The outcome of a Spark job.

    Attributes:
        results: of the tasks; none if the job failed.
        error: why it failed, if it can be repeated.
    """

    results: Sequence[PlainResult]
    error: IngestError | None = None


def run_slice(
    session: SparkSession,
    tasks: int,
    ranges: Sequence[_R],
    task: Callable[[Sequence[_R]], PlainResult],
    *,
    activity: str,
) -> JobOutcome:
    """
    Run a Spark job over ranges; returns when none of its tasks runs any more.

    Args:
        session: of this process.
        tasks: maximum number of tasks.
        ranges: not empty; dealt to the tasks in turn, since neighbours may be equally large.
        task: called in the worker process of each task with the ranges of the task.
        activity: for the log, as in `dump`.

    Raises:
        TaskError: the JVM of the session has ended, so that no job can be repeated.
    """
    cancelled = CancelledTasks(session)
    tasks = min(tasks, len(ranges))
    of_tasks = [[*ranges[number::tasks]] for number in range(tasks)]
    try:
        frame = session.range(0, tasks, 1, tasks)
        with shipped(session, partial(task_results, task, of_tasks)) as function, cancelled.watched():
            rows = frame.mapInArrow(function, _SCHEMA).collect()
    except (Py4JError, PySparkException) as error:
        if not is_alive(session):
            raise TaskError(
                "the Java process of Spark has ended",
                code=JvmLostError.code,
                hint="raise the driver's memory if the system killed the process, and start it again",
            ) from error
        _log.warning("a Spark job failed", activity=activity, reason=str(error))
        cancelled.wait()  # a task that outlives its job would write the rows of the next one's tasks
        return JobOutcome((), translated(error) or TaskUnavailableError("a Spark job failed; the log has the reason"))
    return JobOutcome([orjson.loads(bytes(row.result)) for row in rows])


def task_results(
    task: Callable[[Sequence[_R]], PlainResult], of_tasks: Sequence[Sequence[_R]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Run one task of a job, in a worker process; the batches have its number, the index in `of_tasks`."""
    if TaskContext.get() is not None:  # only in a worker process of Spark
        garbage_collector.collect_rarely()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            result = orjson.dumps(task(of_tasks[number]))
            yield pa.RecordBatch.from_arrays([pa.array([result], pa.binary())], names=["result"])


def retryable_error(results: Iterable[Mapping[str, Any]]) -> IngestError | None:
    """
    The error of the tasks of a job, if a store or a root is unavailable; None if no task has an error.

    Raises:
        IngestError: another error of a task.
    """
    found = None
    for result in results:
        if result["error"] is not None:
            error = error_of(result["error"])
            if error.disposition is not Disposition.RETRY:
                raise error
            found = error
    return found

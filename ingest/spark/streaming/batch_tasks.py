"""The tasks of micro-batches, as Spark jobs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ingest.api import TaskSpec
from ingest.dead_letters import buffer
from ingest.observe.logs import current_level
from ingest.receipt import Receipt, receipts_of
from ingest.spark.shipping import Shipment, shipped
from ingest.spark.streaming.rows import RECEIPT_SCHEMA
from ingest.spark.streaming.worker import process


class BatchTasks:
    """
    Runs the tasks of one plan.

    Args:
        session: of the frames; None if tasks run in this process.
        name: of the plan in worker processes.
        plan: as `ingest.plan.codec.packed` returns it.
    """

    def __init__(self, session: SparkSession | None, name: str, plan: bytes) -> None:
        self._session = session
        self._name = name
        self._plan = Shipment(session, plan)

    def run(self, frame: DataFrame, spec: TaskSpec, max_tasks: int | None = None) -> Sequence[Receipt]:
        """
        Run the records of a frame as one job.

        Args:
            frame: of the records.
            spec: for each of the tasks; they divide the bytes that the dead letters of a micro-batch may have, if it
                says nothing else.
            max_tasks: the partitions of the frame are coalesced to so many; None for one task for each.

        Raises:
            StoreUnavailableError: the temporary folder of Spark cannot be written.
            PySparkException: the job failed.
            Py4JError: the job failed, or the JVM has ended.
        """
        if max_tasks is not None:
            frame = frame.coalesce(max_tasks)
        if spec.max_dead_letter_bytes is None:
            tasks = max_tasks or partitions_of(frame)
            spec = replace(spec, max_dead_letter_bytes=buffer.MAX_DEAD_LETTER_BYTES // max(1, tasks))
        task = partial(process, self._name, self._plan.content(), current_level().value, spec)
        with shipped(self._session, task) as function:
            rows = frame.mapInArrow(function, RECEIPT_SCHEMA).collect()
        return receipts_of((row.kind, bytes(row.payload)) for row in rows)

    def close(self) -> None:
        """Remove the plan from the executors; no task runs any more. May be called twice."""
        self._plan.close()


def partitions_of(frame: DataFrame) -> int:
    """
    The number of partitions of a frame.

    Spark makes the frame of a micro-batch from an RDD (`ForeachBatchSink`, Spark 4.2), which knows the number.
    `frame.rdd` plans a frame once more.
    """
    plan: Any = frame._jdf.logicalPlan()  # noqa: SLF001 - PySpark has no public way to the RDD of a frame
    if plan.getClass().getSimpleName() == "LogicalRDD":
        return int(plan.rdd().getNumPartitions())
    return frame.rdd.getNumPartitions()

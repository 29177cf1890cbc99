"""
What runs inside a Python worker process of Spark.

Spark reuses worker processes, so the live pipeline (compiled chain, prepared column names, open connections) is built
once in each and kept in the one module-level cache of this product; see the ADR on the workers' cache.
"""

import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext

from ingest.api import Disposition, IngestError, TaskSpec
from ingest.observe.drain import Drain
from ingest.observe.logs import LogLevel, logger, set_up
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_task
from ingest.plan.codec import unpacked
from ingest.receipt import Receipt, TaskStatus
from ingest.spark.streaming.rows import records_of, rows_of

_live: dict[str, tuple[bytes, Task]] = {}


def process(pipeline: str, plan: bytes, spec: TaskSpec, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """
    Run one partition and give its receipt as rows.

    Where this process lacks a part of the pipeline, the receipt says stop; where it is away for a while, blocked.
    """
    context = TaskContext.get()
    if context is not None:
        spec = replace(spec, task_id=f"{context.partitionId():06d}-{context.taskAttemptId()}")
    remaining = iter(batches)
    try:
        task = _task(pipeline, plan)
    except IngestError as error:
        status = TaskStatus.BLOCKED if error.disposition is Disposition.RETRY else TaskStatus.STOP
        receipt = Receipt(status, error.code, str(error))
    else:
        receipt = task.run(records_of(remaining), spec)
    for _ in remaining:
        # a worker that leaves input unread is thrown away by Spark, and with it the connections and what is in flight
        pass
    yield from rows_of(receipt)


def _task(pipeline: str, plan: bytes) -> Task:
    known = _live.get(pipeline)
    if known is not None and known[0] == plan:
        return known[1]
    if known is not None:
        known[1].close()
    _wait_for_no_reader()
    # it comes from our own driver, over the channel that brought this very function
    content = unpacked(plan)
    set_up(level=LogLevel.WARNING, mask=content.masks.hide)  # a task's own lines are rare
    task = live_task(content)
    _live[pipeline] = (plan, task)
    if TaskContext.get() is not None:  # a process of Spark's, and of nobody else
        _collect_garbage_rarely()
    return task


def _collect_garbage_rarely() -> None:
    """What an event leaves behind has no cycles: looking for some after every 700 objects takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _wait_for_no_reader() -> None:
    """Stdout of a worker is nobody's; its stderr goes through the JVM, and stands still with the JVM's."""
    drain = None if isinstance(sys.stderr, Drain) else Drain.of(sys.stderr, _tell_lost)
    if drain is not None:
        sys.stderr = drain


def _tell_lost(lines: int) -> None:
    logger(__name__).warning("log lines of a worker were left out while nobody read them", lines=lines)

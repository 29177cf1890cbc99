"""
Runs a task in a Python worker process of Spark.

Spark reuses worker processes, so the `Task` of a pipeline (compiled chain, prepared column names, open connections) is
created once in each process and cached in the only module-level cache of this product; see the ADR on the workers'
cache.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark import TaskContext

from ingest import garbage_collector
from ingest.api import Disposition, IngestError, TaskSpec
from ingest.observe.drain import Drain
from ingest.observe.log_level import LogLevel
from ingest.observe.logs import current_level, logger, set_level, set_up
from ingest.pipeline.task import Task
from ingest.plan.assemble import live_task
from ingest.plan.codec import unpacked
from ingest.process_memory import resident_bytes
from ingest.receipt import Receipt, TaskStatus
from ingest.spark.shipping import Content
from ingest.spark.streaming.rows import records_of, rows_of

_live: dict[str, tuple[bytes, Task]] = {}


def process(
    name: str, plan: Content, log_level: str, spec: TaskSpec, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """
    Run one task, of one or several splits, and return its receipt as rows.

    The process keeps the newest plan of each name, ready to run.

    If a part of the pipeline is missing in this process, the status is STOP; if it is unavailable for now, BLOCKED.
    """
    context = TaskContext.get()
    if context is not None:
        spec = replace(spec, task_id=f"{context.partitionId():06d}-{context.taskAttemptId()}")
    remaining = iter(batches)
    try:
        task = _task(name, plan.value)
        if log_level != current_level():
            set_level(LogLevel(log_level))
    except IngestError as error:
        status = TaskStatus.BLOCKED if error.disposition is Disposition.RETRY else TaskStatus.STOP
        receipt = Receipt(status, error.code, str(error))
    else:
        receipt = task.run(records_of(remaining), spec)
        receipt.counts.worker_bytes = resident_bytes()
    for _ in remaining:
        # Spark discards a worker that leaves input unread, with its open connections
        pass
    yield from rows_of(receipt)


def _task(name: str, plan: bytes) -> Task:
    known = _live.get(name)
    if known is not None and known[0] == plan:
        return known[1]
    if known is not None:
        del _live[name]  # a closed task does not run again, even if the new one cannot be created and its plan returns
        known[1].close()
    _drain_stderr()
    # trusted: it comes from our own driver, over the same channel as this function
    content = unpacked(plan)
    set_up(level=current_level(), mask=content.masks.hide)
    task = live_task(content)
    _live[name] = (plan, task)
    if TaskContext.get() is not None:  # only in a worker process of Spark
        garbage_collector.collect_rarely()
    return task


def _drain_stderr() -> None:
    """Never block on stderr, which the JVM forwards to its own; a worker writes nothing to stdout."""
    drain = None if isinstance(sys.stderr, Drain) else Drain.of(sys.stderr, _report_dropped)
    if drain is not None:
        sys.stderr = drain


def _report_dropped(lines: int) -> None:
    logger(__name__).warning("log lines of a worker were dropped because stderr was not read", lines=lines)

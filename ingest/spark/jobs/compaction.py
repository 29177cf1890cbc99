"""
The compaction of a table as Spark jobs: one for each unit of work, with a task for each slot.

A task compacts its ranges one after the other until its time is up, and returns what remains. So a job takes about 20
seconds whatever the size of the table, and a lost task loses no more than its own unit of work. The driver renews the
lease of the table; the tasks check it before each write.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest import garbage_collector
from ingest.api import Disposition, IngestError
from ingest.observe.logs import logger
from ingest.plan.assemble import live_store
from ingest.plan.codec import packed, unpacked
from ingest.plan.plan import Plan
from ingest.plan.updates import live_merging
from ingest.spark.errors import translated
from sinks.rewriting.compaction import CompactionCounts, CompactionTarget
from sinks.rewriting.groups_of_table import Range, StoreCalls
from sinks.rewriting.table_lease import LeaseCheck
from sinks.rewriting.units import InProcess, UnitResult

_SCHEMA = "result binary"
_log = logger(__name__)


class TaskError(IngestError):
    """The error of a task, with its own code and hint."""

    code = "task_failed"


class TaskAwayError(TaskError):
    """The error of a task whose store is unavailable, or of a job that Spark could not run."""

    code = "job_failed"
    disposition = Disposition.RETRY


@dataclass(frozen=True, slots=True)
class Work:
    """
    What all tasks of a job do.

    Attributes:
        plan: as `ingest.plan.codec.packed` returns it.
        store: name of the table's store in the plan.
        shares: for each task its ranges.
        seconds: time of a task.
    """

    plan: bytes
    store: str
    target: CompactionTarget
    check: LeaseCheck
    shares: Sequence[Sequence[Range]]
    seconds: float


class SparkEngine:
    """
    Compacts in the tasks of a Spark session.

    Args:
        session: of this process.
        plan: of the pipeline that writes the table.
        store: name of the table's store in the plan; tasks may write it.
        tasks: number of tasks of a job.
        seconds: length of a unit of work.
    """

    def __init__(self, session: SparkSession, plan: Plan, store: str, tasks: int, *, seconds: float) -> None:
        self._session = session
        self._plan = packed(plan)
        self._store = store
        self._tasks = tasks
        self._seconds = seconds

    def unit(self, target: CompactionTarget, check: LeaseCheck, ranges: Sequence[Range]) -> UnitResult:
        """Compact as many ranges as the tasks have time for."""
        tasks = min(self._tasks, len(ranges))
        shares = [[*ranges[number::tasks]] for number in range(tasks)]
        work = Work(self._plan, self._store, target, check, shares, self._seconds)
        try:
            frame = self._session.range(0, tasks, 1, tasks)
            rows = frame.mapInArrow(partial(compact_shares, work), _SCHEMA).collect()
        except (Py4JError, PySparkException) as error:
            _log.warning("a Spark job of a compaction failed", table=target.table, reason=str(error))
            cause = translated(error) or TaskAwayError("a Spark job failed; the log has the reason")
            return UnitResult(CompactionCounts(), ranges, cause)
        return _joined([orjson.loads(bytes(row.result)) for row in rows])


def compact_shares(work: Work, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Compact the ranges of this task, in a worker process; the numbers of shares are the input."""
    if TaskContext.get() is not None:  # only in a worker process of Spark
        garbage_collector.collect_rarely()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            result = _result(work, work.shares[number])
            yield pa.RecordBatch.from_arrays([pa.array([orjson.dumps(result)], pa.binary())], names=["result"])


def _result(work: Work, ranges: Sequence[Range]) -> dict[str, Any]:
    """The result of a task as plain data; with its error, since Spark passes on only the text of an exception."""
    counts, remaining, error = CompactionCounts(), ranges, None
    try:
        plan = unpacked(work.plan)  # trusted: from our own driver
        store = live_store(plan.stores[work.store])
        try:
            store.open()
            calls = StoreCalls(lambda: nullcontext(store))
            merging = live_merging(plan.updates[work.store][work.target.table])
            counts, remaining, error = InProcess(calls, merging, work.seconds).unit(work.target, work.check, ranges)
        finally:
            store.close()
    except IngestError as raised:
        error = raised
    return {
        "counts": counts.to_json(),
        "remaining": [[start.hex(), None if stop is None else stop.hex()] for start, stop in remaining],
        "error": None if error is None else _plain(error),
    }


def _joined(results: Iterable[dict[str, Any]]) -> UnitResult:
    """
    The result of a job.

    Raises:
        IngestError: that of a task, unless the store is unavailable.
    """
    counts, remaining, away = CompactionCounts(), list[Range](), None
    for result in results:
        counts.add(CompactionCounts.from_json(result["counts"]))
        remaining += [
            (bytes.fromhex(start), None if stop is None else bytes.fromhex(stop)) for start, stop in result["remaining"]
        ]
        if result["error"] is not None:
            error = _error(result["error"])
            if error.disposition is not Disposition.RETRY:
                raise error
            away = error
    return UnitResult(counts, sorted(remaining, key=lambda keys: keys[0]), away)


def _plain(error: IngestError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
        "is_away": error.disposition is Disposition.RETRY,
    }


def _error(content: dict[str, Any]) -> IngestError:
    kind = TaskAwayError if content["is_away"] else TaskError
    error = kind(content["message"], code=content["code"], hint=content["hint"])
    error.exit_code = content["exit_code"]
    return error

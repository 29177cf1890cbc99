"""
The compaction of a table as Spark jobs: one for each unit of work, with a task for each slot.

A task compacts its ranges one after the other until its time is up, and returns what remains. So a job takes about 20
seconds whatever the size of the table, and a lost task loses no more than its own unit of work. The driver renews the
lease of the table; the tasks check it before each write.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from ingest.api import IngestError
from ingest.plan.assemble import live_store
from ingest.plan.codec import packed, unpacked
from ingest.plan.plan import Plan
from ingest.plan.updates import live_merging
from ingest.spark.jobs.task_errors import plain_error
from ingest.spark.jobs.units import PlainResult, retryable_error, run_unit
from sinks.rewriting.compaction import CompactionCounts, CompactionTarget
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck
from sinks.rewriting.units import InProcess, UnitResult
from sinks.scanning.partitions import Range


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """
    What all tasks of a job do.

    Attributes:
        plan: as `ingest.plan.codec.packed` returns it.
        store: name of the table's store in the plan.
        seconds: time of a task.
    """

    plan: bytes = field(repr=False)
    store: str
    target: CompactionTarget
    check: LeaseCheck
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
        """
        Compact as many ranges as the tasks have time for.

        Raises:
            IngestError: another error than that of an unavailable store.
        """
        work = CompactionWork(self._plan, self._store, target, check, self._seconds)
        task = partial(task_result, work)
        results, error = run_unit(self._session, self._tasks, ranges, task, activity=f"compaction of {target.table}")
        return UnitResult(CompactionCounts(), ranges, error) if error is not None else joined(results)


def task_result(work: CompactionWork, ranges: Sequence[Range]) -> PlainResult:
    """Compact the ranges of a task; returns its result as plain data."""
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
        "error": None if error is None else plain_error(error),
    }


def joined(results: Sequence[Mapping[str, Any]]) -> UnitResult:
    """
    The result of a job.

    Raises:
        IngestError: that of a task, unless the store is unavailable.
    """
    error = retryable_error(results)
    counts = CompactionCounts()
    for result in results:
        counts.add(CompactionCounts.from_json(result["counts"]))
    return UnitResult(counts, sorted(_remaining(results), key=lambda keys: keys[0]), error)


def _remaining(results: Iterable[Mapping[str, Any]]) -> list[Range]:
    return [
        (bytes.fromhex(start), None if stop is None else bytes.fromhex(stop))
        for result in results
        for start, stop in result["remaining"]
    ]

"""
A dump as Spark jobs: one for each slice, with a task for each slot.

A task writes files of its ranges until its time is up, and returns the files and what remains. So a job takes about 20
seconds whatever the size of a table, and a lost task loses no more than its own slice.
"""

import errno
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ingest.api import Disposition, IngestError, Row
from ingest.durable import file_errors
from ingest.plan.codec import packed, unpacked
from ingest.plan.plan import Plan
from ingest.plan.stores import reading_store
from ingest.spark.jobs.task_errors import plain_error
from sinks.blobs.declared import BlobsOfTable
from sinks.dumps.layout import PLAN, FileFormat
from sinks.dumps.manifest import DumpedPart, TableFile
from sinks.dumps.ranges import DumpRange, DumpSlice, DumpTarget, Limits, RangeDump
from sinks.dumps.table_files import write_table_file
from sinks.files.root import Root
from sinks.updates.feature import Updates

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from pyspark.sql import SparkSession

    from ingest.spark.jobs.slices import PlainResult


@dataclass(frozen=True, slots=True)
class DumpFiles:
    """
    Where the files of a dump are written, and how.

    Attributes:
        root: of the dumps.
        folder: of the dump that is being made.
        file_format: of all files.
        columns: of Parquet files, by table; None for all cells.
    """

    root: Root
    folder: str
    file_format: FileFormat
    columns: Mapping[str, Mapping[str, str] | None] = field(default_factory=dict)

    def write(self, table: str, part: int, rows: Iterable[Row]) -> TableFile | None:
        """
        Write a file; see `write_table_file`.

        Raises:
            StoreUnavailableError: the root cannot be used; or it was replaced, as by an empty mount point.
        """
        columns = self.columns.get(table)
        with file_errors(self.root):
            if not self.root.exists(f"{self.folder}/{PLAN}"):
                raise FileNotFoundError(errno.ENOENT, "the folder of the dump is gone", f"{self.root}/{self.folder}")
            return write_table_file(self.root, self.folder, table, part, rows, self.file_format, columns=columns)


@dataclass(frozen=True, slots=True)
class DumpWork:
    """
    What all tasks of a dump do.

    Attributes:
        plan: the stores and the deferred updates of the tables, as `ingest.plan.codec.packed` returns it. The settings
            of a store that has frozen views are those of the view.
        targets: name of a store -> table -> what is dumped of it.
        files: of the dump.
        limits: of a task.
        seconds: time of a task.
        blobs: table -> the blob store whose values replace its pointers; empty to dump pointers.
    """

    plan: bytes = field(repr=False)
    targets: Mapping[str, Mapping[str, DumpTarget]]
    files: DumpFiles
    limits: Limits
    seconds: float
    blobs: Mapping[str, BlobsOfTable] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        plan: Plan,
        targets: Mapping[str, Mapping[str, DumpTarget]],
        files: DumpFiles,
        limits: Limits,
        *,
        seconds: float,
        blobs: Mapping[str, BlobsOfTable] | None = None,
    ) -> "DumpWork":
        """The work of the tasks of a plan."""
        return cls(packed(plan), targets, files, limits, seconds, blobs or {})

    def dump(self, ranges: Sequence[DumpRange]) -> DumpSlice:
        """
        Dump as many ranges, of one or several stores, as there is time for; in any process.

        Raises:
            IngestError: another error than an unavailable store's or root's.
        """
        plan = unpacked(self.plan)  # trusted: from our own driver
        end_s = time.monotonic() + self.seconds

        def has_time() -> bool:
            return time.monotonic() < end_s

        parts: list[DumpedPart] = []
        remaining: list[DumpRange] = []
        error = None
        for name, targets in self.targets.items():
            own = [each for each in ranges if each.table in targets]
            if not own:
                continue
            if error is not None or (parts and not has_time()):
                remaining += own
                continue
            ended = self._of_store(plan, name, targets, own, has_time)
            parts += ended.parts
            remaining += ended.remaining
            error = ended.error
        return DumpSlice(parts, remaining, error)

    def _of_store(
        self,
        plan: Plan,
        name: str,
        targets: Mapping[str, DumpTarget],
        ranges: Sequence[DumpRange],
        has_time: Callable[[], bool],
    ) -> DumpSlice:
        mergings = {
            table: updates.merging()
            for table, updates in plan.tables_with(Updates).get(name, {}).items()
            if table in targets and targets[table].rows.updates
        }
        try:
            with reading_store(plan.stores[name]) as store:
                with_blobs = targets.keys() & self.blobs.keys()
                changed = {table: self.blobs[table].resolving(store, table) for table in with_blobs}
                dump = RangeDump(store, targets, mergings, self.files.write, self.limits, changed=changed)
                return dump.run_slice(ranges, has_time)
        except IngestError as error:
            if error.disposition is not Disposition.RETRY:
                raise
            return DumpSlice((), ranges, error)


class SparkDump:
    """
    Dumps in the tasks of a Spark session.

    Args:
        session: of this process.
        tasks: number of tasks of a job.
    """

    def __init__(self, session: "SparkSession", tasks: int) -> None:
        self._session = session
        self.tasks = tasks

    def run_slice(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpSlice:
        """
        Dump as many ranges as the tasks have time for.

        Raises:
            IngestError: another error than an unavailable store's or root's.
        """
        from ingest.spark.jobs.slices import run_slice

        results, error = run_slice(self._session, self.tasks, ranges, partial(task_result, work), activity="dump")
        return DumpSlice((), ranges, error) if error is not None else joined(results)


def task_result(work: DumpWork, ranges: Sequence[DumpRange]) -> "PlainResult":
    """Dump the ranges of a task; returns its result as plain data."""
    try:
        ended = work.dump(ranges)
    except IngestError as error:
        ended = DumpSlice((), ranges, error)
    return {
        "parts": [each.to_json() for each in ended.parts],
        "remaining": [each.to_json() for each in ended.remaining],
        "error": None if ended.error is None else plain_error(ended.error),
    }


def joined(results: Sequence[Mapping[str, Any]]) -> DumpSlice:
    """
    The result of a job.

    Raises:
        IngestError: of a task, unless the store or the root is unavailable.
    """
    from ingest.spark.jobs.slices import retryable_error

    error = retryable_error(results)
    parts = [DumpedPart.from_json(each) for result in results for each in result["parts"]]
    remaining = [DumpRange.from_json(each) for result in results for each in result["remaining"]]
    return DumpSlice(parts, sorted(remaining, key=lambda each: (each.table, each.part)), error)

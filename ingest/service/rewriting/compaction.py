"""
Compaction: one row for each window, in place of the updates of a row of a table with deferred updates.

The work on ranges of the table is `sinks.rewriting.compaction`. It runs in this process for a store that only the
driver may write, else in the tasks of Spark jobs: one job for each slice, with a task for each slot. A task
compacts its ranges one after the other until its time is up, and returns what remains; so a job takes about 20 seconds
whatever the size of the table, and a lost task loses no more than its own slice. The driver renews the lease of the
table; the tasks check it before each write.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ingest.amounts import counted
from ingest.api import IngestError, Store, TableSpec
from ingest.clock import now_ms
from ingest.config.model import Configuration, Table
from ingest.formats.times import moment
from ingest.plan.assemble import live_store
from ingest.plan.codec import packed, unpacked
from ingest.plan.plan import Plan
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.jobs.schedule import Every, ScheduledJob
from ingest.service.rewriting.table_group import OldestPosition, TableGroup
from ingest.service.rewriting.updates_job import UpdatesJob, rows_and_ranges
from sinks.rewriting.compaction import (
    SLICE_S,
    CompactionCounts,
    CompactionSlice,
    CompactionTarget,
    InProcess,
    bound_of,
)
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck, leased
from sinks.rewriting.unfinished_rollback import refuse_unfinished
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.scanning.partitions import Range
from sinks.updates.compaction import CompactionRules
from sinks.updates.feature import Updates
from sinks.updates.keys import time_of, update_id_of
from sinks.updates.metrics import COMPACTION_INTERVAL, COMPACTION_LAST, Compacted, compacted
from sinks.updates.options import CompactionOptions

if TYPE_CHECKING:  # a command that asks the service starts without Spark and Kafka
    from ingest.observe.metrics import Metrics
    from ingest.spark.streaming.reading import Session

RunSlice = Callable[[Sequence[Range]], CompactionSlice]
"""Compacts as many of the ranges that remain as there is time for."""


@dataclass(slots=True)
class CompactionResult:
    """
    The result of a compaction.

    Attributes:
        bound_ms: batch time of the newest updates that were merged; None if the table has no committed position, so
            that nothing was.
        counts: what was done.
        seconds: duration.
    """

    bound_ms: int | None = None
    counts: CompactionCounts = field(default_factory=CompactionCounts)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as `from_json` reads it."""
        return {"bound_ms": self.bound_ms, "seconds": round(self.seconds, 3), **self.counts.to_json()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "CompactionResult":
        """The result of what `to_json` returned."""
        counts = {name: value for name, value in content.items() if name not in ("bound_ms", "seconds")}
        return cls(content["bound_ms"], CompactionCounts.from_json(counts), content["seconds"])


class Compaction(UpdatesJob[CompactionOptions]):
    """
    Compacts a table with deferred updates. It may be killed at any moment, and run again.

    Args:
        table: its name.
        options: which updates.
    """

    kind = "compaction"
    options_model = CompactionOptions
    command = JobCommand(
        help="""
        Merge the updates of each row of a table into one row for each window, and delete those that it covers.

        Reads return the same values before, during and after a compaction. Only updates of micro-batches that are
        complete are merged. It can be interrupted and run again. A table is compacted or rolled back by one process at
        a time; a second one is refused with exit code 4.

        If the service runs, it compacts the table beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase compact counters --older-than 10m --window 1h
        """,
        dry_run="Count what would be merged; write nothing.",
        advances=("update rows", "update_rows"),
        does="compacts the table",
        resumes="what is merged stays merged; run the same command again",
    )

    @classmethod
    def scheduled(cls, configuration: Configuration) -> list[ScheduledJob]:
        """Of the tables with `compact` that a pipeline writes."""
        found = []
        for name, table in configuration.tables.items():
            updates = Updates.options_of(table)
            compact = None if updates is None else updates.compact
            is_written = any(
                table in configuration.written_by(each, Updates) for each in configuration.pipelines.values()
            )
            if compact is not None and is_written:
                options = CompactionOptions.model_construct(older_than=compact.older_than, window=compact.window)
                found.append(ScheduledJob(Every(compact.every), cls(name, options), (name,)))
        return found

    @classmethod
    def schedule_changed(cls, metrics: "Metrics", scheduled: list[ScheduledJob], now_s: float) -> None:
        """Set the intervals of the tables."""
        intervals_s = {each.job.subject: each.when.interval_s for each in scheduled if isinstance(each.when, Every)}
        last_s = dict.fromkeys(intervals_s, now_s)  # a new table counts as compacted now
        metrics.scheduled(COMPACTION_INTERVAL, COMPACTION_LAST, intervals_s, last_s)

    def checked(self, configuration: Configuration) -> None:
        """Refuse a table without deferred updates."""
        table, _ = self.declared(configuration)
        self.needs_slots = configuration.stores[table.store].settings.own_folder is None

    def steps(self, place: Place) -> Steps:
        """Compact the table; see `compaction_steps`."""
        table, plan, calls, group = self.opened(place)
        engine = partial(_engine, place, plan, table, calls)
        return compaction_steps(table.spec(), self.options, calls, group, place, engine)

    def record(self, content: Mapping[str, Any], metrics: "Metrics") -> None:
        """Set the metrics of the table."""
        result = CompactionResult.from_json(content)
        if result.bound_ms is None:
            return
        counts = result.counts
        found = Compacted(
            counts.rows_per_key(0.5),
            counts.rows_per_key(0.99),
            logical_rows=counts.logical_rows,
            update_rows=counts.update_rows,
            replaced=counts.replaced,
            unmerged=counts.unmerged,
            seconds=result.seconds,
            end_s=now_ms() / 1000,
        )
        metrics.record(*compacted(self.subject, found))

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """The counts in a table, and what could not be merged."""
        result = CompactionResult.from_json(content)
        plain = {name: value for name, value in content.items() if name != "by_update_rows"}
        if result.bound_ms is None:
            note = f'table "{self.subject}" has no complete micro-batch yet, so nothing is compacted'
            return Summary(plain, notes=[note])
        counts = result.counts
        cells = {
            "#logical rows": counts.logical_rows,
            "#update rows": counts.update_rows,
            "#merged rows written": counts.written,
            "#replaced": counts.replaced,
            "#rows per key p50": counts.rows_per_key(0.5),
            "p99": counts.rows_per_key(0.99),
        }
        verb = "would be replaced" if is_dry_run else "replaced"
        return Summary(
            plain,
            table=[{name: f"{number:,}" for name, number in cells.items()}],
            notes=[f"not merged: {example}" for example in counts.examples],
            done=f"{counted(counts.replaced, 'update row')} up to {moment(result.bound_ms)} {verb}",
            would_change=bool(counts.replaced),
        )


def compaction_steps(
    declared: TableSpec,
    options: CompactionOptions,
    calls: StoreCalls,
    group: TableGroup,
    place: Place,
    engine: Callable[[CompactionTarget, LeaseCheck], RunSlice],
) -> Steps:
    """
    Compact a table; yields the result so far after each slice, and the complete one at the end.

    Args:
        declared: declaration of the table.
        options: which updates.
        calls: of its store.
        group: the tables of the pipeline that writes it.
        place: where it runs.
        engine: returns what runs a slice.

    Raises:
        NotFoundError: the store has no such table.
        UpdatesDifferError: its rows were written with other deferred updates than the declared ones.
        ConflictError: another compaction or rollback of the table runs, a rollback was interrupted, or this one is
            cancelled.
        StoreError: the store is unavailable; what is done is complete, and another run does the rest.
    """
    started_s, result, table = time.monotonic(), CompactionResult(), declared.name
    prepared = calls(partial(_prepared, declared, options, group.oldest_committed(table), is_dry_run=place.is_dry_run))
    if prepared is None:
        yield Progress(result=result.to_json())
        return
    target, ranges = prepared
    result.bound_ms = time_of(target.rules.bound - 1)
    wait = partial(place.cancellation.wait_or_end, Compaction.kind)
    lease = leased(calls, table, Compaction.kind, wait=wait, on_wait=place.on_blocked)
    with nullcontext(LeaseCheck(table, "")) if place.is_dry_run else lease as check:
        if not place.is_dry_run:
            calls(partial(refuse_unfinished, table=table))
        for ended in place.slices(ranges, engine(target, check), activity=Compaction.kind):
            result.counts.add(ended.counts)
            result.seconds = time.monotonic() - started_s
            done, reason = len(ranges) - len(ended.remaining), "" if ended.error is None else str(ended.error)
            yield Progress(done, len(ranges), result.to_json(), blocked=reason)
        if result.counts.replaced and not place.is_dry_run:
            calls(lambda store: store.flush_removed(table))
    result.seconds = time.monotonic() - started_s
    yield Progress(len(ranges), len(ranges), result.to_json())


def _prepared(
    declared: TableSpec,
    options: CompactionOptions,
    committed: OldestPosition | None,
    store: Store[Any],
    *,
    is_dry_run: bool,
) -> tuple[CompactionTarget, list[Range]] | None:
    """The target and its ranges; None if the table has no committed position."""
    row_format, ranges = rows_and_ranges(declared, store)
    if committed is None:
        return None
    older_than_ms, window_ms = round(options.older_than * 1000), round(options.window * 1000)
    rules = CompactionRules(
        bound_of(committed.time_ms, older_than_ms),
        update_id_of(window_ms, 0),
        withdrawn=withdrawn_times(store, declared.name),  # after the committed position was read
    )
    return CompactionTarget(declared.name, row_format, rules, is_dry_run), ranges


def _engine(
    place: Place, plan: Plan, table: Table, calls: StoreCalls, target: CompactionTarget, check: LeaseCheck
) -> RunSlice:
    """What runs a slice on the ranges that remain."""
    if place.is_dry_run or live_store(plan.stores[table.store]).capabilities.written_by_driver:
        merging = plan.tables_with(Updates)[table.store][table.name].merging()
        engine = InProcess(calls, merging, is_cancelled=lambda: place.cancellation.is_requested)
        return partial(engine.run_slice, target, check)
    session = place.session(f"compaction of {table.name}")
    work = CompactionWork(packed(plan), table.store, target, check, SLICE_S)
    return partial(slice_on_spark, session, place.tasks(session), work)


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """
    What all tasks of a Spark job do.

    Attributes:
        plan: of the pipeline that writes the table, as `ingest.plan.codec.packed` returns it.
        store: name of the table's store in the plan; tasks may write it.
        seconds: time of a task.
    """

    plan: bytes = field(repr=False)
    store: str
    target: CompactionTarget
    check: LeaseCheck
    seconds: float


def slice_on_spark(session: "Session", tasks: int, work: CompactionWork, ranges: Sequence[Range]) -> CompactionSlice:
    """
    Compact as many ranges as the tasks of a Spark job have time for.

    Raises:
        IngestError: another error than an unavailable store's.
    """
    from ingest.spark.jobs.slices import run_slice

    activity = f"compaction of {work.target.table}"
    results, error = run_slice(session, tasks, ranges, partial(task_result, work), activity=activity)
    return CompactionSlice(CompactionCounts(), ranges, error) if error is not None else joined(results)


def task_result(work: CompactionWork, ranges: Sequence[Range]) -> dict[str, Any]:
    """Compact the ranges of a task; returns its result as plain data."""
    from ingest.spark.jobs.task_errors import plain_error

    counts, remaining, error = CompactionCounts(), ranges, None
    try:
        plan = unpacked(work.plan)  # trusted: from our own driver
        store = live_store(plan.stores[work.store])
        try:
            store.open()
            calls = StoreCalls(lambda: nullcontext(store))
            merging = plan.tables_with(Updates)[work.store][work.target.table].merging()
            counts, remaining, error = InProcess(calls, merging, work.seconds).run_slice(
                work.target, work.check, ranges
            )
        finally:
            store.close()
    except IngestError as raised:
        error = raised
    return {
        "counts": counts.to_json(),
        "remaining": [[start.hex(), None if stop is None else stop.hex()] for start, stop in remaining],
        "error": None if error is None else plain_error(error),
    }


def joined(results: Sequence[Mapping[str, Any]]) -> CompactionSlice:
    """
    The result of the tasks of a Spark job.

    Raises:
        IngestError: of a task, unless the store is unavailable.
    """
    from ingest.spark.jobs.slices import retryable_error

    error = retryable_error(results)
    counts = CompactionCounts()
    for result in results:
        counts.add(CompactionCounts.from_json(result["counts"]))
    return CompactionSlice(counts, sorted(_remaining(results), key=lambda keys: keys[0]), error)


def _remaining(results: Iterable[Mapping[str, Any]]) -> list[Range]:
    return [
        (bytes.fromhex(start), None if stop is None else bytes.fromhex(stop))
        for result in results
        for start, stop in result["remaining"]
    ]

"""Which micro-batches may be replayed into tables with deferred updates: those that are rolled back."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ingest.api import ConflictError, TopicPartition
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.dead_letters.replay import BEFORE_BATCH_MS
from ingest.formats.times import moment
from ingest.plan.plan import Plan
from ingest.plan.stores import reading_store
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.spark.streaming.batch_log import LoggedBatch, offsets_in
from sinks.rewriting.counted_letters import CountedRun, counted_letters
from sinks.rewriting.rolled_back import rolled_back
from sinks.updates.feature import Updates
from sinks.updates.intervals import Interval, is_in

RolledBack = Mapping[str, frozenset[int]]
"""Table with deferred updates -> the times of micro-batches that were rolled back from it, and are not in it again."""


class NotRolledBackError(ConflictError):
    """A replay into deferred updates contains micro-batches that are not rolled back."""

    code = "not_rolled_back"
    remedy = "Roll the updates back with `attr2hbase rollback` first, or choose another range."


class UnfinishedBatch(NamedTuple):
    """
    A batch of a replay that may be written in part.

    Attributes:
        tables: with deferred updates, which it is written to.
        sinks: names of the only sinks that write it; None for all of those that can be replayed with it.
    """

    batch: ReplayBatch
    tables: frozenset[str]
    sinks: frozenset[str] | None = None

    def to_plain(self) -> dict[str, object]:
        """The same as plain data."""
        found: dict[str, object] = {"batch": self.batch.to_json(), "tables": sorted(self.tables)}
        return found if self.sinks is None else found | {"sinks": sorted(self.sinks)}

    @classmethod
    def from_plain(cls, content: object) -> "UnfinishedBatch | None":
        """The batch that `to_plain` returned; None for other content, of a replay of dead letters."""
        match content:
            case {"batch": dict(batch), "tables": list(tables), **others}:
                sinks = others.get("sinks")
                alone = frozenset(map(str, sinks)) if isinstance(sinks, list) else None
                return cls(ReplayBatch.from_json(batch), frozenset(tables), alone)
            case _:
                return None


def rolled_back_from(
    configuration: Configuration, plan: Plan, catalog: Catalog, batches: Sequence[LoggedBatch]
) -> RolledBack:
    """
    The batch times that rollbacks have removed from the tables of a plan.

    Args:
        configuration: declares the stores.
        plan: of the pipeline.
        catalog: of the configuration.
        batches: the batch log, by time.

    Raises:
        IngestError: a store is unavailable.
    """
    found = {}
    for name, tables in plan.tables_with(Updates).items():
        with reading_store(configuration.stores[name], catalog) as store:
            found.update({table: times_rolled_back(rolled_back(store, table), batches, table) for table in tables})
    return found


def times_rolled_back(intervals: Sequence[Interval], batches: Sequence[LoggedBatch], table: str) -> frozenset[int]:
    """
    The times of logged micro-batches that were rolled back from a table and did not run again since.

    A micro-batch that runs again, as a replay or with another configuration, is in the log at its new time: of several
    with the same offsets only the newest counts.

    Args:
        intervals: the batch times that rollbacks have rolled back.
        batches: the batch log, by time.
        table: its name.
    """
    later: dict[TopicPartition, _Offsets] = {}
    times = set()
    for batch in reversed(batches if intervals else ()):
        if table not in batch.updated:
            continue
        ran_again = any(later[part].overlaps(*bounds) for part, bounds in batch.ranges.items() if part in later)
        if not ran_again and is_in(intervals, batch.time_ms):
            times.add(batch.time_ms)
        for part, bounds in batch.ranges.items():
            later.setdefault(part, _Offsets()).add(*bounds)
    return frozenset(times)


class _Offsets:
    """Offsets of a partition, as disjoint ranges in order."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def overlaps(self, begin: int, end: int) -> bool:
        """Whether an offset is in [begin, end)."""
        at = bisect_right(self._ends, begin)
        return at < len(self._begins) and self._begins[at] < end

    def add(self, begin: int, end: int) -> None:
        """Add [begin, end); ranges that it touches become one."""
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last] = [begin]
        self._ends[first:last] = [end]


def batches_rolled_back(
    batches: Iterable[ReplayBatch], rolled_back: RolledBack, there: Iterable[ReplayBatch] = ()
) -> list[ReplayBatch]:
    """
    The batches whose updates were rolled back; those of other micro-batches are in the tables and count already.

    Of one of which the topics have only a part, this part is the batch.

    Args:
        batches: those of the range.
        rolled_back: what was rolled back.
        there: those of all records that the topics still have.

    Raises:
        ConflictError: there is none; or the range contains only a part of one.
    """
    parts = {batch.time_ms: batch for batch in there if batch.kind is BatchKind.PART}
    found = []
    for batch in batches:
        if batch.kind is BatchKind.WHOLE and tables_of(rolled_back, batch.time_ms):
            found.append(batch)
        elif batch.kind is BatchKind.PART and tables_of(rolled_back, batch.time_ms + BEFORE_BATCH_MS):
            if batch != parts.get(batch.time_ms):
                raise NotRolledBackError(
                    f"the range contains only a part of the micro-batch of time {batch.time_ms + BEFORE_BATCH_MS}, "
                    "whose updates were rolled back as a whole",
                    hint="extend the range until --dry-run shows no part",
                )
            found.append(replace(batch, kind=BatchKind.REST, time_ms=batch.time_ms + BEFORE_BATCH_MS))
    if not found:
        raise NotRolledBackError(
            f"no micro-batch of the range was rolled back from {', '.join(sorted(rolled_back))}: a replay would count "
            "its events twice",
            hint="roll its updates back first, with 'attr2hbase rollback', or choose another range",
        )
    return found


def refuse_counted(
    configuration: Configuration, plan: Plan, catalog: Catalog, planned: Sequence[ReplayBatch], taken_back: RolledBack
) -> None:
    """
    Refuse batches whose dead letters a replay has counted at a time that was not rolled back: a replay of the whole
    batch would count them a second time.

    Args:
        configuration: declares the stores.
        plan: of the pipeline.
        catalog: of the configuration.
        planned: the batches.
        taken_back: what was rolled back.

    Raises:
        ConflictError: there is one.
        IngestError: a store is unavailable.
    """
    for name, tables in plan.tables_with(Updates).items():
        with reading_store(configuration.stores[name], catalog) as store:
            for table in tables:
                intervals, runs = rolled_back(store, table), counted_letters(store, table).runs
                for batch in planned:
                    if batch.time_ms not in taken_back.get(table, ()):
                        continue
                    times = sorted(
                        {run.time_ms for run in runs if _has_counted(run, batch) and not is_in(intervals, run.time_ms)}
                    )
                    if times:
                        raise _counted(table, batch, times)


def _has_counted(run: CountedRun, batch: ReplayBatch) -> bool:
    """Whether a replay of dead letters has counted a record of a batch."""
    # dead letters that the replay of a part has published are just before it
    return run.source_ms in (batch.time_ms, batch.time_ms - BEFORE_BATCH_MS) and any(
        begin < after and first < end
        for part, (begin, end) in batch.ranges.items()
        for first, after in run.offsets.get(part, ())
    )


def _counted(table: str, batch: ReplayBatch, times_ms: Sequence[int]) -> ConflictError:
    commands = " and ".join(
        f"'attr2hbase rollback {table} --from {moment(time_ms)} --to {moment(time_ms)}'" for time_ms in times_ms
    )
    return NotRolledBackError(
        f'dead letters of the micro-batch of {moment(batch.time_ms)} were replayed into table "{table}" at '
        f"{' and '.join(map(moment, times_ms))}, which was not rolled back: a replay would count their events twice",
        hint=f"roll them back too, with {commands}; then run the command again, which runs them with the others",
    )


def offsets_gone(planned: Iterable[ReplayBatch], batches: Iterable[LoggedBatch]) -> int:
    """The number of offsets of the logged batches that planned ones replay as a whole without them."""
    sizes = {batch.time_ms: batch.offsets for batch in planned}
    return sum(offsets_in(batch.ranges) - sizes[batch.time_ms] for batch in batches if batch.time_ms in sizes)


def tables_of(rolled_back: RolledBack, time_ms: int) -> frozenset[str]:
    """The tables from which a micro-batch was rolled back."""
    return frozenset(table for table, times in rolled_back.items() if time_ms in times)


def common_tables(rolled_back: RolledBack, batches: Iterable[ReplayBatch]) -> frozenset[str]:
    """
    The tables from which all of these batches were rolled back.

    Args:
        rolled_back: what was rolled back.
        batches: those that are left of a replay.

    Raises:
        ConflictError: they were rolled back from different tables.
    """
    tables = {tables_of(rolled_back, batch.time_ms) for batch in batches}
    if len(tables) != 1:
        raise NotRolledBackError(
            "the micro-batches of the range were rolled back from different tables",
            hint="choose ranges whose micro-batches were rolled back from the same tables",
        )
    return tables.pop()

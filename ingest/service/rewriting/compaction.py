"""The compaction of a table: which part of it, by whom, and in which units of work."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ingest.api import ConfigError, NotFoundError, Store, TableSpec, UpdatesDifferError
from ingest.config.model import Configuration, Pipeline, Table
from ingest.plan.tables import declared_table
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.units_of_work import units_of_work
from ingest.service.rewriting.compaction_request import CompactionRequest
from ingest.service.rewriting.table_group import OldestMark, TableGroup
from ingest.service.rewriting.table_lease import leased
from sinks.rewriting.compaction import CompactionCounts, CompactionTarget, bound_of
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import TableLease
from sinks.rewriting.table_ranges import whole_row_ranges
from sinks.rewriting.units import CompactionEngine
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.compaction import CompactionRules
from sinks.updates.keys import start_of, time_of


@dataclass(slots=True)
class CompactionResult:
    """
    The result of a compaction.

    Attributes:
        bound_ms: batch time of the newest updates that were merged; None if the table has no mark, so that nothing was.
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


class TableCompaction:
    """
    Compacts one table.

    Args:
        declared: declaration of the table.
        request: which updates.
        calls: of its store, open for writing; for a dry run it may be open for reading.
        engine: carries out units of work.
        group: the tables of the pipeline that writes it.
        unit_of_work: surrounds each unit.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        declared: TableSpec,
        request: CompactionRequest,
        calls: StoreCalls,
        engine: CompactionEngine,
        group: TableGroup,
        *,
        unit_of_work: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._declared = declared
        self._table = declared.name
        self._request = request
        self._calls = calls
        self._engine = engine
        self._group = group
        self._unit_of_work = unit_of_work
        self._clock = clock

    def run(
        self,
        *,
        is_dry_run: bool = False,
        on_progress: Callable[[CompactionResult, int, int], None] = lambda _result, _done, _total: None,
        on_blocked: Callable[[str], None] = lambda _reason: None,
        cancellation: Cancellation | None = None,
    ) -> CompactionResult:
        """
        Compact the table.

        Args:
            is_dry_run: count what would be merged; write nothing.
            on_progress: called after each unit with the result so far, the number of finished ranges and of all.
            on_blocked: called with the reason when the store is unavailable, and with "" when it is not.
            cancellation: ends it.

        Raises:
            NotFoundError: the store has no such table.
            UpdatesDifferError: its rows were written with other deferred updates than the declared ones.
            ConflictError: another compaction or rollback of the table runs, or this one is cancelled.
            StoreError: the store is unavailable; what is done is complete, and another run does the rest.
        """
        started_s = self._clock()
        result = CompactionResult()
        mark = self._group.oldest_mark(self._table)
        prepared = self._calls(partial(self._prepared, mark=mark, is_dry_run=is_dry_run))
        if prepared is None:
            return result
        target, ranges = prepared
        result.bound_ms = time_of(target.rules.bound - 1)
        lease = TableLease(self._table, "compaction")
        with nullcontext(lease.check) if is_dry_run else leased(self._calls, lease) as check:
            for unit in units_of_work(
                ranges,
                lambda remaining: self._engine.unit(target, check, remaining),
                activity="compaction",
                unit_of_work=self._unit_of_work,
                on_blocked=on_blocked,
                cancellation=cancellation,
                clock=self._clock,
            ):
                result.counts.add(unit.counts)
                result.seconds = self._clock() - started_s
                on_progress(result, len(ranges) - len(unit.remaining), len(ranges))
            if result.counts.replaced and not is_dry_run:
                self._calls(lambda store: store.flush_removed(self._table))
        result.seconds = self._clock() - started_s
        return result

    def _prepared(
        self, store: Store[Any], *, mark: OldestMark | None, is_dry_run: bool
    ) -> tuple[CompactionTarget, list[Range]] | None:
        """The target and its ranges; None if the table has no mark."""
        spec = store.describe_table(self._table)
        if spec is None:
            raise NotFoundError(f'there is no table "{self._table}"')
        row_format = RowFormat.recorded(store, self._table)
        # another processor would merge them into other values, for good
        if row_format.updates != self._declared.updates:
            raise UpdatesDifferError(self._table, self._declared.updates, row_format.updates)
        if mark is None:
            return None
        rules = CompactionRules(
            bound_of(mark.time_ms, self._request.older_than_ms),
            start_of(self._request.window_ms, 0),
        )
        target = CompactionTarget(self._table, row_format, rules, is_dry_run)
        return target, whole_row_ranges(spec.splits, Distribution.of(row_format.buckets))


def table_with_updates(configuration: Configuration, name: str) -> tuple[Table, Pipeline]:
    """
    A table with deferred updates of a configuration, and the pipeline that writes it.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: it has no deferred updates, or no pipeline of the file writes it.
    """
    elsewhere = (
        f"use the file of the pipeline that writes it; there it is declared as 'tables: {{{name}: {{updates: …}}}}'"
    )
    table = declared_table(configuration, name, if_none=elsewhere)
    if table.updates is None:
        raise ConfigError(
            f'the file declares no deferred updates for table "{name}", so there is nothing to compact or to roll back',
            hint="'ingest table plan' shows whether the table has some",
        )
    for pipeline in configuration.pipelines.values():
        if table in configuration.updated_by(pipeline):
            return table, pipeline
    raise ConfigError(f'no pipeline of the file writes table "{name}"', hint="use the file of its pipeline")

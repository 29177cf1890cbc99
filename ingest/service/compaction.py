"""The compaction of a table: which part of it, by whom, and in which units of work."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ingest.api import ConfigError, ConflictError, NotFoundError, Store, TableSpec, UpdatesDifferError
from ingest.config.model import Configuration, Pipeline, Table
from ingest.service.cancellation import Cancellation
from ingest.service.compaction_request import CompactionRequest
from ingest.service.lease import leased
from ingest.suggest import did_you_mean
from sinks.rewriting.compaction import CompactionCounts, CompactionTarget, bound_of
from sinks.rewriting.groups_of_table import Range, StoreCalls, ranges_of
from sinks.rewriting.table_lease import TableLease
from sinks.rewriting.units import Engine
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.updates.compaction import CompactionRules
from sinks.updates.keys import start_of, time_of

ATTEMPTS = 10
"""Units of work that may fail one after the other because the store is unavailable, before the compaction fails."""
PAUSE_S = 3.0


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
        unit_of_work: surrounds each unit.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        declared: TableSpec,
        request: CompactionRequest,
        calls: StoreCalls,
        engine: Engine,
        *,
        unit_of_work: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._declared = declared
        self._table = declared.name
        self._request = request
        self._calls = calls
        self._engine = engine
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
        cancellation = cancellation or Cancellation()
        started_s = self._clock()
        result = CompactionResult()
        target, ranges = self._calls(self._prepared)
        if target is None:
            return result
        result.bound_ms = time_of(target.rules.bound - 1)
        target = CompactionTarget(target.table, target.rows, target.rules, is_dry_run)
        lease = TableLease(self._table, "compaction")
        with nullcontext(lease.check) if is_dry_run else leased(self._calls, lease) as check:
            remaining, failures = ranges, 0
            while remaining:
                if cancellation.is_requested:
                    raise ConflictError("the compaction was cancelled", code="duty_cancelled")
                with self._unit_of_work():
                    done = self._engine.unit(target, check, remaining)
                remaining = [*done.remaining]
                result.counts.add(done.counts)
                result.seconds = self._clock() - started_s
                on_progress(result, len(ranges) - len(remaining), len(ranges))
                on_blocked("" if done.error is None else str(done.error))
                failures = 0 if done.error is None else failures + 1
                if done.error is not None:
                    if failures >= ATTEMPTS:
                        raise done.error
                    cancellation.wait(PAUSE_S)
            if result.counts.replaced and not is_dry_run:
                self._calls(lambda store: store.flush_removed(self._table))
        result.seconds = self._clock() - started_s
        return result

    def _prepared(self, store: Store[Any]) -> tuple[CompactionTarget | None, list[Range]]:
        """The target and its ranges; no target if the table has no mark."""
        spec = store.describe_table(self._table)
        if spec is None:
            raise NotFoundError(f'there is no table "{self._table}"')
        bound = bound_of(store, self._table, self._request.older_than_ms)
        if bound is None:
            return None, []
        rules = CompactionRules(
            bound, start_of(self._request.window_ms, 0), max_cell_bytes=store.settings.max_put_bytes
        )
        rows = RowFormat.recorded(store, self._table)
        if rows.updates != self._declared.updates:  # another processor would merge them into other values, for good
            raise UpdatesDifferError(self._table, self._declared.updates, rows.updates)
        return CompactionTarget(self._table, rows, rules), ranges_of(spec.splits, Distribution.of(rows.buckets))


def updated_table(configuration: Configuration, name: str) -> tuple[Table, Pipeline]:
    """
    A table with deferred updates of a configuration, and the pipeline that writes it.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: it has no deferred updates, or no pipeline of the file writes it.
    """
    table = configuration.tables.get(name)
    if table is None:
        hint = did_you_mean(name, configuration.tables) or f"it declares {', '.join(configuration.tables) or 'none'}"
        raise NotFoundError(f'the file declares no table "{name}"', hint=hint)
    if table.updates is None:
        raise ConfigError(f'table "{name}" has no deferred updates, so there is nothing to compact or to roll back')
    for pipeline in configuration.pipelines.values():
        for sink in pipeline.sinks:
            if sink.settings.fixed_table == name and sink.settings.store_name == table.store:
                return table, pipeline
    raise ConfigError(f'no pipeline of the file writes table "{name}"', hint="use the file of its pipeline")

"""The rollback of a table: checks, the lease, and the record of what was rolled back."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import ConfigDict

from ingest.amounts import counted
from ingest.api import (
    ConfigError,
    ConflictError,
    IngestError,
    Model,
    NotFoundError,
    Store,
    TableSpec,
    UpdatesDifferError,
)
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.formats.times import moment
from ingest.plan.stores import owned_store, reading_store
from ingest.service.request import request_of
from ingest.service.rewriting.compaction import table_with_updates
from ingest.service.rewriting.table_group import OldestMark, TableGroup, table_group_beside
from ingest.service.rewriting.table_lease import leased, one_at_a_time
from sinks.feed.stream import FEED
from sinks.rewriting.rollback import RangeRollback, RollbackCounts
from sinks.rewriting.rolled_back import Interval, add_rolled_back
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck, TableLease
from sinks.rewriting.table_ranges import whole_row_ranges
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range


class RowsOverlapError(IngestError):
    """Merged rows would be left with updates of the interval, and the rollback is strict."""

    code = "rows_overlap"

    @classmethod
    def of(cls, rows: int) -> "RowsOverlapError":
        """The error for a number of merged rows."""
        return cls(
            f"{counted(rows, 'merged row')} with updates both inside and outside of the interval would be left; "
            "nothing was deleted",
            hint="choose an interval of whole windows of the compaction, or leave out --strict",
        )


class RollbackRequest(Model):
    """
    Which updates of a table are rolled back. In JSON: `{"first_ms": MS, "last_ms": MS}`.

    Attributes:
        first_ms: `--from`: first batch time.
        last_ms: `--to`: last batch time.
        is_strict: `--strict`.
    """

    model_config = ConfigDict(extra="forbid")

    first_ms: int
    last_ms: int
    is_strict: bool = False

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"first_ms": MS, "last_ms": MS}')


@dataclass(slots=True)
class RollbackResult:
    """
    The result of a rollback.

    Attributes:
        rolled_back: batch times of which the table has no update any more; recorded with the table.
        seconds: duration.
    """

    counts: RollbackCounts = field(default_factory=RollbackCounts)
    rolled_back: list[Interval] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, as `from_json` reads it."""
        return {
            "original_rows": self.counts.original_rows,
            "deleted": self.counts.deleted,
            "overlapping": self.counts.overlapping,
            "examples": self.counts.examples,
            "rolled_back_ms": [[*each] for each in self.rolled_back],
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RollbackResult":
        """The result of what `to_json` returned, without the batch times of the rows that stay."""
        counts = RollbackCounts(
            content["original_rows"], content["deleted"], content["overlapping"], content["examples"]
        )
        return cls(counts, [Interval(*each) for each in content["rolled_back_ms"]], content["seconds"])


class TableRollback:
    """
    Rolls one table back.

    Args:
        calls: of its store, open for writing; for a dry run it may be open for reading.
        declared: declaration of the table.
        interval: batch times whose updates are deleted.
        group: the tables of the pipeline that writes it.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        calls: StoreCalls,
        declared: TableSpec,
        interval: Interval,
        group: TableGroup,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if interval.first_ms > interval.last_ms:
            raise ConfigError("the interval is empty: --from is after --to", hint="times without a zone are UTC")
        self._calls = calls
        self._declared = declared
        self._table = declared.name
        self._interval = interval
        self._group = group
        self._clock = clock

    def plan(self) -> RollbackResult:
        """
        What a rollback would do; nothing is written.

        Raises:
            NotFoundError: the store has no such table.
            UpdatesDifferError: its rows were written with other deferred updates than the declared ones.
            ConflictError: the interval is not below the marks, or a replay of the pipeline is not finished.
            StoreError: the store is unavailable.
        """
        return self._run(None)

    def run(self, *, is_strict: bool = False, check_running: Callable[[], None] = lambda: None) -> RollbackResult:
        """
        Roll the table back.

        Args:
            is_strict: delete nothing if merged rows would be left with updates of the interval.
            check_running: called now and then; raises to end it.

        Raises:
            NotFoundError: the store has no such table.
            UpdatesDifferError: its rows were written with other deferred updates than the declared ones.
            ConflictError: the interval is not below the marks, a replay of the pipeline is not finished, or a
                compaction or rollback of the table runs.
            RowsOverlapError: merged rows would be left, and the rollback is strict.
            StoreError: the store is unavailable; another run does the rest.
        """
        started_s = self._clock()
        with leased(self._calls, TableLease(self._table, "rollback")) as check:
            if is_strict and (overlapping := self._run(None, check_running).counts.overlapping):
                raise RowsOverlapError.of(overlapping)
            result = self._run(check, check_running)
            self._calls(lambda store: add_rolled_back(store, self._table, result.rolled_back))
            self._calls(lambda store: store.flush_removed(self._table))
        result.seconds = self._clock() - started_s
        return result

    def _run(self, check: LeaseCheck | None, check_running: Callable[[], None] = lambda: None) -> RollbackResult:
        """A pass over the table, which deletes only with the check of a lease."""
        started_s = self._clock()
        row_format, ranges = self._calls(self._prepared)
        check_complete(self._group.oldest_mark(self._table), self._table, self._interval)
        self._group.check_no_replay()
        rollback = RangeRollback(
            self._calls,
            self._table,
            row_format,
            self._interval,
            is_dry_run=check is None,
            check=check or (lambda _store: None),
        )
        for keys in ranges:
            rollback.run(keys, check_running)
        counts = rollback.counts
        return RollbackResult(counts, counts.rolled_back(self._interval), self._clock() - started_s)

    def _prepared(self, store: Store[Any]) -> tuple[RowFormat, list[Range]]:
        spec = store.describe_table(self._table)
        if spec is None:
            raise NotFoundError(f'there is no table "{self._table}"')
        if FEED in store.properties(self._table):
            raise ConflictError(
                f'table "{self._table}" has a feed, and its readers would keep the updates that are rolled back',
                code="rollback_of_feed",
                hint="remove `feed` of the table and start its pipeline, which closes the feed; then roll back",
            )
        row_format = RowFormat.recorded(store, self._table)
        if row_format.updates != self._declared.updates:
            raise UpdatesDifferError(self._table, self._declared.updates, row_format.updates)
        return row_format, whole_row_ranges(spec.splits, Distribution.of(row_format.buckets))


def plan_rollback(configuration: Configuration, catalog: Catalog, name: str, interval: Interval) -> RollbackResult:
    """
    What a rollback of a table would do; a service may run.

    Raises:
        IngestError: as `table_with_updates` and `TableRollback.plan`.
    """
    table, pipeline = table_with_updates(configuration, name)
    with ExitStack() as opened:
        store = opened.enter_context(reading_store(configuration.stores[table.store], catalog))
        calls = StoreCalls(lambda: nullcontext(store))
        group = table_group_beside(configuration, pipeline, catalog, {table.store: calls}, opened)
        return TableRollback(calls, table.spec(), interval, group).plan()


def roll_back(
    configuration: Configuration, catalog: Catalog, name: str, interval: Interval, *, is_strict: bool
) -> RollbackResult:
    """
    Roll a table back in this process; a store that only one process may write is refused while a service runs.

    Raises:
        ConflictError: another process has locked the store; or as `TableRollback.run`.
        IngestError: as `table_with_updates` and `TableRollback.run`.
    """
    table, pipeline = table_with_updates(configuration, name)
    with ExitStack() as opened:
        store = opened.enter_context(owned_store(configuration.stores[table.store], catalog))
        calls = StoreCalls(one_at_a_time(store))
        group = table_group_beside(configuration, pipeline, catalog, {table.store: calls}, opened)
        return TableRollback(calls, table.spec(), interval, group).run(is_strict=is_strict)


def check_complete(mark: OldestMark | None, table: str, interval: Interval) -> None:
    """
    Refuse an interval with micro-batches that may not be complete.

    Args:
        mark: the oldest of the pipeline's tables.
        table: which is rolled back.
        interval: batch times.

    Raises:
        ConflictError: there is no mark, or the interval ends after it.
    """
    if mark is None:
        raise ConflictError(
            f'table "{table}" has no complete micro-batch, so there is nothing to roll back', code="above_mark"
        )
    if interval.last_ms > mark.time_ms:
        other = "" if mark.table == table else ", which the same pipeline writes"
        raise ConflictError(
            f'the interval ends at {moment(interval.last_ms)}, after the mark of table "{mark.table}"{other}, '
            f"{moment(mark.time_ms)}: micro-batches after it may not be complete",
            code="above_mark",
            hint="choose an earlier --to, or wait until the pipeline has acknowledged its micro-batch",
        )

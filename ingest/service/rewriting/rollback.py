"""
Rollback: the updates of an interval of batch times are deleted from a table with deferred updates.

The work on ranges of the table is `sinks.rewriting.rollback`. Here are the checks, the lease, and the record of what
was rolled back. It runs in this process, whatever the store.
"""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ingest.amounts import counted
from ingest.api import (
    ConflictError,
    IngestError,
    Model,
    Store,
    TableSpec,
)
from ingest.api.feeds import FEED
from ingest.formats.times import moment
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.option_types import Moment
from ingest.service.jobs.place import Place
from ingest.service.rewriting.table_group import OldestPosition, TableGroup
from ingest.service.rewriting.updates_job import UpdatesJob, rows_and_ranges
from sinks.rewriting.rollback import RangeRollback, RollbackCounts
from sinks.rewriting.rolled_back import add_rolled_back
from sinks.rewriting.store_calls import StoreCalls
from sinks.rewriting.table_lease import LeaseCheck, leased
from sinks.rewriting.unfinished_rollback import (
    RollbackUnfinishedError,
    UnfinishedRollback,
    note_rollback,
    unfinished_rollback,
)
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.partitions import Range
from sinks.updates.intervals import Interval


class AboveCommittedPositionError(ConflictError):
    """A rollback reaches beyond the newest micro-batch that is complete in all tables of the pipeline."""

    code = "above_committed_position"
    remedy = (
        "End at the committed position, whose time the message names, or wait until the pipeline has acknowledged its "
        "micro-batch."
    )


class RollbackOfFeedError(ConflictError):
    """A rollback of a table with a change feed: readers of the feed would keep the updates that are rolled back."""

    code = "rollback_of_feed"
    hint = "remove `feed` of the table and start its pipeline, which closes the feed; then roll back"


class RowsStraddleError(IngestError):
    """A strict rollback would leave merged rows with updates both inside and outside of its interval."""

    code = "rows_straddle"
    remedy = "Roll back an interval of whole windows of the compaction, or leave out `--strict`."

    @classmethod
    def of(cls, rows: int) -> "RowsStraddleError":
        """The error for a number of merged rows."""
        return cls(
            f"{counted(rows, 'merged row')} with updates both inside and outside of the interval would be left; "
            "nothing was deleted",
            hint="choose an interval of whole windows of the compaction, or leave out --strict",
        )


class RollbackOptions(Model):
    """Which updates of a table are rolled back: those of micro-batches with times from `from` up to `to`."""

    from_: Moment = Field(alias="from", description="First batch time, as in 2026-01-31T12:00:00Z.")
    to: Moment = Field(description="Last batch time.")
    strict: bool = Field(False, description="Delete nothing if merged rows would be left (exit code 1).")

    @model_validator(mode="after")
    def _has_times(self) -> "RollbackOptions":
        if self.from_ > self.to:
            raise PydanticCustomError(
                "empty", "the interval is empty: --from is after --to; times without a zone are UTC"
            )
        return self


class Rollback(UpdatesJob[RollbackOptions]):
    """
    Rolls a table back. It may be killed at any moment, and run again.

    Args:
        table: its name.
        options: which updates.
    """

    kind = "rollback"
    needs_slots = False
    options_model = RollbackOptions
    command = JobCommand(
        help="""
        Take the updates of an interval back, for example those that a wrong pipeline has written.

        The times are batch times, both inclusive, as in `attr2hbase replay`; only complete micro-batches can be rolled
        back. A merged row cannot be divided: those with updates inside and outside of the interval stay and are listed,
        and so do all rows with updates of the same micro-batches: `attr2hbase replay` runs a micro-batch as a whole.
        After a compaction, choose an interval of whole windows.

        The batch times rolled back are recorded with the table, so that `attr2hbase replay` accepts them. It can be
        interrupted and run again; until it has ended, the table is not compacted, and no other interval is rolled back.
        A table is compacted or rolled back by one process at a time.

        Example: attr2hbase rollback counters --from 2026-01-31T12:00 --to 2026-01-31T12:59:59 --dry-run
        """,
        dry_run="Count what would be deleted; write nothing.",
        advances=("rows", "logical_rows"),
        does="rolls the table back",
        resumes="run the same command again; it deletes what remains",
        asks=lambda content: (
            f"permanently delete {counted(content['deleted'], 'update row')}?" if content["deleted"] else None
        ),
    )

    def steps(self, place: Place) -> Steps:
        """Roll the table back; see `rollback_steps`."""
        table, _, calls, group = self.opened(place)
        return rollback_steps(table.spec(), self.options, calls, group, place)

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:
        """What is rolled back, and what could not be."""
        notes = [f"not rolled back: {example}" for example in content["examples"]]
        if (more := content["straddling"] - len(content["examples"])) > 0:
            notes.append(f"and {more:,} more")
        verb = "would be" if is_dry_run else "are"
        lines = [
            f"batch times from {moment(first_ms)} to {moment(last_ms)} {verb} rolled back"
            for first_ms, last_ms in content["rolled_back_ms"]
        ]
        done = ""
        if content["deleted"]:
            rows = f"{counted(content['deleted'], 'update row')} of {counted(content['logical_rows'], 'row')}"
            done = f"{rows} {'would be deleted' if is_dry_run else 'deleted'}"
        else:
            none = f'no update row of "{self.subject}" that can be deleted has a batch time in this interval'
            notes.append(f"{none}; 'attr2hbase history' shows them")
        return Summary(
            content,
            lines=lines,
            notes=notes,
            done=done,
            would_change=bool(content["deleted"]),
            exit_code=int(is_dry_run and self.options.strict and bool(content["straddling"])),
        )


def rollback_steps(
    declared: TableSpec, options: RollbackOptions, calls: StoreCalls, group: TableGroup, place: Place
) -> Steps:
    """
    Roll a table back; yields the result so far after each range, and the complete one at the end.

    Args:
        declared: declaration of the table.
        options: which updates.
        calls: of its store.
        group: the tables of the pipeline that writes it.
        place: where it runs.

    Raises:
        NotFoundError: the store has no such table.
        UpdatesDifferError: its rows were written with other deferred updates than the declared ones.
        ConflictError: the interval is not below the committed positions, a replay of the pipeline or a rollback of
            another interval is not finished, or a compaction or rollback of the table runs.
        RowsStraddleError: merged rows would be left, and the rollback is strict.
        StoreError: the store is unavailable; another run does the rest.
    """
    started_s, table, interval = time.monotonic(), declared.name, Interval(options.from_, options.to)
    wait = partial(place.cancellation.wait_or_end, Rollback.kind)
    lease = leased(calls, table, Rollback.kind, wait=wait, on_wait=place.on_blocked)
    with nullcontext(LeaseCheck(table, "")) if place.is_dry_run else lease as check:
        # what an interrupted rollback has begun to delete is what it ends with, whatever the rows are now
        unfinished = calls(partial(unfinished_rollback, table=table))
        if unfinished is not None and unfinished.asked != interval:
            raise RollbackUnfinishedError(table, unfinished.asked)
        rolled_back = [interval] if unfinished is None else [*unfinished.intervals]
        for is_plan in (True, False) if unfinished is None else (False,):
            row_format, ranges = calls(partial(_prepared, declared=declared))
            withdrawn = calls(partial(withdrawn_times, table=table))
            check_complete(group.oldest_committed(table), table, interval)
            group.check_no_replay()
            passed = RangeRollback(
                calls,
                table,
                row_format,
                interval,
                taken=rolled_back,
                withdrawn=withdrawn,
                is_dry_run=is_plan or place.is_dry_run,
                check=check,
            )
            for number, keys in enumerate(ranges, 1):
                passed.run(keys, partial(place.cancellation.check, Rollback.kind))
                yield Progress(number, len(ranges), _result(passed.counts, [], time.monotonic() - started_s))
            if is_plan:
                is_refused = options.strict and passed.counts.straddling > 0
                if is_refused and not place.is_dry_run:
                    raise RowsStraddleError.of(passed.counts.straddling)
                rolled_back = [] if is_refused else passed.counts.taken_back(interval)
                if place.is_dry_run and rolled_back == [interval]:
                    break  # all rows go: the first pass has counted them
                if not place.is_dry_run:
                    begun = UnfinishedRollback(interval, tuple(rolled_back))
                    calls(partial(note_rollback, table=table, rollback=begun))
        if not place.is_dry_run:
            calls(lambda store: add_rolled_back(store, table, rolled_back))
            calls(partial(note_rollback, table=table, rollback=None))
            calls(lambda store: store.flush_removed(table))
    yield Progress(len(ranges), len(ranges), _result(passed.counts, rolled_back, time.monotonic() - started_s))


def _result(counts: RollbackCounts, rolled_back: list[Interval], seconds: float) -> dict[str, Any]:
    return {
        "logical_rows": counts.logical_rows,
        "deleted": counts.deleted,
        "straddling": counts.straddling,
        "examples": counts.examples,
        "rolled_back_ms": [[*each] for each in rolled_back],
        "seconds": round(seconds, 3),
    }


def _prepared(store: Store[Any], *, declared: TableSpec) -> tuple[RowFormat, list[Range]]:
    found = rows_and_ranges(declared, store)
    if FEED in store.properties(declared.name):
        raise RollbackOfFeedError(
            f'table "{declared.name}" has a change feed, and its readers would keep the updates that are rolled back',
        )
    return found


def check_complete(committed: OldestPosition | None, table: str, interval: Interval) -> None:
    """
    Refuse an interval with micro-batches that may not be complete.

    Args:
        committed: the oldest of the pipeline's tables.
        table: which is rolled back.
        interval: batch times.

    Raises:
        ConflictError: there is no committed position, or the interval ends after it.
    """
    if committed is None:
        raise AboveCommittedPositionError(
            f'table "{table}" has no complete micro-batch, so there is nothing to roll back',
        )
    if interval.last_ms > committed.time_ms:
        other = "" if committed.table == table else ", which the same pipeline writes"
        raise AboveCommittedPositionError(
            f"the interval ends at {moment(interval.last_ms)}, after the committed position of table "
            f'"{committed.table}"{other}, {(newest := moment(committed.time_ms))}: '
            "micro-batches after it may not be complete",
            hint=f"end at this position, --to {newest}; or wait until the pipeline has acknowledged its micro-batch",
        )

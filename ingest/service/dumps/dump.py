"""A dump of tables: in which units of work, and what is recorded of it."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from ingest import failpoint
from ingest.api import ConfigError, IngestError, IntegrityError
from ingest.clock import now_ms
from ingest.observe.logs import logger
from ingest.service.dumps.plan import DumpSources, PlannedTable
from ingest.service.dumps.request import DumpRequest
from ingest.service.dumps.result import DumpResult, TableCounts
from ingest.service.dumps.space import check_space
from ingest.service.jobs.cancellation import Cancellation
from ingest.service.jobs.units_of_work import units_of_work
from ingest.spark.jobs.dump import DumpFiles, DumpWork
from sinks.dumps.expiry import Retention, expire, plan_expiry
from sinks.dumps.layout import FileFormat, dump_name
from sinks.dumps.ranges import DumpRange, DumpTarget, DumpUnit, Limits, remaining_of
from sinks.dumps.run import DumpRun
from sinks.files.root import Root, open_root, root_errors

UNIT_S = 20.0
"""Time of a task by default; the file that it writes then is finished."""
_log = logger(__name__)


class DumpEngine(Protocol):
    """Carries out units of work."""

    @property
    def tasks(self) -> int:
        """The number of tasks that run at a time; once it has started."""

    def start(self, tables: Sequence[str]) -> None:
        """
        Start, for a dump of these tables.

        Raises:
            ConfigError: it cannot start, or its tasks cannot read a table.
        """

    def unit(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpUnit:
        """
        Dump as many ranges as there is time for.

        Raises:
            IngestError: another error than that of an unavailable store or root.
        """


class TableDump:
    """
    Makes one dump.

    Args:
        request: which tables, where and how.
        sources: makes the views of these tables, and returns what the dump reads; called once, after the start.
        engine: carries out units of work.
        unit_of_work: surrounds each unit.
        limits: of the tasks; the rate is that of the request.
        unit_s: time of a task; the file that it writes then is finished.
        clock: monotonic seconds.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(  # noqa: PLR0913 - the parts of a dump, each used once
        self,
        request: DumpRequest,
        sources: Callable[[Sequence[str]], DumpSources],
        engine: DumpEngine,
        *,
        unit_of_work: Callable[[], AbstractContextManager[None]] = nullcontext,
        limits: Limits | None = None,
        unit_s: float = UNIT_S,
        clock: Callable[[], float] = time.monotonic,
        clock_ms: Callable[[], int] = now_ms,
    ) -> None:
        self._request = request
        self._sources = sources
        self._engine = engine
        self._unit_of_work = unit_of_work
        self._limits = limits or Limits()
        self._unit_s = unit_s
        self._clock = clock
        self._clock_ms = clock_ms

    def run(
        self,
        tables: Sequence[str],
        *,
        on_progress: Callable[[DumpResult, int, int], None] = lambda _result, _done, _total: None,
        on_blocked: Callable[[str], None] = lambda _reason: None,
        cancellation: Cancellation | None = None,
    ) -> DumpResult:
        """
        Make the dump.

        Args:
            tables: names of the tables; a dump that is resumed has those that it had before.
            on_progress: called after each unit with the result so far, the number of finished ranges and of all.
            on_blocked: called with the reason when the store or the root is unavailable, and with "" when it is not.
            cancellation: ends it.

        Raises:
            NotFoundError: there is no such table; or no killed dump of this id, to be resumed.
            ConflictError: another process makes a dump in the root, the id is in use, or this dump is cancelled.
            ConfigError: two tables would have one folder, or the root cannot be used.
            StoreError: the store or the root is unavailable; with `--resume`, another run does the rest.
        """
        started_s = self._clock()
        request = self._request
        root = open_root(request.root)
        run_id = request.id or f"{dump_name(self._clock_ms())}-{secrets.token_hex(3)}"
        with DumpRun(root, run_id, clock_ms=self._clock_ms) as run:
            if request.is_resumed:
                run.resume()
                sources = self._sources(run.tables)
                planned = resumed(run, sources.planned(request.min_ranges, with_bodies=True))
                self._engine.start(run.tables)
            else:
                sources, planned = self._started(run, root, tables)
            result = DumpResult(request.root, "", run.id, run.start_ms, all(each.is_exact for each in planned))
            result.tables = {each.name: TableCounts() for each in planned}
            work = self._work(root, run, sources, planned)
            self._dump(run, work, planned, result, on_progress, on_blocked, cancellation)
            manifest = run.finish(
                {each.name: each.dumped for each in planned},
                feed={each.name: each.feed for each in planned if each.feed},
            )
            result.dump = manifest.dump
            result.expired = self._expired(root)
        result.seconds = self._clock() - started_s
        return result

    def _expired(self, root: Root) -> list[str]:
        """Remove what is older than `keep_s`; the dump is complete, whatever becomes of this."""
        if self._request.keep_s is None:
            return []
        now_ms = self._clock_ms()
        try:
            with root_errors(root):
                plan = plan_expiry(root, Retention(keep_ms=round(self._request.keep_s * 1000)), now_ms)
                return expire(root, plan, now_ms)
        except IngestError as error:
            _log.warning("older dumps were not removed", root=str(root), reason=str(error))
            return []

    def _started(self, run: DumpRun, root: Root, tables: Sequence[str]) -> tuple[DumpSources, list[PlannedTable]]:
        """Start the dump, then freeze the views: every change before the start is in them."""
        found: list[tuple[DumpSources, list[PlannedTable]]] = []

        def plan() -> Mapping[str, Any]:
            sources = self._sources(tables)
            request = self._request
            planned = sources.planned(request.min_ranges, request.columns, with_bodies=request.bodies)
            if request.bodies and not any(each.bodies for each in planned):
                raise ConfigError("no table of the dump has a body store", hint="leave out `bodies`")
            found.append((sources, planned))
            if not self._request.ignore_space:
                check_space(root, planned, sources, run.leftover_bytes())
            self._engine.start(tables)  # what it refuses is refused before an interrupted dump is removed
            return {each.name: each.to_json() for each in planned}

        run.start(tables, FileFormat[self._request.format.upper()], plan)
        return found[0]

    def _work(self, root: Root, run: DumpRun, sources: DumpSources, planned: Sequence[PlannedTable]) -> DumpWork:
        targets: dict[str, dict[str, DumpTarget]] = {}
        for each in planned:
            targets.setdefault(each.store, {})[each.name] = each.target
        rate = self._request.max_rate
        limits = self._limits._replace(rows_per_s=None if rate is None else rate / self._engine.tasks)
        files = DumpFiles(root, run.folder, run.file_format, {each.name: each.columns for each in planned})
        bodies = {each.name: each.bodies for each in planned if each.bodies is not None}
        return DumpWork.of(sources.plan(), targets, files, limits, seconds=self._unit_s, bodies=bodies)

    def _dump(
        self,
        run: DumpRun,
        work: DumpWork,
        planned: Sequence[PlannedTable],
        result: DumpResult,
        on_progress: Callable[[DumpResult, int, int], None],
        on_blocked: Callable[[str], None],
        cancellation: Cancellation | None,
    ) -> None:
        total = sum(len(each.ranges) for each in planned)
        remaining = [
            rest
            for each in planned
            for keys in each.ranges
            if (rest := remaining_of(each.target, keys, run.done(each.name))) is not None
        ]
        for each in planned:
            for file in run.done(each.name).values():
                result.tables[each.name].add(file)
        on_progress(result, total - len(remaining), total)
        recorded = failpoint.point("dump_recorded")
        for unit in units_of_work(
            remaining,
            lambda ranges: self._engine.unit(work, ranges),
            activity="dump",
            unit_of_work=self._unit_of_work,
            on_blocked=on_blocked,
            cancellation=cancellation,
            clock=self._clock,
        ):
            for table, number, file in unit.parts:
                run.add(table, number, file)
                result.tables[table].add(file)
                recorded()
            on_progress(result, total - len(unit.remaining), total)


def resumed(run: DumpRun, planned: Sequence[PlannedTable]) -> list[PlannedTable]:
    """
    The tables with the ranges of the process that was killed.

    Raises:
        IntegrityError: another version of this product has planned them.
    """
    try:
        return [each.resumed(run.plan[each.name]) for each in planned]
    except (KeyError, TypeError, ValueError) as error:
        raise IntegrityError(
            f'the plan of the dump "{run.id}" cannot be read: {error!r}', hint="start it without --resume"
        ) from error

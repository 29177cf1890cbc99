"""The steps of a dump: in which slices it is made, and what is recorded of it."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from ingest import failpoint
from ingest.api import ConfigError, IngestError, IntegrityError
from ingest.clock import now_ms
from ingest.durable import file_errors
from ingest.observe.logs import logger
from ingest.service.dumps.options import DumpRunOptions
from ingest.service.dumps.plan import DumpSources, PlannedTable, ResumedTable
from ingest.service.dumps.space import check_space
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.spark.jobs.dump import DumpFiles, DumpWork
from sinks.dumps.expiry import Retention, expire, plan_expiry
from sinks.dumps.layout import FileFormat, dump_name
from sinks.dumps.manifest import TableFile, consistency_of
from sinks.dumps.ranges import DumpRange, DumpSlice, DumpTarget, Limits, remaining_of
from sinks.dumps.run import DumpRun
from sinks.files.opening import open_root
from sinks.files.root import Root

SLICE_S = 20.0
"""Time of a task by default; the file that it writes then is finished."""
_log = logger(__name__)


class DumpEngine(Protocol):
    """Carries out slices."""

    @property
    def tasks(self) -> int:
        """The number of tasks that run at a time."""

    def run_slice(self, work: DumpWork, ranges: Sequence[DumpRange]) -> DumpSlice:
        """
        Dump as many ranges as there is time for.

        Raises:
            IngestError: another error than an unavailable store's or root's.
        """


@dataclass(slots=True)
class TableCounts:
    """What a dump has of a table."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def add(self, file: TableFile | None) -> None:
        """Count a file; None is the end of a range."""
        if file is not None:
            self.files += 1
            self.rows += file.rows
            self.bytes += file.size_bytes


@dataclass(slots=True)
class DumpResult:
    """
    The result of a dump.

    Attributes:
        id: of the run.
        start_ms: every change before it is in the dump.
        consistency: whether all rows are from one moment, as in the manifest.
        tables: by name.
        dump: its folder; "" until it is complete.
        expired: names of older dumps that were removed.
        seconds: duration.
    """

    root: str
    id: str
    start_ms: int
    consistency: str
    tables: dict[str, TableCounts]
    dump: str = ""
    expired: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The same as plain data, with the `rows` and `bytes` of all tables."""
        counts = self.tables.values()
        return asdict(self) | {"rows": sum(each.rows for each in counts), "bytes": sum(each.bytes for each in counts)}


class _Prepared(NamedTuple):
    """What a dump reads, and who reads it."""

    sources: DumpSources
    planned: list[PlannedTable]
    engine: DumpEngine


def dump_steps(  # noqa: PLR0913 - the parts of a dump, each used once
    root: str,
    options: DumpRunOptions,
    tables: Sequence[str],
    sources: Callable[[Sequence[str]], DumpSources],
    engine: Callable[[Sequence[str]], DumpEngine],
    place: Place,
    *,
    limits: Limits | None = None,
    slice_s: float = SLICE_S,
    clock_ms: Callable[[], int] = now_ms,
) -> Steps:
    """
    Make a dump; yields the result so far after each slice, and the complete one at the end.

    Args:
        root: path or URL of the dumps.
        options: of the dump.
        tables: their names; a dump that is resumed has those that it had before.
        sources: makes the views of these tables, and returns what the dump reads; called once, after the start.
        engine: starts what carries out slices on these tables; called once, after the checks.
        place: where it runs.
        limits: of the tasks; the options have the rate.
        slice_s: time of a task; the file that it writes then is finished.
        clock_ms: milliseconds since the epoch.

    Raises:
        NotFoundError: there is no such table; or no killed dump of this id, to be resumed.
        ConflictError: another process makes a dump in the root, the id is in use, or this dump is cancelled.
        ConfigError: two tables would have one folder, the root cannot be used, or the tasks cannot read a table.
        StoreError: the store or the root is unavailable; another run that resumes this one does the rest.
    """
    started_s, opened = time.monotonic(), open_root(root)
    run_id = options.resume or options.id or f"{dump_name(clock_ms())}-{secrets.token_hex(3)}"
    wait = partial(place.cancellation.wait_or_end, "dump")
    with DumpRun(opened, run_id, clock_ms=clock_ms, wait=wait, on_wait=place.on_blocked) as run:
        if options.resume:
            prepared = _resumed(run, options, sources, engine)
        else:
            prepared = _started(run, opened, options, tables, sources, engine)
        planned = prepared.planned
        consistency = consistency_of(all(each.is_exact for each in planned))
        result = DumpResult(root, run.id, run.start_ms, consistency, {each.name: TableCounts() for each in planned})
        total, remaining = sum(len(each.ranges) for each in planned), _remaining(run, planned)
        for each in planned:
            for file in run.done(each.name).values():
                result.tables[each.name].add(file)
        yield Progress(total - len(remaining), total, result.to_json())
        work = _work(opened, run, options, prepared, limits or Limits(), slice_s)
        recorded = failpoint.point("dump_recorded")
        for ended in place.slices(remaining, partial(prepared.engine.run_slice, work), activity="dump"):
            for part in ended.parts:
                run.add(part.table, part.number, part.file)
                result.tables[part.table].add(part.file)
                recorded()
            reason = "" if ended.error is None else str(ended.error)
            yield Progress(total - len(ended.remaining), total, result.to_json(), blocked=reason)
        feed = {each.name: each.feed for each in planned if each.feed}
        result.dump = run.finish({each.name: each.dumped for each in planned}, feed=feed).dump
        result.expired = _expired(opened, options.keep, clock_ms())
    result.seconds = round(time.monotonic() - started_s, 3)
    yield Progress(total, total, result.to_json())


def _started(
    run: DumpRun,
    root: Root,
    options: DumpRunOptions,
    tables: Sequence[str],
    sources: Callable[[Sequence[str]], DumpSources],
    engine: Callable[[Sequence[str]], DumpEngine],
) -> _Prepared:
    """Start the dump, then freeze the views: every change before the start is in them."""
    prepared: list[_Prepared] = []

    def plan() -> Mapping[str, Any]:
        found = sources(tables)
        planned = found.planned(options.min_ranges, options.columns, with_blobs=options.blobs)
        if options.blobs and not any(each.blobs for each in planned):
            raise ConfigError("no table of the dump has a blob store", hint="leave out `blobs`")
        if not options.ignore_space:
            check_space(root, planned, found, run.leftover_bytes())
        # what the engine refuses is refused before an interrupted dump is removed
        prepared.append(_Prepared(found, planned, engine(tables)))
        return {each.name: each.to_resume.to_json() for each in planned}

    run.start(tables, FileFormat[options.format.upper()], plan)
    return prepared[0]


def _resumed(
    run: DumpRun,
    options: DumpRunOptions,
    sources: Callable[[Sequence[str]], DumpSources],
    engine: Callable[[Sequence[str]], DumpEngine],
) -> _Prepared:
    """
    The dump of the process that was killed, with its ranges.

    Raises:
        IntegrityError: another version of this product has planned them.
    """
    run.resume()
    found = sources(run.tables)
    planned = found.planned(options.min_ranges, with_blobs=True)
    try:
        planned = [each.resumed(ResumedTable.from_json(run.plan[each.name])) for each in planned]
    except (KeyError, TypeError, ValueError) as error:
        raise IntegrityError(
            f'the plan of the dump "{run.id}" cannot be read: {error!r}', hint="start it without --resume"
        ) from error
    return _Prepared(found, planned, engine(run.tables))


def _remaining(run: DumpRun, planned: Sequence[PlannedTable]) -> list[DumpRange]:
    return [
        rest
        for each in planned
        for keys in each.ranges
        if (rest := remaining_of(each.target, keys, run.done(each.name))) is not None
    ]


def _work(
    root: Root, run: DumpRun, options: DumpRunOptions, prepared: _Prepared, limits: Limits, slice_s: float
) -> DumpWork:
    planned, rate = prepared.planned, options.max_rate
    targets: dict[str, dict[str, DumpTarget]] = {}
    for each in planned:
        targets.setdefault(each.store, {})[each.name] = each.target
    limits = limits._replace(rows_per_s=None if rate is None else rate / prepared.engine.tasks)
    files = DumpFiles(root, run.folder, run.file_format, {each.name: each.columns for each in planned})
    blobs = {each.name: each.blobs for each in planned if each.blobs is not None}
    return DumpWork.of(prepared.sources.plan(), targets, files, limits, seconds=slice_s, blobs=blobs)


def _expired(root: Root, keep_s: float | None, at_ms: int) -> list[str]:
    """Remove what is older than `keep`; the dump is complete, whatever becomes of this."""
    if keep_s is None:
        return []
    try:
        with file_errors(root):
            plan = plan_expiry(root, Retention(keep_ms=round(keep_s * 1000)), at_ms)
            return expire(root, plan, at_ms)
    except IngestError as error:
        _log.warning("older dumps were not removed", root=str(root), reason=str(error))
        return []

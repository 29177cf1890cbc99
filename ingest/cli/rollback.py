"""`ingest rollback`: delete the updates of an interval from a table with deferred updates."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.by_service import requested
from ingest.cli.command import FileArgument, TableArgument
from ingest.cli.confirmation import confirm_deletion
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.jobs.client import FollowedJob
    from ingest.service.rewriting.rollback import RollbackResult
    from sinks.rewriting.rolled_back import Interval


def rollback(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: TableArgument,
    *,
    from_: Annotated[str, typer.Option("--from", metavar="TIME", help="First batch time, as in 2026-01-31T12:00:00Z.")],
    to: Annotated[str, typer.Option(metavar="TIME", help="Last batch time.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Delete nothing if merged rows would be left (exit code 1).")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be deleted; write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """
    Take the updates of an interval back, for example those that a wrong pipeline has written.

    The times are batch times, both inclusive, as in `ingest replay`; only complete micro-batches can be rolled back. A
    merged row cannot be divided: those with updates inside and outside of the interval stay and are listed. After a
    compaction, choose an interval of whole windows.

    The batch times rolled back are recorded with the table, so that `ingest replay` accepts them. It can be interrupted
    and run again. A table is compacted or rolled back by one process at a time.

    Example: ingest rollback pipeline.yaml counters --from 2026-01-31T12:00:00Z --to 2026-01-31T12:59:59.999Z --dry-run
    """
    from ingest.cli.loading import loaded, set_up_logs
    from ingest.formats.times import moment_of
    from ingest.service.rewriting.rollback import RollbackResult, RowsOverlapError, plan_rollback, roll_back
    from sinks.rewriting.rolled_back import Interval

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    interval = Interval(moment_of(from_), moment_of(to))
    result = plan_rollback(configuration, catalog, table, interval)
    if not dry_run:
        if strict and result.counts.overlapping:
            _show(out, table, result, is_dry_run=True)
            raise RowsOverlapError.of(result.counts.overlapping)
        if not yes and result.counts.deleted:
            confirm_deletion(f"permanently delete {counted(result.counts.deleted, 'update row')}?")
        by_service = _by_service(out, configuration, table, interval, is_strict=strict)
        if by_service is None:
            result = roll_back(configuration, catalog, table, interval, is_strict=strict)
        else:
            result = RollbackResult.from_json(by_service.follow(lambda *_progress: None))
    _show(out, table, result, is_dry_run=dry_run)
    if strict and dry_run and result.counts.overlapping:
        raise typer.Exit(1)


def _by_service(
    out: Output, configuration: "Configuration", table: str, interval: "Interval", *, is_strict: bool
) -> "FollowedJob | None":
    """The rollback by the running service, if only that may write the store; else None."""
    from ingest.service.rewriting.rollback import RollbackRequest

    if configuration.stores[configuration.tables[table].store].settings.own_folder is None:
        return None
    request = RollbackRequest(first_ms=interval.first_ms, last_ms=interval.last_ms, is_strict=is_strict)
    return requested(
        out,
        configuration,
        lambda client: client.work_on_table(table, "rollback", request.model_dump()),
        does="rolls the table back",
        resumes="run the same command again; it deletes what remains",
    )


def _show(out: Output, table: str, result: "RollbackResult", *, is_dry_run: bool) -> None:
    from ingest.formats.times import moment

    if out.is_json:
        out.json({"table": table, "dry_run": is_dry_run} | result.to_json())
        return
    for example in result.counts.examples:
        out.note(f"not rolled back: {example}", "yellow")
    if result.counts.overlapping > len(result.counts.examples):
        out.note(f"and {result.counts.overlapping - len(result.counts.examples):,} more", "yellow")
    for first_ms, last_ms in result.rolled_back:
        verb = "would be" if is_dry_run else "are"
        out.line(f"batch times from {moment(first_ms)} to {moment(last_ms)} {verb} rolled back")
    verb = "would be deleted" if is_dry_run else "deleted"
    if not result.counts.deleted:
        none = f'no update row of "{table}" that can be deleted has a batch time in this interval'
        out.note(f"{none}; 'ingest history' shows them", "yellow")
        return
    keys = counted(result.counts.original_rows, "row")
    out.done(f"{counted(result.counts.deleted, 'update row')} of {keys} {verb}")

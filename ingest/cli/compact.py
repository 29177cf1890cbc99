"""`ingest compact`: merge the updates of a table with deferred updates."""

from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.by_service import OwnProcessOption, requested
from ingest.cli.command import FileArgument, TableArgument
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.jobs.client import FollowedJob
    from ingest.service.rewriting.compaction import CompactionResult
    from ingest.service.rewriting.compaction_request import CompactionRequest


def compact(
    out: Output,
    file: FileArgument,
    table: TableArgument,
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Leave updates that are younger than this, before the table's mark; an hour by default.",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Merge updates within windows of this length, the shortest interval that can be rolled back later; an "
            "hour by default.",
        ),
    ] = None,
    own_process: OwnProcessOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be merged; write nothing.")] = False,
) -> None:
    """
    Merge the updates of each row of a table into one row for each window, and delete those that it covers.

    Reads return the same values before, during and after a compaction. Only updates of micro-batches that are complete
    are merged. It can be interrupted and run again. A table is compacted or rolled back by one process at a time; a
    second one is refused with exit code 4.

    If the service runs, it compacts the table beside its pipelines; interrupting the command (Ctrl-C) cancels it.

    Example: ingest compact pipeline.yaml counters --older-than 10m --window 1h
    """
    from ingest.cli.loading import loaded, set_up_logs
    from ingest.durable import private_files
    from ingest.service.rewriting.compaction import CompactionResult
    from ingest.service.rewriting.compaction_host import compact_alone
    from ingest.service.rewriting.compaction_request import CompactionRequest

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    request = CompactionRequest.from_durations(older_than, window)
    with private_files(), out.progress("update rows", total=None) as advance:
        by_service = None if dry_run or own_process else _by_service(out, configuration, table, request)
        if by_service is None:
            result = compact_alone(
                configuration,
                catalog,
                table,
                request,
                is_dry_run=dry_run,
                on_progress=lambda result, _done, _total: advance(result.counts.update_rows),
                on_blocked=out.blocked,
            )
        else:
            found = by_service.follow(
                lambda content, _done, _total: advance(content["update_rows"]),
                out.state,
            )
            result = CompactionResult.from_json(found)
    _show(out, file, table, result, is_dry_run=dry_run)


def _by_service(
    out: Output, configuration: "Configuration", table: str, request: "CompactionRequest"
) -> "FollowedJob | None":
    """The compaction by the running service; None, with a note, if no service runs."""
    from ingest.service.rewriting.compaction import table_with_updates

    table_with_updates(configuration, table)
    return requested(
        out,
        configuration,
        lambda client: client.work_on_table(table, "compact", request.model_dump()),
        does="compacts the table",
        resumes="what is merged stays merged; run the same command again",
    )


def _show(out: Output, file: str, table: str, result: "CompactionResult", *, is_dry_run: bool) -> None:
    from ingest.formats.times import moment

    if out.is_json:
        found = {name: value for name, value in result.to_json().items() if name != "by_update_rows"}
        out.json({"table": table, "dry_run": is_dry_run} | found)
        return
    if result.bound_ms is None:
        out.note(f'table "{table}" has no complete micro-batch yet, so nothing is compacted', "yellow")
        return
    counts = result.counts
    out.table(
        ("#original rows", "#update rows", "#merged rows written", "#replaced", "#rows per key p50", "p99"),
        [
            tuple(
                f"{number:,}"
                for number in (
                    counts.original_rows,
                    counts.update_rows,
                    counts.written,
                    counts.replaced,
                    counts.rows_per_key(0.5),
                    counts.rows_per_key(0.99),
                )
            )
        ],
    )
    for example in counts.examples:
        out.note(f"not merged: {example}", "yellow")
    verb = "would be replaced" if is_dry_run else "replaced"
    out.done(f"{counted(counts.replaced, 'update row')} up to {moment(result.bound_ms)} {verb}")
    if is_dry_run and counts.replaced:
        out.next(f"ingest compact {file} {table}")

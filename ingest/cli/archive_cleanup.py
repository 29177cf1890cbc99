"""`ingest archive cleanup`: remove superseded batches."""

from typing import Annotated

import typer

from ingest.amounts import counted, size
from ingest.cli.archive import ArchiveTableArgument, DtOption, opened
from ingest.cli.command import FileArgument
from ingest.cli.output import Output


def cleanup(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: ArchiveTableArgument,
    *,
    dt: DtOption = None,
    older_than: Annotated[
        str,
        typer.Option("--older-than", metavar="DURATION", help="How long ago a batch must have stopped being current."),
    ] = "7d",
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Also remove batches whose re-run has failed, unchanged for that time.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; remove nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Allow less than 24h: a query may lose files.")] = False,
) -> None:
    """
    Remove complete batches that stopped being current long ago.

    A batch stays if it is current, if the metastore of the file names it, if a re-run writes it, or if "ingest archive
    keep" keeps it. Names that this product has not written are reported as foreign and never removed.

    Example: ingest archive cleanup pipeline.yaml customer --older-than 7d --dry-run
    """
    from ingest.api import ConfigError
    from ingest.clock import now_ms
    from ingest.formats.durations import milliseconds
    from ingest.service.archive.cleanup import CleanupRequest, clean_up_table
    from sinks.archive.cleanup import MIN_AGE_MS

    age_ms = milliseconds("--older-than", older_than)
    if age_ms < MIN_AGE_MS and not force:
        raise ConfigError(
            f"--older-than {older_than} is less than 24h: a query that started before the switch may still read",
            hint="add --force if none does",
        )
    configuration, _, archived = opened(out, file, table)

    def show(path: str) -> None:
        if out.is_json:
            out.json({"path": path, "removed": not dry_run})
        else:
            out.line(path)

    request = CleanupRequest(dt, age_ms, incomplete=incomplete, is_dry_run=dry_run)
    result = clean_up_table(configuration, archived, request, now_ms=now_ms(), on_file=show)
    if out.is_json:
        out.json(
            {
                "table": table,
                "dry_run": dry_run,
                "batches": result.batches,
                "bytes": result.size_bytes,
                "kept": dict(result.kept),
                "foreign": result.foreign,
            }
        )
        return
    for path in result.foreign:
        out.note(f"foreign: {path}", "yellow")
    for path, reason in sorted(result.kept.items()):
        out.note(f"kept: {path}: {reason}", "dim")
    verb = "would be removed" if dry_run else "removed"
    out.done(f"{counted(result.batches, 'batch', 'batches')} {verb}, {size(result.size_bytes)}")
    if dry_run and result.batches:
        given = [f"--older-than {older_than}", *([f"--dt {dt}"] if dt else []), *(["--incomplete"] * incomplete)]
        out.next(" ".join(["ingest archive cleanup", file, table, *given, *(["--force"] * force)]))

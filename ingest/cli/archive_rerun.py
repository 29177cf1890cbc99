"""`ingest archive rerun` and `join`: write a partition again."""

from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.cli.archive import ArchiveTableArgument, OneDtOption
from ingest.cli.command import FileArgument
from ingest.cli.output import Output, counts_of

ExclusiveOption = Annotated[
    bool, typer.Option("--exclusive", help="Refuse to run if another process writes a batch of the partition.")
]


def rerun(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileArgument,
    table: ArchiveTableArgument,
    *,
    dt: OneDtOption,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Timestamp of the first records; by default all that the topics have."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="TIME", help="Only records before this timestamp.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="No cleanup removes the new batch.")] = False,
    exclusive: ExclusiveOption = False,
) -> None:
    """
    Write a partition again: read the topics, run the pipeline as it is now, and make the new batch current.

    The older batch stays until a cleanup. The service may run: it writes to both batches meanwhile, so each event is
    in the new one once. Readers see old rows or new ones, never both. Late events are accepted.

    Records that the topics no longer have are missing in the new batch: compare the counts, and go back with "ingest
    archive point".

    Example: ingest archive rerun pipeline.yaml customer --dt 20151210
    """
    from ingest.cli.loading import loaded
    from ingest.cli.run import set_up_logs
    from ingest.durable import private_files
    from ingest.formats.times import moment_of
    from ingest.receipt import Counts
    from ingest.service.archive_rerun import ArchiveRerun, RerunRequest
    from ingest.service.archive_sql import current_paths, follow
    from ingest.service.archived_tables import archived_table

    configuration, catalog = loaded(out, file)
    set_up_logs(configuration, is_watched=True)
    archived = archived_table(configuration, table)
    start_ms, end_ms = (None if each is None else moment_of(each) for each in (from_, to))
    request = RerunRequest(dt, start_ms, end_ms, exclusive=exclusive, is_kept=keep)
    run = ArchiveRerun(configuration, catalog, archived, request)
    with private_files(), out.progress("records") as advance:

        def show(counts: Counts) -> None:
            advance(counts.records)

        result = run.run(on_progress=show, on_wait=lambda reason: out.note(f"waits for {reason}", "dim"))
    if out.is_json:
        out.json(
            {
                "partition": dt,
                "batch": result.batch_id,
                "before": result.before,
                "current": result.is_current,
                "records": result.counts.records,
                "rows": result.rows,
                "dead_lettered": dict(result.counts.dead_lettered),
            }
        )
    if result.counts.dead_lettered:
        out.note(f"not in the batch: {counts_of(result.counts.dead_lettered)}", "yellow")
    if not result.is_current:
        out.done(f"{counted(result.rows, 'row')} in batch {result.batch_id}; a newer re-run is current")
        return
    follow(configuration, archived, current_paths(archived, dt))
    out.done(f"{counted(result.rows, 'row')} in batch {result.batch_id}, which is current")
    out.next(f"ingest archive history {file} {table} --dt {dt}")

"""`ingest archive rerun` and `ingest archive join`: write a partition into a new batch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.archive import ArchiveTableArgument, OneDtOption, opened
from ingest.cli.command import FileArgument
from ingest.cli.output import Output, counts_of

if TYPE_CHECKING:
    from ingest.config.model import Configuration
    from ingest.service.archive.join import JoinResult
    from ingest.service.archive.rerun import RerunResult
    from ingest.service.archived_tables import ArchivedTable

KeepOption = Annotated[bool, typer.Option("--keep", help="No cleanup removes the new batch.")]
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
    keep: KeepOption = False,
    exclusive: ExclusiveOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Allow columns with other types than in the other partitions: readers fail until all are written "
            "again.",
        ),
    ] = False,
) -> None:
    """
    Write a partition again: read the topics, run the pipeline as it is now, and make the new batch current.

    The older batch stays until a cleanup. The service may run: it writes to both batches meanwhile, so each event is in
    the new one once. Readers see old rows or new ones, never both. Late events are accepted.

    Rows of the current batch whose records are not read again are copied, for instance if the topics no longer have
    them. If events of rows fail now, the command ends with an error, and the current batch stays.

    Example: ingest archive rerun pipeline.yaml customer --dt 20151210
    """
    from ingest.durable import private_files
    from ingest.formats.times import moment_of
    from ingest.service.archive.rerun import ArchiveRerun, RerunRequest

    configuration, catalog, archived = opened(out, file, table)
    start_ms, end_ms = (None if each is None else moment_of(each) for each in (from_, to))
    request = RerunRequest(dt, start_ms, end_ms, exclusive=exclusive, is_kept=keep, other_types=force)
    run = ArchiveRerun(configuration, catalog, archived, request)
    with _interruptible(), private_files(), out.progress("records") as advance:
        result = run.run(on_records=advance, on_wait=lambda reason: out.note(f"waits for {reason}", "dim"))
    counts = result.counts
    if out.is_json:
        out.json(
            {
                **_batch(dt, result),
                "records": counts.records,
                "rows": counts.stored,
                "replaced": result.replaced,
                "copied": result.copied,
                "dropped": dict(counts.dropped),
                "failed": dict(counts.dead_lettered),
                "failed_without_dead_letter": len(result.without_dead_letter),
            }
        )
    else:
        numbers = (counts.records, counts.stored, result.replaced, result.copied)
        out.table(
            ("#records read", "#rows written", "#rows replaced", "#rows copied"),
            [tuple(f"{number:,}" for number in numbers)],
        )
        for what, found in (("dropped", counts.dropped), ("failed", counts.dead_lettered)):
            if found:
                out.line(f"{what}: {counts_of(found)}")
    for (topic, partition, offset), reason in list(result.without_dead_letter.items())[:1]:
        what = f"{counted(len(result.without_dead_letter), 'failed record')} without a row and without a dead letter"
        out.note(f"{what}, first {topic}/{partition}/{offset}: {reason}", "yellow")
    if not counts.stored and not result.copied:
        out.note(f"no event is of the partition {dt}", "yellow")
    out.done(_followed(configuration, archived, dt, result))
    out.next(f"ingest archive history {file} {table} --dt {dt}")


def join(
    out: Output,
    file: FileArgument,
    table: ArchiveTableArgument,
    *,
    dt: OneDtOption,
    keep: KeepOption = False,
    exclusive: ExclusiveOption = False,
) -> None:
    """
    Write the rows of a partition into few large files, and make this batch current.

    The older batch stays until a cleanup. The service may run. Readers see the rows in the old files or in the new
    ones, never both. A partition that is one file already is left as it is.

    Example: ingest archive join pipeline.yaml customer --dt 20151210
    """
    from ingest.durable import private_files
    from ingest.service.archive import join as archive_join

    configuration, _, archived = opened(out, file, table)
    with _interruptible(), private_files(), out.progress("rows") as advance:
        result = archive_join.join(
            configuration,
            archived,
            dt,
            exclusive=exclusive,
            is_kept=keep,
            on_rows=advance,
            on_wait=lambda reason: out.note(f"waits for {reason}", "dim"),
        )
    copied = result.copied
    if out.is_json:
        out.json(
            {
                **_batch(dt, result),
                "rows": copied.rows,
                "files_read": copied.files,
                "files_written": copied.written,
            }
        )
    rows = f"{counted(copied.rows, 'row')} of {counted(copied.files, 'file')} in {counted(copied.written, 'file')}"
    what = rows if result.has_joined else f"{counted(copied.files, 'file')} already; nothing to join"
    out.done(f"{what}; {_followed(configuration, archived, dt, result)}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Tell a user who presses Ctrl-C what the command leaves."""
    try:
        yield
    except KeyboardInterrupt:
        reason = "interrupted; the older batch stays current, unless the new one is already"
        raise KeyboardInterrupt(reason) from None


def _batch(dt: str, result: "RerunResult | JoinResult") -> dict[str, object]:
    """The batch that a command has written, as it prints it in JSON."""
    return {"partition": dt, "batch": result.batch_id, "before": result.before}


def _followed(
    configuration: "Configuration", archived: "ArchivedTable", dt: str, result: "RerunResult | JoinResult"
) -> str:
    """Have the SQL location follow the batch that has become current, and return its state as text."""
    from ingest.service.archive.sql import follow_current

    follow_current(configuration, archived, dt)
    return f"batch {result.batch_id} is current"

"""`attr2hbase admin dead-letters purge`: delete dead letters."""

from collections import Counter
from typing import Annotated

import typer

from ingest.amounts import counted
from ingest.api import ConfigError
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.confirmation import confirm_deletion
from ingest.cli.dead_letter_queue import (
    CodesOption,
    ComponentsOption,
    chosen_pipeline,
    counting,
    opened_queue,
    selection_of,
)
from ingest.cli.output import Output
from ingest.dead_letters.queue import Entry
from ingest.dead_letters.selecting import filters, none_selected
from ingest.service.dead_letters.purge import acknowledged
from ingest.service.dead_letters.purge import purge as delete


def purge(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    component: ComponentsOption = None,
    replayed: Annotated[
        bool, typer.Option("--replayed", help="Only those that a replay has stored or dropped.")
    ] = False,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches before this time.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them and delete nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """
    Permanently delete dead letters that were replayed, or that are older than a time.

    Only for dead letters in files: those in a Kafka topic expire by its retention.

    Those of the micro-batch that is not acknowledged stay: it replaces them when it runs again. So do those that a
    replay has changed while the command asked. Refused while a replay of the pipeline runs.

    The blobs of large dead letters are released: a sweep deletes those that nothing else refers to. Refused while a
    service runs that has the store of these blobs open and only one process may write it.

    Example: attr2hbase admin dead-letters purge --replayed --before 2026-01-31
    """
    if not replayed and before is None:
        raise ConfigError("purge deletes only what is selected", hint="give --replayed, --before TIME, or both")
    selection = selection_of((), code, component, None, before, has_replayed=True)
    seen: Counter[str] = Counter()
    deleted = 0
    with opened_queue(out, file, pipeline, shows_records=False) as (configuration, catalog, queue):
        queue.remove(())  # refused by a queue that cannot delete, before all of it is read

        def is_selected(entry: Entry) -> bool:
            return selection.matches(entry) and (not replayed or entry.is_replayed)

        selected = [entry for entry in counting(queue.entries(), seen) if is_selected(entry)]
        if seen and not selected:
            flags = ["--replayed"] * replayed + ([] if before is None else [f"--before {before}"])
            out.note(none_selected(seen, [*filters(code, component), *flags]), "yellow")
        chosen = chosen_pipeline(configuration, pipeline)
        found = acknowledged(configuration, chosen, selected)
        if len(found) < len(selected):
            running = counted(len(selected) - len(found), "dead letter")
            out.note(f"not deleted, because their micro-batch is not acknowledged and runs again: {running}", "yellow")
        if not dry_run and found:
            if not yes:
                confirm_deletion(f"permanently delete {counted(len(found), 'dead letter')}?")
            deleted = delete(configuration, catalog, chosen, queue, found, is_selected)
            if deleted < len(found):
                changed = counted(len(found) - deleted, "dead letter")
                out.note(f"not deleted, because a replay or purge has changed them meanwhile: {changed}", "yellow")
    out.plain({"selected": len(found), "deleted": deleted})
    shown = f"{counted(len(found), 'dead letter')} would be" if dry_run else counted(deleted, "dead letter")
    out.done(f"{shown} deleted")

"""`attr2hbase dead-letters keep`: dead letters that no replay retries."""

from collections import Counter

from ingest.amounts import counted
from ingest.api import ConfigError
from ingest.cli.command import FileOption, PipelineOption
from ingest.cli.dead_letter_queue import (
    CodesOption,
    ComponentsOption,
    PositionsArgument,
    SinceOption,
    UntilOption,
    chosen_pipeline,
    counting,
    opened_queue,
    pipeline_words,
    selection_of,
)
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.clock import now_ms
from ingest.dead_letters.replay import require
from ingest.dead_letters.selecting import filters, none_selected
from ingest.service.dead_letters.keep import keep as mark
from ingest.service.dead_letters.purge import acknowledged


def keep(  # noqa: PLR0913 - the options of the command
    out: Output,
    file: FileOption,
    positions: PositionsArgument = None,
    *,
    pipeline: PipelineOption = None,
    code: CodesOption = None,
    component: ComponentsOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
) -> None:
    """
    Keep dead letters that are not worth a correction: a replay leaves them, and "list" shows them as kept.

    A replay with their positions, or with --all, runs them again. "purge" deletes them with --before. Refused while a
    replay of the pipeline runs, or one into deferred updates or a change feed is interrupted.

    Example: attr2hbase dead-letters keep --code bad_json --until 2026-01-31
    """
    given = filters(code, component, since=since, until=until, positions=positions)
    if not given:
        raise ConfigError(
            "keep marks only what is selected", hint="give positions, --code, --component, --since or --until"
        )
    selection = selection_of(positions or (), code, component, since, until, has_replayed=False)
    seen: Counter[str] = Counter()
    with opened_queue(out, file, pipeline, shows_records=False) as (configuration, _, queue):
        require(queue, selection.ids)
        selected = list(filter(selection.matches, counting(queue.entries(), seen)))
        if seen and not selected:
            out.note(none_selected(seen, given, "; those that were replayed need no mark"), "yellow")
        chosen = chosen_pipeline(configuration, pipeline)
        found = acknowledged(configuration, chosen, selected)
        marked = mark(configuration, chosen, queue, found, now_ms) if found else 0
        if marked < len(selected):
            rest = counted(len(selected) - marked, "dead letter")
            out.note(f"not kept, because their micro-batch runs again or a replay has changed them: {rest}", "yellow")
    out.plain({"selected": len(selected), "kept": marked})
    out.done(f"{counted(marked, 'dead letter')} kept")
    out.next(command_line(file, "dead-letters list", *pipeline_words(configuration, pipeline)))

"""What the commands of `ingest dead-letters` share: the queue of a pipeline, and the selection of dead letters."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted, counts_of
from ingest.cli import completion
from ingest.cli.output import Output

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Configuration, Pipeline
    from ingest.dead_letters.queue import DeadLetterQueue, Entry
    from ingest.dead_letters.replay import Selection

CodesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--code",
        metavar="CODE",
        help="Only dead letters with this error; may be repeated.",
        autocompletion=completion.codes,
    ),
]
PositionsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[POSITION]...", help="Only these; default: all selected ones.")
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches from this time on.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only dead letters of micro-batches before this time.")
]
ComponentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--component",
        metavar="NAME",
        help='Only dead letters of this component, as "list" shows it; may be repeated.',
    ),
]


@contextmanager
def opened_queue(
    out: Output, file: str, name: str | None, *, shows_records: bool
) -> "Iterator[tuple[Configuration, Catalog, DeadLetterQueue]]":
    """The configuration of a file, and the queue of one of its pipelines, which is closed after the block."""
    from ingest.cli.loading import loaded, note_missing_state, set_up_logs
    from ingest.config.options import DeadLetterTopic
    from ingest.service.dead_letters.queues import dead_letter_queue

    configuration, catalog = loaded(out, file, shows_records=shows_records)
    set_up_logs(configuration, is_watched=True)
    chosen = chosen_pipeline(configuration, name)
    if not isinstance(chosen.dead_letters.settings, DeadLetterTopic):
        note_missing_state(out, configuration)
    queue = dead_letter_queue(configuration, chosen)
    try:
        yield configuration, catalog, queue
    finally:
        queue.close()


def note_none_selected(out: Output, seen: Counter[str], options: Iterable[str], advice: str = "") -> None:
    """
    Say that dead letters exist and none of them is selected: an empty result would look as if no event had failed.

    Args:
        out: of the command.
        seen: code -> number of all dead letters.
        options: that select.
        advice: what else to try.
    """
    given = " ".join(options)
    existing = f"{counted(seen.total(), 'dead letter')} ({counts_of(seen)})"
    out.note(f"none of {existing} is selected{f' by {given}' if given else ''}{advice}", "yellow")


def filters(
    codes: list[str] | None,
    components: list[str] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    positions: list[str] | None = None,
) -> list[str]:
    """The positions and options that select dead letters, as they were given."""
    times = {"--since": since, "--until": until}
    return [
        *(positions or ()),
        *(f"--code {each}" for each in codes or ()),
        *(f"--component {each}" for each in components or ()),
        *(f"{name} {time}" for name, time in times.items() if time is not None),
    ]


def counting(entries: "Iterable[Entry]", codes: Counter[str]) -> "Iterator[Entry]":
    """The same entries; counts their codes as they pass."""
    for entry in entries:
        codes[entry.dead_letter.code] += 1
        yield entry


def target_of(file: str, configuration: "Configuration", pipeline: str | None) -> str:
    """The file, and the pipeline if the file has several, for a command."""
    from ingest.cli.loading import with_pipeline

    return with_pipeline(file, configuration, chosen_pipeline(configuration, pipeline).name)


def chosen_pipeline(configuration: "Configuration", name: str | None) -> "Pipeline":
    """The pipeline of a name; None for the only one."""
    from ingest.cli.loading import pipeline_of

    return pipeline_of(configuration, name)


def selection_of(
    positions: "tuple[str, ...] | list[str]",
    codes: list[str] | None,
    components: list[str] | None,
    since: str | None,
    until: str | None,
    *,
    has_replayed: bool,
    has_kept: bool = True,
) -> "Selection":
    """The selection by the options of a command."""
    from ingest.dead_letters.replay import Selection
    from ingest.formats.times import moment_of

    return Selection(
        ids=frozenset(positions),
        codes=frozenset(codes or ()),
        components=frozenset(components or ()),
        since_ms=None if since is None else moment_of(since),
        until_ms=None if until is None else moment_of(until),
        has_replayed=has_replayed,
        has_kept=has_kept,
    )

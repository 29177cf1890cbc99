"""What the commands of `attr2hbase dead-letters` share: the queue of a pipeline, and the selection of dead letters."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ingest.catalog import Catalog
from ingest.cli import completion
from ingest.cli.loading import loaded, note_missing_state, pipeline_of, set_up_logs, with_pipeline
from ingest.cli.output import Output
from ingest.config.model import Configuration, Pipeline
from ingest.config.options import DeadLetterTopic
from ingest.dead_letters.queue import DeadLetterQueue, Entry
from ingest.dead_letters.replay import Selection
from ingest.formats.times import moment_of
from ingest.service.dead_letters.queues import dead_letter_queue

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
) -> Iterator[tuple[Configuration, Catalog, DeadLetterQueue]]:
    """The configuration of a file, and the queue of one of its pipelines, which is closed after the block."""
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


def counting(entries: Iterator[Entry], codes: Counter[str], components: Counter[str] | None = None) -> Iterator[Entry]:
    """The same entries; counts their codes and their components as they pass."""
    for entry in entries:
        codes[entry.dead_letter.code] += 1
        if components is not None:
            components[entry.dead_letter.component] += 1
        yield entry


def pipeline_words(configuration: Configuration, pipeline: str | None) -> list[str]:
    """The option that names the pipeline in a suggested command, if the file has several."""
    return with_pipeline(configuration, chosen_pipeline(configuration, pipeline).name)


def chosen_pipeline(configuration: Configuration, name: str | None) -> Pipeline:
    """The pipeline of a name; None for the only one."""
    return pipeline_of(configuration, name)


def selection_of(
    positions: tuple[str, ...] | list[str],
    codes: list[str] | None,
    components: list[str] | None,
    since: str | None,
    until: str | None,
    *,
    has_replayed: bool,
    has_kept: bool = True,
) -> Selection:
    """The selection by the options of a command."""
    return Selection(
        ids=frozenset(positions),
        codes=frozenset(codes or ()),
        components=frozenset(components or ()),
        since_ms=None if since is None else moment_of(since),
        until_ms=None if until is None else moment_of(until),
        has_replayed=has_replayed,
        has_kept=has_kept,
    )

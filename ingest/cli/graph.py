"""`ingest graph`: pipelines as a picture."""

from enum import StrEnum
from typing import Annotated

import typer

from ingest.cli.command import FileArgument
from ingest.cli.output import Output


class Language(StrEnum):
    """What the picture is written in."""

    MERMAID = "mermaid"
    DOT = "dot"


def graph(
    out: Output,
    file: FileArgument,
    *,
    language: Annotated[
        Language, typer.Option("--format", help="mermaid for Markdown pages, dot for Graphviz.")
    ] = Language.MERMAID,
    pipeline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this pipeline; all of the file when left out.")
    ] = None,
) -> None:
    """
    Draw the pipelines of a file: source, steps with their conditions, sinks, tables, and dead letters.

    Example: ingest graph pipeline.yaml --format dot | dot -Tsvg > pipeline.svg
    """
    from ingest.cli import drawing
    from ingest.cli.loading import loaded, pipeline_of

    configuration, _ = loaded(file)
    chosen = configuration.pipelines.values() if pipeline is None else [pipeline_of(configuration, pipeline)]
    drawn = drawing.drawing_of(configuration, chosen)
    if out.is_json:
        out.json(drawing.plain(drawn))
        return
    out.raw(drawing.mermaid(drawn) if language is Language.MERMAID else drawing.dot(drawn))
    out.next(f"ingest explain {file}")

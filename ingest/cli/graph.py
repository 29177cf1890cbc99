"""`attr2hbase graph`: pipelines as a diagram."""

from enum import StrEnum
from typing import Annotated

import typer

from ingest.cli import completion
from ingest.cli.command import FileArgument
from ingest.cli.loading import loaded, pipeline_of
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.reference import drawing


class Language(StrEnum):
    """Language of the diagram."""

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
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only this pipeline; default: all of the file.",
            autocompletion=completion.pipelines,
        ),
    ] = None,
) -> None:
    """
    Draw the pipelines of a file: source, decorators with their conditions, sinks, tables, and dead letters.

    Example: attr2hbase graph --format dot | dot -Tsvg > pipeline.svg
    """
    configuration, _ = loaded(out, file)
    chosen = configuration.pipelines.values() if pipeline is None else [pipeline_of(configuration, pipeline)]
    drawn = drawing.drawing_of(configuration, chosen)
    if out.is_json:
        out.json(drawing.plain(drawn))
        return
    out.raw(drawing.mermaid(drawn) if language is Language.MERMAID else drawing.dot(drawn))
    out.next(command_line(file, "explain"))

"""Functions registered as typer commands, with the options that every command has."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from ingest.cli import completion
from ingest.cli.output import Format, Output

HELP = {"help_option_names": ["-h", "--help"]}

FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--output", help="How data is printed; with json each line of stdout is an object.", show_default="text"
    ),
]
PlainOption = Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="The pipeline file; - is stdin.")]
PipelineOption = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        metavar="NAME",
        help="Pipeline; optional if the file has one.",
        autocompletion=completion.pipelines,
    ),
]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="Name of the table.", autocompletion=completion.tables)
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FAMILY[:QUALIFIER]", help="Only these columns; repeat it, or separate them with commas."),
]
VersionsOption = Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of versions of each cell.")]
CellsFromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only cells from this timestamp on, as in 2026-01-31T12:00:00Z."),
]
CellsToOption = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only cells before this timestamp.")]

RawOption = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Show what is stored: bytes instead of values of the declared types, and the update rows of a table with "
        "deferred updates instead of merged ones.",
    ),
]
BytesOption = Annotated[
    bool, typer.Option("--raw", help="Show bytes instead of values of the types that `tables` declares.")
]

BlobsOption = Annotated[bool, typer.Option("--blobs", help="Show large values instead of the pointers to their blobs.")]


def command(function: Callable[..., None], words: str) -> TyperCommand:
    """
    The command of a function, whose docstring is the help text.

    Args:
        function: its first parameter is an Output; the others are arguments and options.
        words: of the command, with its group.
    """
    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    common = {
        "context": inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        "output": inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=FormatOption),
        "no_color": inspect.Parameter(
            "no_color", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=PlainOption
        ),
    }

    @functools.wraps(function)
    def run(*, context: typer.Context, output: Format | None, no_color: bool, **arguments: Any) -> None:
        printer = context.obj
        assert isinstance(printer, Output)  # noqa: S101 - for mypy: typer's contexts carry anything
        printer.choose(output, is_plain=no_color)
        try:
            function(printer, **arguments)
        except KeyboardInterrupt as interrupt:
            printer.note(str(interrupt) or "interrupted", "yellow")
            raise

    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    every = [*keywords, *common.values()]
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined] # inspect's own way to declare it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    del run.__wrapped__  # else typer reads the signature of the function
    help_text = unwrapped(inspect.getdoc(function) or "")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(words.rpartition(" ")[2], help=help_text, context_settings=HELP)(run)
    return cast("TyperCommand", typer.main.get_command(alone))


def unwrapped(text: str) -> str:
    """The text with each paragraph on one line, which typer breaks at the width of the terminal."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line or not lines or not lines[-1] or line.startswith("Example:"):
            lines.append(line)
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(lines)

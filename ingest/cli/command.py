"""Functions registered as typer commands, with the options that every command has."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from ingest.api.errors import ConfigError
from ingest.cli import completion
from ingest.cli.output import Format, Output
from ingest.cli.pipeline_file import USUAL, VARIABLE, command_line, file_of_words, found_file, is_file_name

HELP = {"help_option_names": ["-h", "--help"]}

FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--output", help="How data is printed; with json each line of stdout is an object.", show_default="text"
    ),
]
PlainOption = Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")]
NamedFileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help=f"The pipeline file; - is stdin. Without it ${VARIABLE}, else {USUAL} in the current folder.",
        show_default=False,
    ),
]
NamedFile = Annotated[str | None, "named"]
"""The pipeline file of a command that needs none: `-f FILE`; None without it."""
FileOption = Annotated[str, "found"]
"""The pipeline file: `-f FILE`, or the one that is found."""
FileArgument = Annotated[str, "argument"]
"""The pipeline file of a command about a file alone: an argument, or as `FileOption`."""
_FileArgument = Annotated[
    str | None, typer.Argument(metavar="[FILE]", help="The pipeline file, as with -f.", show_default=False)
]
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


def options_before(
    context: typer.Context, *, output: FormatOption = None, no_color: PlainOption = False, file: NamedFileOption = None
) -> None:
    """The options of every command, before its words or between them; `file_of_words` finds the file."""
    del file
    output_of(context).choose(output, is_plain=no_color)


def command(function: Callable[..., None], words: str) -> TyperCommand:
    """
    The command of a function, whose docstring is the help text.

    Args:
        function: its first parameter is an Output; the others are arguments and options.
        words: of the command, with its group.
    """
    _, *parameters = inspect.signature(function).parameters.values()
    kinds = (NamedFile, FileOption, FileArgument)
    of_file = next((each.annotation for each in parameters if each.annotation in kinds), None)
    parameters = [each for each in parameters if each.annotation != of_file]
    if of_file == FileArgument:
        parameters.insert(0, _optional("file_argument", _FileArgument))
    if of_file is not None:
        parameters.append(_optional("file", NamedFileOption))
    common = {
        "context": inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
        "output": inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=FormatOption),
        "no_color": inspect.Parameter(
            "no_color", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=PlainOption
        ),
    }

    @functools.wraps(function)
    def run(*, context: typer.Context, output: Format | None, no_color: bool, **arguments: Any) -> None:
        printer = output_of(context)
        printer.choose(output, is_plain=no_color)
        if of_file is not None:
            arguments.pop("file_argument", None)
            named = file_of_words(context)
            arguments["file"] = named if of_file == NamedFile else named or found_file()
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
    alone.command(words.rpartition(" ")[2], cls=_Command, help=help_text, context_settings=HELP)(run)
    return cast("TyperCommand", typer.main.get_command(alone))


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """
        Parse the words after the command.

        Raises:
            ConfigError: a pipeline file is the first argument of a command whose arguments are something else.
        """
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        is_option = any(each.name == "file" for each in self.params) and not any(
            "FILE" in (each.metavar or "") for each in arguments
        )
        if is_option and args and is_file_name(args[0]) and not ctx.resilient_parsing:
            file, *rest = args
            raise ConfigError(
                f'the pipeline file of "{ctx.command_path.partition(" ")[2]}" is an option, not the argument "{file}"',
                hint=f"write it as in '{command_line(file, ctx.command_path.partition(' ')[2], *rest)}'",
            )
        return super().parse_args(ctx, args)


def output_of(context: typer.Context) -> Output:
    """Where the command of a context prints."""
    assert isinstance(context.obj, Output)  # noqa: S101 - for mypy: typer's contexts carry anything
    return context.obj


def _optional(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def unwrapped(text: str) -> str:
    """The text with each paragraph on one line, which typer breaks at the width of the terminal."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line or not lines or not lines[-1] or line.startswith("Example:"):
            lines.append(line)
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(lines)

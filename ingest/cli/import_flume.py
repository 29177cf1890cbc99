"""`attr2hbase import-flume`: a pipeline file from a Flume configuration."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ingest.amounts import counted
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line

if TYPE_CHECKING:
    from ingest.flume import Imported

_STYLES = {"translated": "green", "replaced": "cyan", "left out": "yellow", "by hand": "red"}


def import_flume(
    out: Output,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="Data-flow specification of Flume 0.9, or properties of Flume 1; - is stdin."
        ),
    ] = None,
    *,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="Data-flow specification instead of a file.")] = None,
    target: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="Pipeline file to write; default: stdout."),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="Time zone of the Flume nodes; default: UTC, with a warning."),
    ] = None,
    ast: Annotated[
        bool, typer.Option("--ast", help="Show the syntax tree of a data-flow specification; nothing is written.")
    ] = False,
) -> None:
    """
    Write a pipeline file from a Flume configuration, and report what was translated, replaced and left out.

    The pipeline does what the original did; comments and the report name the differences. A part that must be written
    by hand appears as `not_imported`, which `attr2hbase validate` refuses. The file of -o is overwritten.

    Example: attr2hbase import-flume flume.conf -o pipeline.yaml --timezone Europe/Berlin
    """
    from ingest.catalog import Catalog
    from ingest.flume import import_flume as imported_of

    content, name = _content(file, text)
    if ast:
        _show_tree(out, content, name)
        return
    if timezone is not None:
        _check_zone(timezone)
    imported = imported_of(content, name, zone=timezone, lookup=Catalog())
    if target is not None:
        target.write_text(imported.yaml, encoding="utf-8")
    if out.is_json:
        out.json(_plain(imported, target))
        return
    if target is None:
        out.raw(imported.yaml)
    for entry in imported.entries:
        show = out.note if target is None else out.line
        show(str(entry), _STYLES[entry.outcome.value])
    out.problems(imported.report)
    if target is not None:
        by_hand = sum(entry.outcome.value == "by hand" for entry in imported.entries)
        rest = f", {by_hand} to write by hand" if by_hand else ""
        out.done(f"{target}: written, {counted(len(imported.entries), 'part')} of {name}{rest}")
        written = str(target)
        out.next(command_line(written, "validate"), command_line(written, "explain", "--events", "EVENTS.jsonl"))


def _content(file: str | None, text: str | None) -> tuple[str, str]:
    from ingest.api import ConfigError
    from ingest.cli.lines import content_of, shown

    if (file is None) is (text is None):
        raise ConfigError("import-flume needs a FILE or --text", hint="give one of the two")
    if file is None:
        return text or "", "<text>"
    try:
        return content_of(file).decode("utf-8-sig"), shown(file)
    except UnicodeDecodeError as error:
        raise ConfigError(f'"{shown(file)}" is not UTF-8 text: byte {error.start + 1}') from error


def _check_zone(zone: str) -> None:
    from ingest.api import ConfigError
    from ingest.expressions import zone_of

    try:
        zone_of(zone)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _show_tree(out: Output, content: str, name: str) -> None:
    from ingest.api import ConfigError, ConfigSyntaxError
    from ingest.flume import is_properties, plain, tree_of

    if is_properties(content):
        raise ConfigError("a properties file has no tree", hint="omit --ast")
    try:
        tree = tree_of(content, name)
    except ConfigSyntaxError as error:
        raise ConfigSyntaxError(error.message) from error  # without the excerpt of the source, for one line
    out.plain(plain(tree))
    out.line(tree.written())


def _plain(imported: "Imported", target: Path | None) -> dict[str, object]:
    return {
        "file": None if target is None else os.fspath(target),
        "yaml": imported.yaml,
        "report": [entry.to_json() for entry in imported.entries],
        "problems": imported.report.to_json(),
    }

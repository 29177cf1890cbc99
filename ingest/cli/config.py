"""`attr2hbase config`: a pipeline file after expansion, and the schema for editors."""

import os
from dataclasses import replace
from typing import Annotated

import orjson
import typer

from ingest.catalog import Catalog
from ingest.cli.command import FileArgument, NamedFile
from ingest.cli.loading import loaded
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line, named_file
from ingest.config import load_plugins
from ingest.config.show import effective_yaml
from ingest.reference.defaults import with_defaults
from ingest.reference.schema import json_schema


def show(
    out: Output,
    file: FileArgument,
    *,
    defaults: Annotated[
        bool,
        typer.Option(
            "--defaults",
            help="Include the defaults of omitted options. Some exclude each other, so the result may be invalid.",
        ),
    ] = False,
) -> None:
    """
    Show a pipeline file after include and expansion, secrets masked; for several files, with the place of each value.

    Example: attr2hbase config show --defaults
    """
    configuration, catalog = loaded(out, file)
    if defaults:
        configuration = replace(configuration, effective=with_defaults(configuration, catalog))
    if out.is_json:
        out.json(configuration.effective)
        return
    out.raw(effective_yaml(configuration))
    out.next(command_line(file, "validate"))


def schema(
    out: Output,
    argument: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Pipeline file whose `plugins` the schema includes.")
    ] = None,
    *,
    file: NamedFile = None,
) -> None:
    """
    Print the JSON Schema of pipeline files, for completion and checks in editors.

    Example: attr2hbase config schema pipeline.yaml > pipeline.schema.json
    """
    named = named_file(argument, file)
    plugins = () if named is None else load_plugins(named, env=os.environ, lookup=Catalog())
    found = json_schema(Catalog(plugins))
    if out.is_json:
        out.json(found)
        return

    out.raw(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
    out.next("# yaml-language-server: $schema=pipeline.schema.json   as the first line of a pipeline file")

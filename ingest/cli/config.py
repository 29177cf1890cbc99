"""`ingest config`: a pipeline file as it is understood, and the schema for editors."""

from ingest.cli.command import FileArgument
from ingest.cli.output import Output


def show(out: Output, file: FileArgument) -> None:
    """
    Show a pipeline file after include and expansion, secrets masked; with several files, where each value stands.

    Example: ingest config show pipeline.yaml
    """
    from ingest.cli.loading import loaded
    from ingest.config.show import effective_yaml

    configuration, _ = loaded(file)
    if out.is_json:
        out.json(configuration.effective)
        return
    out.raw(effective_yaml(configuration))
    out.next(f"ingest validate {file}")


def schema(out: Output) -> None:
    """
    Print the JSON Schema of pipeline files, for completion and checks in editors.

    Example: ingest config schema > pipeline.schema.json
    """
    from ingest.catalog import Catalog
    from ingest.config.schema import json_schema

    found = json_schema(Catalog())
    if out.is_json:
        out.json(found)
        return
    import orjson

    out.raw(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
    out.next("# yaml-language-server: $schema=pipeline.schema.json   as the first line of a pipeline file")

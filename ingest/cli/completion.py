"""
What a shell completes: names of components, of tables and pipelines of the file, and codes of errors.

A file with errors, or with variables that the shell does not have, has no names: the command would say why.
"""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ingest.config.model import Configuration


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """The tables that the file declares, or that its sinks name."""
    configuration = _configuration(context)
    if configuration is None:
        return []
    sinks = [sink.settings for pipeline in configuration.pipelines.values() for sink in pipeline.sinks]
    return _beginning(incomplete, (*configuration.tables, *(sink.fixed_table or "" for sink in sinks)))


def archived_tables(context: typer.Context, incomplete: str) -> list[str]:
    """The tables of the sinks `archive` of the file."""
    from sinks.archive.sink import ArchiveSettings

    configuration = _configuration(context)
    if configuration is None:
        return []
    sinks = [sink.settings for pipeline in configuration.pipelines.values() for sink in pipeline.sinks]
    return _beginning(incomplete, (sink.table for sink in sinks if isinstance(sink, ArchiveSettings)))


def pipelines(context: typer.Context, incomplete: str) -> list[str]:
    """The pipelines of the file."""
    configuration = _configuration(context)
    return [] if configuration is None else _beginning(incomplete, configuration.pipelines)


def pages(incomplete: str) -> list[str]:
    """What `ingest describe` has a page about."""
    from ingest.catalog import COMPONENT_TYPES, Catalog
    from ingest.expressions import FUNCTIONS
    from ingest.reference.options import configuration_sections

    catalog = Catalog()
    components = (name for component_type in COMPONENT_TYPES for name in catalog.names(component_type))
    sections = (section.key for section in configuration_sections())
    return _beginning(incomplete, sorted((*components, *sections, *FUNCTIONS, "error", "expressions")))


def codes_of_page(context: typer.Context, incomplete: str) -> list[str]:
    """The codes of errors, after `ingest describe error`."""
    return codes(incomplete) if context.params.get("name") == "error" else []


def codes(incomplete: str) -> list[str]:
    """The codes of errors."""
    from ingest.reference.error_pages import error_pages

    return _beginning(incomplete, (page.code for page in error_pages()))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name and name.startswith(incomplete)]


def _configuration(context: typer.Context) -> "Configuration | None":
    """The configuration of the file that is on the command line before the word."""
    from ingest.api import IngestError
    from ingest.catalog import Catalog
    from ingest.config import load

    # where the word is the value of an option, typer has not assigned the arguments
    words = [word for word in context.args if not word.startswith("--")]
    file = context.params.get("file") or next(iter(words), None)
    if not file or file == "-":  # the shell waits, and stdin is the terminal
        return None
    try:
        return load(file, env=os.environ, lookup=Catalog())
    except IngestError:  # the command itself reports it
        return None

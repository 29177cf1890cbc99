"""
What a shell completes: names of components, of tables, pipelines and sinks of the file, and codes of errors.

The shell asks while the user types, so nothing of the file is run: no plugin, and no command that prints secrets.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import typer

from ingest.cli.pipeline_file import file_of_words, found_file, is_file_name

if TYPE_CHECKING:
    from ingest.config.declared_names import DeclaredNames

T = TypeVar("T")


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """The tables that the file declares, or that its sinks name."""
    names = _names(context)
    return [] if names is None else _beginning(incomplete, names.tables)


def archived_tables(context: typer.Context, incomplete: str) -> list[str]:
    """The tables of the sinks `archive` of the file."""
    names = _names(context)
    return [] if names is None else _beginning(incomplete, names.archived_tables)


def pipelines(context: typer.Context, incomplete: str) -> list[str]:
    """The pipelines of the file."""
    names = _names(context)
    return [] if names is None else _beginning(incomplete, names.pipelines)


def sinks(context: typer.Context, incomplete: str) -> list[str]:
    """The sinks of the pipelines of the file."""
    from ingest.config.declared_names import declared_sinks

    return _beginning(incomplete, _read(context, declared_sinks) or ())


def pages(incomplete: str) -> list[str]:
    """What `attr2hbase describe` has a page about."""
    from ingest.catalog import COMPONENT_TYPES, Catalog
    from ingest.expressions import FUNCTIONS
    from ingest.reference.options import configuration_sections

    catalog = Catalog()
    components = (name for component_type in COMPONENT_TYPES for name in catalog.names(component_type))
    sections = (section.key for section in configuration_sections())
    return _beginning(incomplete, sorted((*components, *sections, *FUNCTIONS, "error", "expressions")))


def second_words_of_page(context: typer.Context, incomplete: str) -> list[str]:
    """The codes of errors, after `attr2hbase describe error`; the components of a type, after `describe store`."""
    from ingest.catalog import SINGULAR, Catalog

    first = context.params.get("name")
    types = [component_type for component_type, singular in SINGULAR.items() if singular == first]
    if types:
        return _beginning(incomplete, Catalog().names(types[0]))
    return codes(incomplete) if first == "error" else []


def codes(incomplete: str) -> list[str]:
    """The codes of errors."""
    from ingest.reference.error_pages import error_pages

    return _beginning(incomplete, (page.code for page in error_pages()))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name and name.startswith(incomplete)]


def _names(context: typer.Context) -> "DeclaredNames | None":
    """The names of the file of the command; None without a file that can be read."""
    from ingest.config.declared_names import declared_names

    return _read(context, declared_names)


def _read(context: typer.Context, read: Callable[[str, Mapping[str, str]], T]) -> T | None:
    """What is read of the file of the command; None without a file that can be read."""
    from ingest.api import ConfigError, NotFoundError

    # where the word is the value of an option, typer has not assigned the arguments
    argument = next(filter(is_file_name, context.args), None)
    with suppress(ConfigError, NotFoundError):  # the command itself reports it
        return read(file_of_words(context) or argument or found_file(), os.environ)
    return None

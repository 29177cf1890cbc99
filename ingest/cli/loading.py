"""Opening a configuration with its log, one of its pipelines, or a store for reading; used by several commands."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.api import ConfigError, NotFoundError, Store
from ingest.api.notation import shown_start
from ingest.catalog import SINGULAR, Catalog
from ingest.cli.output import Output
from ingest.cli.pipeline_file import command_line
from ingest.config import load

if TYPE_CHECKING:
    from ingest.api.table_reader import TableReader
    from ingest.config.model import Configuration, Pipeline
    from ingest.formats.column_types import ColumnTypes
    from ingest.observe.log_level import LogLevel

RAW = "raw"
"""An option of a read that shows any table as it is stored: update rows are not merged, and values are bytes."""


def loaded(out: Output, file: str, *, shows_records: bool = False) -> "tuple[Configuration, Catalog]":
    """
    A checked pipeline file and its catalog; its secrets are masked in all later output.

    Args:
        out: of the command.
        file: `-` for stdin.
        shows_records: stdout shows stored cells and records, which are not masked.

    Raises:
        ConfigError: it is invalid; the report has all problems.
        NotFoundError: there is no such file.
    """
    configuration = load(file, env=os.environ, lookup=Catalog())
    out.hide_secrets(configuration.masks.hide, in_data=not shows_records)
    return configuration, Catalog(configuration.plugins)


def both_loaded(
    out: Output, old: str, new: str, *, shows_records: bool = False
) -> "list[tuple[Configuration, Catalog]]":
    """Two files as by `loaded`; the secrets of both are masked in all later output."""
    both = [loaded(out, old, shows_records=shows_records), loaded(out, new, shows_records=shows_records)]
    masks = both[0][0].masks
    masks.include(both[1][0].masks)
    out.hide_secrets(masks.hide, in_data=not shows_records)
    return both


def set_up_logs(configuration: "Configuration", *, is_watched: bool, level: "LogLevel | None" = None) -> None:
    """
    Set up the log as configured, with secrets masked; on a terminal only warnings and errors.

    Args:
        configuration: has the format and the level.
        is_watched: a user sees the log on a terminal.
        level: of an option of the command, in place of these levels.
    """
    from ingest.observe.log_level import LogLevel
    from ingest.observe.logs import LogFormat, set_up

    log = configuration.service.log
    usual = LogLevel(log.level)
    if is_watched and usual.number < LogLevel.WARNING.number:
        usual = LogLevel.WARNING
    set_up(level=level or usual, log_format=LogFormat(log.format), mask=configuration.masks.hide)


def used_plugins(configuration: "Configuration", catalog: Catalog) -> list[dict[str, str]]:
    """Components of a file that plugins provide: type, name and provider of each, sorted."""
    components = [("stores", store.kind) for store in configuration.stores.values()]
    for pipeline in configuration.pipelines.values():
        components.append(("sources", pipeline.source.kind))
        components += [("decorators", decorator.kind) for decorator in pipeline.decorators]
        components += [("sinks", sink.kind) for sink in pipeline.sinks]
    found = ((*component, catalog.entry(*component).provider) for component in sorted(set(components)))
    return [
        {"type": component_type, "name": name, "provider": provider}
        for component_type, name, provider in found
        if provider
    ]


def print_plugins(out: Output, configuration: "Configuration", catalog: Catalog) -> None:
    """Print which components of a file plugins provide; text mode only."""
    if not out.is_json:
        for component in used_plugins(configuration, catalog):
            out.note(f'{SINGULAR[component["type"]]} "{component["name"]}" is from {component["provider"]}', "dim")


def pipeline_of(
    configuration: "Configuration", name: str | None, *, how: str = "choose one with --pipeline NAME"
) -> "Pipeline":
    """
    The pipeline of this name, or the only one.

    Args:
        configuration: has the pipelines.
        name: None for the only one.
        how: the hint if there are several: how the command takes the name.

    Raises:
        NotFoundError: there is none of this name.
        ConfigError: there are several, and none was named.
    """
    pipelines = configuration.pipelines
    if name is not None:
        return configuration.pipeline(name)
    if len(pipelines) == 1:
        return next(iter(pipelines.values()))
    known = ", ".join(f'"{known}"' for known in pipelines)
    raise ConfigError(f"there are {len(pipelines)} pipelines: {known}", hint=how)


def to_run(file: str, configuration: "Configuration", beside: str = "reload", *, alone: str = "run --once") -> str:
    """
    The command after which a file runs as it is now.

    Args:
        file: of the command.
        configuration: of the file.
        beside: the words of the command if a service runs.
        alone: the same if none runs.
    """
    from ingest.service.endpoint.address import ServiceAddress

    return command_line(file, beside if ServiceAddress(configuration.local_dir).has_service else alone)


def with_pipeline(configuration: "Configuration", pipeline: str) -> list[str]:
    """The option that names a pipeline in a suggested command, if the file has several."""
    return [] if len(configuration.pipelines) == 1 else ["--pipeline", pipeline]


class OpenTable(NamedTuple):
    """
    A table that is open for reading.

    Attributes:
        store: of the table.
        reader: of its rows.
        types: with which its values are shown.
        configuration: of the file.
    """

    store: Store[Any]
    reader: "TableReader"
    types: "ColumnTypes"
    configuration: "Configuration"


@contextmanager
def reading(
    out: Output,
    file: str,
    table: str,
    *,
    known: "tuple[Configuration, Catalog] | None" = None,
    store: str | None = None,
    asked: Collection[str] = (),
) -> Iterator[OpenTable]:
    """
    A table, open for reading; a service may write to it meanwhile.

    Args:
        out: of the command.
        file: of the pipeline.
        table: its name.
        known: the file as `loaded`, by a command that has done it.
        store: name of its store; None for that which the file says.
        asked: options of features, as in `ReaderPlace`. With `raw`, which any table may have, values are bytes.

    Raises:
        ConfigError: the table lacks the feature of an option.
        NotFoundError: there is no such table.
        UpdatesDifferError: the table has deferred updates, and the file declares none, or others.
    """
    from ingest.api.table_reader import ReaderPlace
    from ingest.formats.column_types import AS_BYTES
    from ingest.plan.features import open_reader, planned_to_read, recorded_of

    configuration, catalog = known or loaded(out, file, shows_records=True)
    name = configuration.store_of_table(table) if store is None else store
    with _opened(configuration, catalog, file, table, name) as opened:
        place = ReaderPlace(opened, table, recorded_of(opened, table), frozenset(asked))
        reader = open_reader(place, planned_to_read(configuration, name, table, catalog), without_effect={RAW})
        _warn_of_rows_outside(out, file, table, opened, place.recorded.buckets)
        types = AS_BYTES if RAW in asked else configuration.column_types(table)
        yield OpenTable(opened, reader, types, configuration)


@contextmanager
def _opened(
    configuration: "Configuration", catalog: Catalog, file: str, table: str, name: str
) -> "Iterator[Store[Any]]":
    """The store of an existing table, open for reading."""
    from ingest.plan.stores import missing_table, reading_store

    component = configuration.stores[name]
    with reading_store(component, catalog) as store:
        tables = store.tables()
        if table not in tables:
            if table in configuration.tables and not component.settings.creates_tables:
                raise NotFoundError(
                    f'there is no table "{table}"', hint=f"create it: '{command_line(file, 'table apply')}'"
                )
            creates = "run --once" if component.settings.creates_tables else "table apply"
            empty = f"the store has no tables yet: run '{command_line(file, creates)}'"
            raise missing_table(table, tables, if_empty=empty)
        yield store


def _warn_of_rows_outside(out: Output, file: str, table: str, store: "Store[Any]", buckets: int | None) -> None:
    """Warn that a salted table has rows in none of its buckets; one short scan."""
    from sinks.rowkeys.distribution import Distribution
    from sinks.scanning.stored_rows import row_outside

    if buckets is not None:
        for key in row_outside(store, table, Distribution(buckets)):
            out.note(
                f'warning: table "{table}" has rows that are in none of its {buckets} buckets and are not '
                f"found, first {shown_start(key)}; '{command_line(file, 'table plan')}' checks the table",
                "yellow",
            )


def note_missing_state(out: Output, configuration: "Configuration") -> None:
    """Report a state folder that does not exist: the command may run in another folder than the service does."""
    folder = configuration.local_dir
    if configuration.state_url is None and not folder.exists():
        advice = "" if folder.is_absolute() else "; relative paths start at the current folder"
        out.note(f'no state at "{folder.absolute()}"{advice}', "yellow")

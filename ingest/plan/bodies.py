"""The body stores that a configuration declares."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

from ingest.api import ConfigError, NotFoundError, Row, SinkSettings, Store
from ingest.catalog import Catalog
from ingest.config.bodies import BodiesOptions
from ingest.config.body_tables import tables_of_bodies
from ingest.config.model import Component, Configuration, Pipeline, Table
from ingest.plan.stores import reading_store
from ingest.suggest import did_you_mean
from sinks.bodies.body_store import BodyStore
from sinks.bodies.large_values import DeadLetterPlace, LargeValues
from sinks.bodies.options import BodyCompression, BodyOptions
from sinks.bodies.resolving import resolved
from sinks.bodies.retention_horizon import RetentionHorizon
from sinks.bodies.tables import BodyTables
from sinks.files.opening import open_root
from sinks.mapping.mapper import MapperSettings


class BodiesOfTable(NamedTuple):
    """
    The body store of a table, as plain data.

    Attributes:
        name: prefix of the names of its tables.
    """

    name: str
    options: BodyOptions

    @property
    def value_table(self) -> str:
        """Name of the table that has the blocks."""
        return BodyTables(self.name).value

    def resolving(self, store: Store[Any], table: str) -> Callable[[Row], Row]:
        """
        The function from a row of the table to the row with large values in place of the pointers to their bodies.

        Args:
            store: of the table, open.
            table: its name.

        Raises:
            NotFoundError: at a call: a body does not exist.
            BodiesElsewhereError: at a call: the same, and the table has another body store.
            BodyCorruptError: at a call: a body is damaged.
        """
        return partial(resolved, BodyStore(store, self.name, self.options, owner=table))


def bodies_of(configuration: Configuration, table: str) -> BodiesOfTable | None:
    """The body store of a table; None if the file declares none."""
    declared = configuration.tables.get(table)
    bodies = None if declared is None else declared.options.bodies
    return None if bodies is None else BodiesOfTable(bodies.prefix(table), options_of(bodies))


@contextmanager
def body_store(configuration: Configuration, catalog: Catalog, table: str) -> Iterator[BodyStore]:
    """
    The body store of a table, open for reading.

    Args:
        configuration: declares the table.
        catalog: of the configuration.
        table: its name.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: the table has no body store.
        StoreError: the store is unavailable.
    """
    declared = table_with_bodies(configuration, table)
    with reading_store(configuration.stores[declared.store], catalog) as store:
        yield bodies_in(store, declared)


def require_bodies(store: Store[Any], table: Table) -> None:
    """
    Check that a body was stored before.

    Raises:
        NotFoundError: the tables of the body store do not exist.
        BodiesElsewhereError: the table has another body store.
    """
    bodies_in(store, table).check_owner()
    for own in tables_of_bodies(table):
        if store.families(own.name) is None:
            raise NotFoundError(f'there is no table "{own.name}"', hint="no body was stored yet")


def table_with_bodies(configuration: Configuration, table: str) -> Table:
    """
    A table that has a body store.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: the table has no body store.
    """
    tables = configuration.tables
    found = {name: each.options.bodies for name, each in tables.items() if each.options.bodies is not None}
    if table not in tables:
        hint = did_you_mean(table, found)
        if not hint:
            names = ", ".join(found)
            hint = (
                f"tables with `bodies`: {names}"
                if names
                else f"declare it, as in tables: {{{table}: {{bodies: {{}}}}}}"
            )
        raise NotFoundError(f'the file declares no table "{table}"', hint=hint)
    if table not in found:
        raise no_body_store(table, next((name for name, each in found.items() if table in each.tables(name)), None))
    return tables[table]


def bodies_in(store: Store[Any], table: Table) -> BodyStore:
    """
    The body store of a table, in its open store.

    Raises:
        ConfigError: the table has no body store.
    """
    bodies = table.options.bodies
    if bodies is None:
        raise no_body_store(table.name)
    return BodyStore(store, bodies.prefix(table.name), options_of(bodies), owner=table.name)


def dumps_of(configuration: Configuration, table: str) -> RetentionHorizon:
    """
    The dumps of a table that may name bodies, in the root that the file declares; a sweep begins with this call.

    Raises:
        ConfigError: the file system of the root is not installed.
        StoreUnavailableError: it does not answer, or the root may not be read.
    """
    roots = () if configuration.dump is None else (open_root(configuration.dump.root),)
    return RetentionHorizon.of_dumps(roots, table)


def no_body_store(table: str, owner: str | None = None) -> ConfigError:
    """
    The error for a table without a body store.

    Args:
        table: its name.
        owner: of the body store to which the table belongs; None if it belongs to none.
    """
    if owner is not None:
        return ConfigError(
            f'table "{table}" has no body store: it belongs to the one of table "{owner}"', hint=f'name "{owner}"'
        )
    return ConfigError(f'table "{table}" has no body store', hint="add `bodies: {}` to it under `tables`")


def large_values(configuration: Configuration, pipeline: Pipeline) -> dict[str, dict[str, LargeValues]]:
    """Store -> table -> which of its values tasks move, for the tables with a threshold that a pipeline may write."""
    found: dict[str, dict[str, LargeValues]] = {}
    for table in configuration.tables.values():
        bodies = table.options.bodies
        is_written = bool({(table.store, table.name), (table.store, None)} & pipeline.targets)
        if is_written and bodies is not None and bodies.threshold is not None:
            rule = LargeValues(bodies.prefix(table.name), options_of(bodies), bodies.threshold)
            found.setdefault(table.store, {})[table.name] = rule
    return found


def dead_letter_place(
    sinks: Iterable[Component[SinkSettings]], bodies: Mapping[str, Mapping[str, LargeValues]]
) -> DeadLetterPlace | None:
    """
    The body store of the first sink that moves large values; None if no sink does so.

    Args:
        sinks: of a pipeline, in the order of the file.
        bodies: store -> table -> which of its values are moved. A sink that takes the table from the event has the
            first one of its store.
    """
    for sink in sinks:
        store = sink.settings.store_name
        if store is None:
            continue
        # only the settings of a mapper name a store
        fixed = cast("MapperSettings", sink.settings).fixed_table
        for table, values in bodies.get(store, {}).items():
            if fixed in {None, table}:
                return DeadLetterPlace(store, table, values)
    return None


def options_of(bodies: BodiesOptions) -> BodyOptions:
    """The options of a body store as it takes them."""
    return BodyOptions(
        block_bytes=bodies.block_size,
        read_ahead_bytes=bodies.read_ahead,
        compression=BodyCompression(bodies.compression),
        sweep_after_s=bodies.sweep_after,
    )

"""The blob stores that a configuration declares."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

from ingest.api import ConfigError, NotFoundError, Row, SinkSettings, Store
from ingest.api.table_feature import FeaturePlan, planned_of
from ingest.catalog import Catalog
from ingest.config.model import Component, Configuration, Table
from ingest.plan.stores import reading_store
from ingest.suggest import did_you_mean
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.feature import Blobs
from sinks.blobs.large_values import DeadLetterPlace
from sinks.blobs.resolving import resolved
from sinks.blobs.retention_horizon import RetentionHorizon
from sinks.blobs.tables import BlobTables
from sinks.files.opening import open_root
from sinks.mapping.mapper import MapperSettings


class BlobsOfTable(NamedTuple):
    """
    The blob store of a table, as plain data.

    Attributes:
        name: prefix of the names of its tables.
    """

    name: str
    options: BlobOptions

    @property
    def value_table(self) -> str:
        """Name of the table that has the blocks."""
        return BlobTables(self.name).value

    def resolving(self, store: Store[Any], table: str) -> Callable[[Row], Row]:
        """
        The function from a row of the table to the row with large values in place of the pointers to their blobs.

        Args:
            store: of the table, open.
            table: its name.

        Raises:
            NotFoundError: at a call: a blob does not exist.
            BlobsElsewhereError: at a call: the same, and the table has another blob store.
            BlobCorruptError: at a call: a blob is damaged.
        """
        return partial(resolved, BlobStore(store, self.name, self.options, owner=table))


def blobs_of(configuration: Configuration, table: str) -> BlobsOfTable | None:
    """The blob store of a table; None if the file declares none."""
    declared = configuration.tables.get(table)
    blobs = None if declared is None else Blobs.options_of(declared)
    return None if blobs is None else BlobsOfTable(blobs.prefix(table), blobs.stored())


@contextmanager
def blob_store(configuration: Configuration, catalog: Catalog, table: str) -> Iterator[BlobStore]:
    """
    The blob store of a table, open for reading.

    Args:
        configuration: declares the table.
        catalog: of the configuration.
        table: its name.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: the table has no blob store.
        StoreError: the store is unavailable.
    """
    declared = table_with_blobs(configuration, table)
    with reading_store(configuration.stores[declared.store], catalog) as store:
        yield blobs_in(store, declared)


def require_blobs(store: Store[Any], table: Table) -> None:
    """
    Check that a blob was stored before.

    Raises:
        NotFoundError: the tables of the blob store do not exist.
        BlobsElsewhereError: the table has another blob store.
    """
    blobs_in(store, table).check_owner()
    for own in Blobs().declared_tables(table):
        if store.families(own) is None:
            raise NotFoundError(f'there is no table "{own}"', hint="no blob was stored yet")


def table_with_blobs(configuration: Configuration, table: str) -> Table:
    """
    A table that has a blob store.

    Raises:
        NotFoundError: the file declares no such table.
        ConfigError: the table has no blob store.
    """
    tables = configuration.tables
    found = {name: blobs for name, each in tables.items() if (blobs := Blobs.options_of(each)) is not None}
    if table not in tables:
        hint = did_you_mean(table, found)
        if not hint:
            names = ", ".join(found)
            hint = (
                f"tables with `blobs`: {names}" if names else f"declare it, as in tables: {{{table}: {{blobs: {{}}}}}}"
            )
        raise NotFoundError(f'the file declares no table "{table}"', hint=hint)
    if table not in found:
        raise no_blob_store(table, next((name for name, each in found.items() if table in each.tables(name)), None))
    return tables[table]


def blobs_in(store: Store[Any], table: Table) -> BlobStore:
    """
    The blob store of a table, in its open store.

    Raises:
        ConfigError: the table has no blob store.
    """
    blobs = Blobs.options_of(table)
    if blobs is None:
        raise no_blob_store(table.name)
    return BlobStore(store, blobs.prefix(table.name), blobs.stored(), owner=table.name)


def dumps_of(configuration: Configuration, table: str) -> RetentionHorizon:
    """
    The dumps of a table that may name blobs, in the root that the file declares; a sweep begins with this call.

    Raises:
        ConfigError: the file system of the root is not installed.
        StoreUnavailableError: it does not answer, or the root may not be read.
    """
    roots = () if configuration.dump is None else (open_root(configuration.dump.root),)
    return RetentionHorizon.of_dumps(roots, table)


def no_blob_store(table: str, owner: str | None = None) -> ConfigError:
    """
    The error for a table without a blob store.

    Args:
        table: its name.
        owner: of the blob store to which the table belongs; None if it belongs to none.
    """
    if owner is not None:
        return ConfigError(
            f'table "{table}" has no blob store: it belongs to the one of table "{owner}"', hint=f'name "{owner}"'
        )
    return ConfigError(f'table "{table}" has no blob store', hint="add `blobs: {}` to it under `tables`")


def dead_letter_place(sinks: Iterable[Component[SinkSettings]], features: FeaturePlan) -> DeadLetterPlace | None:
    """
    The blob store of the first sink that moves large values; None if no sink does so.

    Args:
        sinks: of a pipeline, in the order of the file.
        features: of the tables. A sink that takes the table from the event has the first one of its store.
    """
    for sink in sinks:
        store = sink.settings.store_name
        if store is None:
            continue
        # only the settings of a mapper name a store
        fixed = cast("MapperSettings", sink.settings).fixed_table
        for table, values in planned_of(features.get(store, {}), Blobs.name).items():
            if fixed in {None, table}:
                return DeadLetterPlace(store, table, values)
    return None

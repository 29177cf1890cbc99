"""The tables that a configuration declares, compared with those in its stores, and applied to them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from ingest.api import ConfigError, NotFoundError, SchemaError, Store, TableSpec
from ingest.catalog import Catalog
from ingest.config.model import Configuration, Table, declared_in
from ingest.plan.stores import owned_store, reading_store_if_exists
from ingest.suggest import did_you_mean
from sinks.schema_diff import Aspect, Difference, Remedy, differences, differences_in, reconcile


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """
    A difference between a table and its declaration, and how to reconcile it.

    Attributes:
        store: name of the table's store in the configuration.
    """

    store: str
    difference: Difference
    remedy: Remedy


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """
    The result of applying the declarations of all tables.

    Attributes:
        done: differences that are gone, as read back from the stores.
        left: differences that are still there.
        refused: changes that a store cannot make, with the commands for its shell.
    """

    done: tuple[PlannedChange, ...]
    left: tuple[PlannedChange, ...]
    refused: tuple[SchemaError, ...]


def plan_tables(configuration: Configuration, catalog: Catalog) -> list[PlannedChange]:
    """
    The differences of the declared tables, in the order of the stores and their tables.

    The split points that buckets make are left out for a local store, which has no regions.

    Raises:
        NotFoundError: a store does not exist, and no write creates it.
        StoreError: a store is unavailable.
    """
    planned: list[PlannedChange] = []
    for name, specs in _declared(configuration):
        is_local = configuration.stores[name].settings.own_folder is not None
        with reading_store_if_exists(configuration.stores[name], catalog) as (store, exists):
            for spec in specs:
                found = differences_in(store, spec) if exists else differences(spec, None)
                planned += [
                    PlannedChange(name, each, each.remedy(store))
                    for each in found
                    if not (is_local and spec.buckets is not None and each.aspect is Aspect.SPLITS)
                ]
    return planned


def apply_tables(
    configuration: Configuration, catalog: Catalog, *, allow_data_loss: bool = False, adopt: Collection[str] = ()
) -> AppliedChanges:
    """
    Reconcile the declared tables as far as their stores can.

    Args:
        configuration: declares the tables.
        catalog: of the configuration.
        allow_data_loss: also make changes that delete cells.
        adopt: tables whose declared buckets are recorded although they have rows, see `reconcile`.

    Raises:
        NotFoundError: a table to adopt is not declared.
        ConfigError: a table to adopt has neither declared nor recorded buckets.
        ConflictError: another process writes a store that only one process may write.
        StoreError: a store is unavailable, or refuses a change.
    """
    for table in adopt:
        declared_table(configuration, table)
    done: list[PlannedChange] = []
    left: list[PlannedChange] = []
    refused: list[SchemaError] = []
    for name, specs in _declared(configuration):
        with owned_store(configuration.stores[name], catalog) as store:
            for spec in specs:
                if spec.name in adopt:
                    _check_adopted(store, spec)
                changes = reconcile(store, spec, allow_data_loss=allow_data_loss, adopt=spec.name in adopt)
                done += [PlannedChange(name, each, each.remedy(store)) for each in changes.done]
                left += [PlannedChange(name, each, each.remedy(store)) for each in changes.left]
                refused += changes.refused
    return AppliedChanges(tuple(done), tuple(left), tuple(refused))


def _declared(configuration: Configuration) -> Iterator[tuple[str, Collection[TableSpec]]]:
    """Stores with the tables declared for them."""
    tables = configuration.tables.values()
    for store in dict.fromkeys(table.store for table in tables):
        yield store, declared_in(store, tables).values()


def declared_table(configuration: Configuration, name: str, *, if_none: str = "declare it under `tables`") -> Table:
    """
    A table that the file declares.

    Args:
        configuration: of the file.
        name: of the table.
        if_none: the hint if the file declares no table at all.

    Raises:
        NotFoundError: the file does not declare it.
    """
    tables = configuration.tables
    if name not in tables:
        hint = did_you_mean(name, tables) or (f"it declares {', '.join(tables)}" if tables else if_none)
        raise NotFoundError(f'the file declares no table "{name}"', hint=hint)
    return tables[name]


def _check_adopted(store: Store[Any], declared: TableSpec) -> None:
    if declared.buckets is None and store.buckets(declared.name) is None:
        raise ConfigError(
            f'the file declares no `distribute` for table "{declared.name}", and none is recorded',
            hint="'attr2hbase table plan --from-hbasewd TEXT' shows it",
        )

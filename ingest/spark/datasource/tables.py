"""The table that the options name, and its store; as plain data that Spark pickles for its workers."""

import os
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ingest.api import NotFoundError, Store, StoreSettings, TableSpec
from ingest.api.table_feature import StorePlan
from ingest.catalog import Catalog
from ingest.config import load
from ingest.config.model import Component, Configuration, declared_in
from ingest.config.single_store import single_store
from ingest.masks import Masks
from ingest.plan.assemble import store_component
from ingest.plan.codec import packed, unpacked
from ingest.plan.features import planned_in, planned_to_read
from ingest.plan.reading import reading_plan
from ingest.plan.stores import missing_table, reading_store
from ingest.spark.datasource.options import TableOptions, table_options
from ingest.suggest import did_you_mean
from sinks.bulk_load.feature import BulkLoad


@dataclass(frozen=True, slots=True)
class SourceTable:
    """
    One table of one store.

    Attributes:
        name: of the table.
        plan: a packed plan with only the store, and what its readers and its bulk load need to know; it contains
            the settings of the store, also secrets, and plugin files.
        declared: the declaration in the pipeline file; None if there is none.
    """

    name: str
    plan: bytes = field(repr=False)
    declared: TableSpec | None = None

    def store(self) -> Component[StoreSettings]:
        """
        The store of the table.

        Raises:
            CatalogError: a plugin is missing in this process, or differs.
        """
        (component,) = unpacked(self.plan).stores.values()
        return component

    def planned(self) -> Mapping[str, Any]:
        """
        Name of a feature -> what the readers of the table need to know of it.

        Raises:
            CatalogError: a plugin is missing in this process, or differs.
        """
        tables: StorePlan = next(iter(unpacked(self.plan).features.values()), {})
        return tables.get(self.name, {})

    def loads(self) -> StorePlan:
        """When rows of the table are loaded as files; empty for never."""
        planned = next(iter(unpacked(self.plan).tables_with(BulkLoad).values()), {})
        return {table: {BulkLoad.name: rule} for table, rule in planned.items()}

    @contextmanager
    def reading(self) -> Iterator[Store[Any]]:
        """
        The store, open for reading; another process may write to it meanwhile.

        Raises:
            NotFoundError: there is no such table.
            StoreUnavailableError: the store cannot be reached.
        """
        with reading_store(self.store()) as store:
            if store.families(self.name) is None:
                raise missing_table(self.name, store.tables())
            yield store


def source_table(options: Mapping[str, str]) -> SourceTable:
    """
    The table of the options of a DataFrameReader or DataFrameWriter, whose names are in lower case.

    Raises:
        ConfigError: the options or the pipeline file are not valid; secrets are masked.
        NotFoundError: there is no such pipeline file, or no such store in it.
    """
    wanted = table_options(options)
    folder = driver_folder()
    if wanted.config is None:
        catalog = Catalog()
        component, masks = single_store(
            wanted.store or "", wanted.store_options, name="options of the DataFrame", lookup=catalog
        )
        component = replace(catalog.located("stores", component), name=component.kind)
        return SourceTable(wanted.table, _packed(component, {}, folder, catalog, masks))
    configuration = configuration_of(wanted.config)
    catalog = Catalog(configuration.plugins)
    name = store_name_of(configuration, wanted)
    component = store_component(configuration, name, catalog)
    declared = declared_in(name, configuration.tables.values()).get(wanted.table)
    planned = planned_to_read(configuration, name, wanted.table, catalog)
    load = planned_in(configuration, name, wanted.table, BulkLoad(), catalog)
    if load is not None:
        planned[BulkLoad.name] = load
    plan = _packed(component, {wanted.table: planned}, folder, catalog, configuration.masks)
    return SourceTable(wanted.table, plan, declared)


def configuration_of(path: str) -> Configuration:
    """
    The configuration of a pipeline file, whose relative path starts at the folder of the driver.

    Raises:
        ConfigError: it is not valid; secrets are masked.
        NotFoundError: there is no such file.
    """
    with chdir(driver_folder()):
        return load(path, env=os.environ, lookup=Catalog())


def store_name_of(configuration: Configuration, wanted: TableOptions) -> str:
    """
    The store of the table that the options name.

    Raises:
        NotFoundError: the file has no store of the name in the options.
    """
    if wanted.store is None:
        return configuration.store_of_table(wanted.table)
    if wanted.store not in configuration.stores:
        known = configuration.stores
        hint = did_you_mean(wanted.store, known) or f"there is {', '.join(known)}"
        raise NotFoundError(f'there is no store "{wanted.store}" in {wanted.config}', hint=hint)
    return wanted.store


def driver_folder() -> Path:
    """
    The folder in which the driver was started, where its relative paths start.

    Spark may run this process in a folder of its own. The variable PWD is that of the script that started the JVM.
    """
    is_of_spark = "SPARK_JOB_ARTIFACT_UUID" in os.environ
    return Path(os.environ["PWD"]) if is_of_spark and "PWD" in os.environ else Path.cwd()


def _packed(
    component: Component[StoreSettings],
    tables: StorePlan,
    folder: Path,
    catalog: Catalog,
    masks: Masks,
) -> bytes:
    component = replace(component, settings=component.settings.in_folder(folder))
    return packed(reading_plan([component], {component.name: tables}, catalog.files, masks))

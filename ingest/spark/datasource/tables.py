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
from ingest.plan.features import planned_in
from ingest.plan.reading import reading_plan
from ingest.plan.stores import missing_table, reading_store
from ingest.spark.datasource.options import TableOptions, table_options
from ingest.suggest import did_you_mean
from sinks.blobs.declared import BlobsOfTable, blobs_of
from sinks.bulk_load.feature import BulkLoad
from sinks.scanning.table_reader import recorded_merging
from sinks.updates.feature import Updates
from sinks.updates.merging import Merging


@dataclass(frozen=True, slots=True)
class SourceTable:
    """
    One table of one store.

    Attributes:
        name: of the table.
        plan: a packed plan with only the store, and the deferred updates and the bulk load of the table; it contains
            the settings of the store, also secrets, and plugin files.
        declared: the declaration in the pipeline file; None if there is none.
        blobs: its blob store; None if the pipeline file declares none.
    """

    name: str
    plan: bytes = field(repr=False)
    declared: TableSpec | None = None
    blobs: BlobsOfTable | None = None

    def store(self) -> Component[StoreSettings]:
        """
        The store of the table.

        Raises:
            CatalogError: a plugin is missing in this process, or differs.
        """
        (component,) = unpacked(self.plan).stores.values()
        return component

    def merging(self, store: Store[Any]) -> Merging | None:
        """
        How the update rows of the table are merged; None if it has none.

        Args:
            store: of the table, open.

        Raises:
            CatalogError: a plugin is missing in this process, or differs.
            UpdatesDifferError: the table has deferred updates, and the pipeline file declares none, or others.
        """
        declared = next(iter(unpacked(self.plan).tables_with(Updates).values()), {})
        return recorded_merging(store, self.name, declared.get(self.name))

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
    features = (Updates(), BulkLoad())
    planned = {each.name: planned_in(configuration, name, wanted.table, each, catalog) for each in features}
    tables = {wanted.table: {feature: each for feature, each in planned.items() if each is not None}}
    blobs = blobs_of(configuration.tables, wanted.table) if declared is not None else None
    return SourceTable(wanted.table, _packed(component, tables, folder, catalog, configuration.masks), declared, blobs)


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

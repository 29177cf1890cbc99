"""The features of the tables of a pipeline, planned on the driver and used in the tasks."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ingest.api import ConfigError, SinkSettings, Store
from ingest.api.table_feature import DeadLetterPlace, FeaturePlan, StorePlan, TableFeature, WriterPlace, planned_of
from ingest.api.table_reader import ReadColumn, ReaderPlace, Recorded, RowKeys, TableReader
from ingest.api.table_writer import FirstWriter, RowReader, TableWriter
from ingest.catalog import Catalog, table_features
from ingest.config.model import Component, Configuration, Pipeline


def features_of(configuration: Configuration, pipeline: Pipeline, catalog: Catalog) -> FeaturePlan:
    """
    The features of the tables that a pipeline writes, or that its events may name.

    Args:
        configuration: declares the tables.
        pipeline: of the configuration.
        catalog: of the configuration.

    Raises:
        CatalogError: a component of a feature cannot be imported.
    """
    plan: dict[str, dict[str, dict[str, Any]]] = {}
    for table in configuration.tables.values():
        is_named = (table.store, table.name) in pipeline.targets
        if not is_named and (table.store, None) not in pipeline.targets:
            continue
        for feature in table.features:
            if is_named or not feature.only_named:
                planned = feature.planned(table, catalog)
                if planned is not None:
                    plan.setdefault(table.store, {}).setdefault(table.name, {})[feature.name] = planned
    return plan


def tables_with_feature(plan: FeaturePlan, feature: str) -> dict[str, dict[str, Any]]:
    """Store -> table -> what is planned of one feature, for the stores with such tables."""
    found = {store: planned_of(tables, feature) for store, tables in plan.items()}
    return {store: tables for store, tables in found.items() if tables}


def table_writers(
    last: TableWriter,
    store_name: str,
    tables: StorePlan,
    *,
    reader: RowReader,
    withdraws: bool,
    max_put_bytes: int | None = None,
    is_used: Callable[[TableFeature[Any]], bool] = lambda _feature: True,
) -> dict[str, FirstWriter]:
    """
    The first writers of the tables with features, in a task.

    Args:
        last: the last writer of all tables.
        store_name: for messages.
        tables: what is planned of those of the store.
        reader: as in `WriterPlace`.
        withdraws: as in `WriterPlace`.
        max_put_bytes: as in `WriterPlace`.
        is_used: whether the writers of a feature are used.
    """
    writers: dict[str, FirstWriter] = {}
    for table, features in tables.items():
        place = WriterPlace(store_name, table, features.keys(), reader, withdraws, max_put_bytes)
        for feature in reversed(table_features()):
            if feature.name in features and is_used(feature):
                writer = feature.writer(writers.get(table, last), features[feature.name], place)
                if writer is not None:
                    writers[table] = writer
    return writers


def planned_in(
    configuration: Configuration, store: str, table: str, feature: TableFeature[Any], catalog: Catalog
) -> Any:
    """What is planned of a feature of a table that a file declares for a store; None without it."""
    declared = configuration.tables.get(table)
    return None if declared is None or declared.store != store else feature.planned(declared, catalog)


def recorded_of(store: Store[Any], table: str) -> Recorded:
    """The record of a table, for its readers: with the properties of features alone, as tasks get it."""
    recorded = Recorded.of(store, table)
    names = {name for feature in table_features() for name in (feature.name, *feature.read_properties)}
    return Recorded(recorded.buckets, {name: text for name, text in recorded.properties.items() if name in names})


def row_keys(recorded: Recorded) -> RowKeys:
    """The row keys of a table with this record, without buckets."""
    found = (feature.row_keys(recorded) for feature in table_features())
    return next((keys for keys in found if keys is not None), RowKeys())


def planned_to_read(configuration: Configuration, store: str, table: str, catalog: Catalog) -> dict[str, Any]:
    """
    Name of a feature -> what the reader of a table that a file declares for a store needs to know of it.

    Raises:
        CatalogError: a component of a feature cannot be imported.
    """
    declared = configuration.tables.get(table)
    if declared is None or declared.store != store:
        return {}
    found = {
        feature.name: feature.planned_to_read(declared, configuration.tables, catalog) for feature in table_features()
    }
    return {name: planned for name, planned in found.items() if planned is not None}


def added_columns(asked: Collection[str]) -> list[ReadColumn]:
    """The columns that readers of these options add to a DataFrame, in the order of `TableReader.in_range`."""
    found = ((option, column) for feature in table_features() for option, column in feature.read_options.items())
    return [column for option, column in found if column is not None and option in asked]


def open_reader(place: ReaderPlace, planned: Mapping[str, Any], *, without_effect: Collection[str] = ()) -> TableReader:
    """
    The reader of a table, with those of its features.

    Args:
        place: of the reader.
        planned: as `planned_to_read`; empty for a table that is not declared.
        without_effect: options that may be asked of a table without their feature.

    Raises:
        ConfigError: the table lacks the feature of an option that was asked.
        UpdatesDifferError: the table has deferred updates, and the file declares none, or others.
    """
    from sinks.scanning.plain_reader import PlainReader

    reader: TableReader = PlainReader(place.store, place.table, place.recorded.buckets)
    refused = place.asked.difference(without_effect)
    for feature in table_features():
        above = feature.reader(reader, planned.get(feature.name), place)
        if above is not None:
            reader = above
            refused = refused.difference(feature.read_options)
    for feature in table_features():
        for option in sorted(refused.intersection(feature.read_options)):
            hint = f"leave the option {option} out"
            raise ConfigError(f'table "{place.table}" has no {feature.words}', hint=hint)
    return reader


def dead_letter_place(sinks: Iterable[Component[SinkSettings]], features: FeaturePlan) -> DeadLetterPlace | None:
    """
    Where the first sink whose table has a feature that keeps values keeps those of records that fail; else None.

    Args:
        sinks: of a pipeline, in the order of the file.
        features: of the tables. A sink that takes the table from the event has the first one of its store.
    """
    for sink in sinks:
        store = sink.settings.store_name or ""
        for table, planned in features.get(store, {}).items():
            if sink.settings.fixed_table in {None, table}:
                for feature in table_features():
                    if feature.name in planned and feature.kept_above(planned[feature.name]) is not None:
                        return DeadLetterPlace(store, table, planned[feature.name], feature.name)
    return None


def keeping_feature(place: DeadLetterPlace) -> TableFeature[Any]:
    """The feature of a place."""
    return next(feature for feature in table_features() if feature.name == place.feature)


def has_large_chunks(tables: StorePlan) -> bool:
    """Whether a feature of a store's tables needs chunks of many rows."""
    return any(feature.has_large_chunks and planned_of(tables, feature.name) for feature in table_features())


def connection(target: Any, tables: StorePlan, staging: Any = None) -> Any:
    """What a task or a probe writes to, with what the features of the store's tables put around it."""
    for feature in table_features():
        planned = planned_of(tables, feature.name)
        if planned:
            target = feature.connection(target, planned, staging)
    return target

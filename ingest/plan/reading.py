"""A plan to read tables, without a pipeline."""

from collections.abc import Collection, Mapping

from ingest.api import Decoding, OnError, StoreSettings
from ingest.config.model import Component
from ingest.masks import Masks
from ingest.plan.plan import Plan
from ingest.plan.updates import UPDATES
from ingest.plugins.loader import PluginFile
from sinks.updates.table_updates import TableUpdates


def reading_plan(
    stores: Collection[Component[StoreSettings]],
    updates: Mapping[str, Mapping[str, TableUpdates]],
    files: tuple[PluginFile, ...],
    masks: Masks,
) -> Plan:
    """
    A plan with stores and deferred updates alone.

    Args:
        stores: with names and import paths, as `store_component` returns them.
        updates: name of a store -> table -> its deferred updates, as `declared_updates` returns them.
        files: plugin modules beside the pipeline file.
        masks: of the configuration.
    """
    return Plan(
        pipeline="",
        fingerprint="",
        timezone="UTC",
        on_error=OnError.STOP,
        decoding=Decoding(),
        decorators=(),
        sinks=(),
        stores={store.name: store for store in stores},
        files=files,
        features={
            store: {table: {UPDATES: each} for table, each in tables.items()} for store, tables in updates.items()
        },
        masks=masks,
    )

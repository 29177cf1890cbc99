"""A plan to read tables, without a pipeline."""

from collections.abc import Collection

from ingest.api import Decoding, OnError, StoreSettings
from ingest.api.table_feature import FeaturePlan
from ingest.config.model import Component
from ingest.masks import Masks
from ingest.plan.plan import Plan
from ingest.plugins.loader import PluginFile


def reading_plan(
    stores: Collection[Component[StoreSettings]],
    features: FeaturePlan,
    files: tuple[PluginFile, ...],
    masks: Masks,
) -> Plan:
    """
    A plan with stores and features of tables alone.

    Args:
        stores: with names and import paths, as `store_component` returns them.
        features: of the tables that are read.
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
        features=features,
        masks=masks,
    )

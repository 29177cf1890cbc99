"""How the row keys of a dry run spread writes over the regions of their tables."""

from collections.abc import Collection
from dataclasses import dataclass

from ingest.api import StoredRegion, TableSpec
from ingest.catalog import Catalog
from ingest.config.model import Configuration, declared_in
from ingest.dry_run.row_keys import RowKeySample
from ingest.plan.stores import reading_store_if_exists
from sinks.rowkeys.analysis import KeyAnalysis, analyse
from sinks.rowkeys.distribution import Distribution
from sinks.rowkeys.layout import Layout


@dataclass(frozen=True, slots=True)
class TableAnalysis:
    """
    The row keys of one table.

    Attributes:
        is_from_store: its present regions are those in the store; else those of its declaration.
        regions: the present regions with their servers and sizes; empty if they are not from the store, or if it does
            not report them.
    """

    store: str
    table: str
    is_from_store: bool
    keys: KeyAnalysis
    regions: tuple[StoredRegion, ...] = ()


def analyses(
    configuration: Configuration,
    catalog: Catalog,
    sample: RowKeySample,
    *,
    regions: int,
    prefixes: Collection[bytes] = (),
    connect: bool = False,
) -> list[TableAnalysis]:
    """
    The analysis of each table of a sample.

    Args:
        configuration: of the pipelines.
        catalog: of the configuration.
        sample: the row keys that the pipelines write.
        regions: number of regions with equally many writes each.
        prefixes: to count the rows of.
        connect: take the regions of existing tables from their stores.

    Raises:
        NotFoundError: with `connect`, a store does not exist, and no write creates it.
        StoreError: with `connect`, a store is unavailable.
    """
    found = []
    for (store, table), keys in sample.by_table().items():
        existing, stored = _existing(configuration, catalog, store, table) if connect else (None, ())
        spec = existing or declared_in(store, configuration.tables.values()).get(table, TableSpec(table))
        layout = Layout(spec.splits, Distribution.of(spec.buckets))
        analysis = analyse(keys, layout, regions=regions, prefixes=prefixes)
        found.append(TableAnalysis(store, table, existing is not None, analysis, stored))
    return found


def _existing(
    configuration: Configuration, catalog: Catalog, name: str, table: str
) -> tuple[TableSpec | None, tuple[StoredRegion, ...]]:
    """A table as its store describes it, None if it does not exist; and its regions, if the store reports them."""
    with reading_store_if_exists(configuration.stores[name], catalog) as (store, exists):
        spec = store.describe_table(table) if exists else None
        return spec, () if spec is None else store.regions(table) or ()

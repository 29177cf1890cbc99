"""The tables that a pipeline owns, without a configuration."""

from collections.abc import Mapping
from typing import Any

from ingest.catalog import table_features
from sinks.owning.owned_tables import OwnedTables
from sinks.writing.driver_store import DriverStore


def owned_of(pipeline: str, stores: Mapping[str, DriverStore], *tables: Any, **options: Any) -> OwnedTables:
    """As `OwnedTables`, with all features."""
    return OwnedTables(pipeline, stores, *tables, features=table_features(), **options)

"""The blob store of a table of a configuration, opened for reading."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.stores import reading_store
from sinks.blobs.blob_store import BlobStore
from sinks.blobs.declared import blobs_in, table_with_blobs


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
    declared = table_with_blobs(configuration.tables, table)
    with reading_store(configuration.stores[declared.store], catalog) as store:
        yield blobs_in(store, declared)

"""Stores of a running HBase, for the contract suite of stores."""

from ingest.testing.stores import AnyStore, StoreFixture
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore


class HBaseStores(StoreFixture):
    """
    New stores with the same settings; another one of them is the reader.

    Args:
        settings: name the servers.
    """

    def __init__(self, settings: HBaseSettings) -> None:
        self._settings = settings

    def store(self) -> AnyStore:
        """A store, not open yet."""
        return HBaseStore.of(self._settings)

    def reader(self, store: AnyStore) -> AnyStore:
        """Another store, which is open."""
        reader = self.store()
        reader.open()
        return reader

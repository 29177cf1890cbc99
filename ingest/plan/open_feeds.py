"""The change feed of a table of a configuration, opened for reading, and the leases of its consumer groups."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from ingest.api import Store
from ingest.api.feeds import feed_table
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.durable.property_register import PropertyRegisters, calls_of
from ingest.durable.register import StateRegisters
from ingest.plan.stores import missing_table, reading_store, reading_store_if_exists
from sinks.feed.client import FeedClient
from sinks.feed.errors import FeedDisabledError
from sinks.feed.feature import Feed
from sinks.feed.leases import GroupLeases
from sinks.feed.state import FeedState


@dataclass(frozen=True, slots=True)
class OpenFeed:
    """
    The change feed of a table.

    Attributes:
        client: reads it.
        leases: of its consumer groups.
        store: of the table, open for reading.
        is_writable: whether this process may write the store, as every client of HBase may.
    """

    client: FeedClient
    leases: GroupLeases
    store: Store[Any]
    is_writable: bool


@contextmanager
def open_feed(configuration: Configuration, catalog: Catalog, table: str) -> Iterator[OpenFeed]:
    """
    The change feed of a table; a service may write it meanwhile.

    Raises:
        NotFoundError: there is no such table.
        FeedDisabledError: the table has no change feed, or a declared one that has not begun.
        StoreError: the store is unavailable.
    """
    name = configuration.store_of_table(table)
    with reading_store(configuration.stores[name], catalog) as store:
        client = FeedClient(store, table)
        try:
            client.state()
        except FeedDisabledError:
            declared = configuration.tables.get(table)
            if declared is not None and Feed.options_of(declared) is not None:
                raise FeedDisabledError(table, is_declared=True) from None
            if table not in store.tables():
                raise missing_table(table, store.tables()) from None
            raise
        writable = not store.capabilities.written_by_driver
        yield OpenFeed(client, leases_of(configuration, name, table, store), store, writable)


def feeds_of(configuration: Configuration, catalog: Catalog) -> list[tuple[str, FeedState]]:
    """
    The tables with a change feed in the stores of a configuration, by name.

    Raises:
        StoreError: a store is unavailable.
    """
    found = []
    for component in configuration.stores.values():
        with reading_store_if_exists(component, catalog) as (store, exists):
            tables = set(store.tables()) if exists else set()
            for table in tables:
                if feed_table(table) in tables:
                    with suppress(FeedDisabledError):
                        found.append((table, FeedClient(store, table).state()))
    return sorted(found, key=itemgetter(0))


def leases_of(configuration: Configuration, store_name: str, table: str, store: Store[Any]) -> GroupLeases:
    """
    The leases of a feed: properties, or files of this machine if only one process may write the store.

    Args:
        configuration: has the folder of the files.
        store_name: name of the store.
        table: its name.
        store: open.
    """
    if store.capabilities.written_by_driver:
        return GroupLeases(StateRegisters(leases_folder(configuration.local_dir, store_name, table)))
    return GroupLeases(PropertyRegisters(calls_of(store), feed_table(table)))


def leases_folder(local_dir: Path, store_name: str, table: str) -> Path:
    """The folder with the leases of a table in an embedded store."""
    return local_dir / "feed" / store_name / table

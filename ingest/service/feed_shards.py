"""Requests to split and merge shards of a feed: by this process, or by the running service."""

from collections.abc import Mapping
from typing import Self

from pydantic import ConfigDict

from ingest.api import ConfigError, ConflictError, Model, option
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.stores import owned_store
from ingest.service.request import request_of
from ingest.service.shared import Shared
from sinks.feed.change_feed import ChangeFeed
from sinks.feed.client import FeedClient
from sinks.feed.feed_json import feed_json


class ShardRequest(Model):
    """
    A split or a merge. In JSON: `{"split": 1, "at": "6d"}`, or `{"merge": [1, 2]}`.

    Attributes:
        split: `--shard`: number of the shard.
        at: `--at`: first physical row key of the second half, in hexadecimal digits.
        merge: `--shards`: numbers of two adjacent shards, the lower row keys first.
    """

    model_config = ConfigDict(extra="forbid")

    split: int | None = option("Shard to split.", default=None)
    at: str = option("Where to split it.", default="", pattern="^([0-9a-f]{2})*$")
    merge: tuple[int, int] | None = option("Shards to merge.", default=None)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON.

        Raises:
            ConfigError: it is none.
        """
        request = request_of(cls, content, 'send JSON as {"merge": [1, 2]}')
        if (request.split is None) == (request.merge is None):
            raise ConfigError("the request has neither a split nor a merge, or both")
        return request

    def apply_to(self, client: FeedClient) -> ChangeFeed:
        """
        Record the request with the feed; the next micro-batch executes it.

        Args:
            client: of the feed, with a store that this process may write.

        Raises:
            FeedDisabledError: the table has no change feed.
            ShardNotFoundError: there is no such shard.
            ConfigError: it is not possible.
            StoreError: the store is unavailable.
        """
        if self.merge is not None:
            return client.merge(*self.merge)
        return client.split(self.split or 0, bytes.fromhex(self.at))


def apply_alone(configuration: Configuration, catalog: Catalog, table: str, request: ShardRequest) -> ChangeFeed:
    """
    Apply a request in this process, while no service runs.

    Raises:
        ConflictError: a service has locked the store.
        IngestError: as `ShardRequest.apply_to`.
    """
    component = configuration.stores[configuration.store_of_table(table)]
    with owned_store(component, catalog) as store:
        return request.apply_to(FeedClient(store, table))


def apply_in_service(shared: Shared | None, table: str, request: ShardRequest) -> Mapping[str, object]:
    """
    Apply a request through a store of the running service; returns the feed as `feed_json` does.

    Raises:
        ConflictError: the service does not have the store of the table open now.
        IngestError: as `ShardRequest.apply_to`.
    """
    used = {} if shared is None else shared.stores.in_use()
    name = "" if shared is None else shared.configuration.store_of_table(table)
    if name not in used:
        raise ConflictError(f'the service has not opened the store of table "{table}" yet', hint="try again later")
    with used[name].held() as store:
        return feed_json(table, request.apply_to(FeedClient(store, table)))

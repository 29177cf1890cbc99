"""Feeds whose groups keep their leases in either place."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sinks.feed.leases import GroupLeases
from sinks.memory import MemoryStore
from tests.support.feeds import HOUR_MS
from tests.support.group_feeds import GroupFeed
from tests.support.group_leases import file_leases, property_leases


@pytest.fixture(params=["properties", "files"])
def feeds(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., GroupFeed]:
    def opened(shards: int = 1, expiration_ms: int = 24 * HOUR_MS) -> GroupFeed:
        def leases(store: MemoryStore) -> GroupLeases:
            return file_leases(tmp_path) if request.param == "files" else property_leases(store, "orders_feed")

        return GroupFeed(leases, shards, expiration_ms)

    return opened

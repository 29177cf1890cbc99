"""The table that has the feed rows of another table."""

from ingest.api.cells import FamilySpec, TableSpec

FEED = "feed"
"""Name of the property of a table that has its change feed, and of its option in `tables`."""
FEED_SUFFIX = "_feed"
"""Ends the name of the table that has the feed rows of another table."""
FEED_FAMILY = b"f"
"""The only family of such a table."""
MARGIN_S = 3600
"""Feed rows stay for so long after their changes have expired, so that no row vanishes before a reader is refused."""


def feed_table(table: str) -> str:
    """Name of the table that has the feed rows of a table."""
    return table + FEED_SUFFIX


def feed_table_spec(table: TableSpec) -> TableSpec | None:
    """
    The definition of the table that has the feed rows of a table; None for a table without a change feed.

    Each of the first shards has a region of its own: row keys begin with the number of the shard, from 1.
    """
    if table.feed is None:
        return None
    family = FamilySpec(FEED_FAMILY, ttl_s=table.feed.expiration_ms // 1000 + MARGIN_S)
    shards = min(table.feed.shards, table.buckets or table.feed.shards)
    splits = tuple(number.to_bytes(4) for number in range(2, shards + 1))
    return TableSpec(feed_table(table.name), (family,), splits)

"""A change feed as JSON, as commands and the HTTP endpoint return it."""

from typing import Any

from ingest.api.notation import to_notation
from sinks.feed.change_feed import ChangeFeed, SplitRequest


def feed_json(table: str, change_feed: ChangeFeed) -> dict[str, Any]:
    """
    A change feed as plain data.

    Args:
        table: its name.
        change_feed: of the table.

    Returns:
        Times in milliseconds since the epoch, and physical row keys as `to_notation` returns them.
    """
    return {
        "table": table,
        "feed": change_feed.id,
        "since_ms": change_feed.since_ms,
        "expiration_ms": change_feed.expiration_ms,
        "shards": [
            {
                "shard": shard.number,
                "start": to_notation(shard.start),
                "stop": None if shard.stop is None else to_notation(shard.stop),
                "from_ms": shard.from_ms,
                "until_ms": shard.until_ms,
                "parents": shard.parents,
                "children": [child.number for child in change_feed.children(shard.number)],
            }
            for shard in change_feed.shards
        ],
        "requested": [
            {"split": each.shard, "at": to_notation(each.at)}
            if isinstance(each, SplitRequest)
            else {"merge": each.shards}
            for each in change_feed.requested
        ],
    }

"""A stream as JSON, as commands and the HTTP endpoint return it."""

from typing import Any

from ingest.api.notation import to_notation
from sinks.feed.stream import FeedStream, SplitRequest


def stream_json(table: str, stream: FeedStream) -> dict[str, Any]:
    """
    A stream as plain data.

    Args:
        table: its name.
        stream: of the table.

    Returns:
        Times in milliseconds since the epoch, and physical row keys as `to_notation` returns them.
    """
    return {
        "table": table,
        "stream": stream.id,
        "since_ms": stream.since_ms,
        "expiration_ms": stream.expiration_ms,
        "shards": [
            {
                "shard": shard.number,
                "start": to_notation(shard.start),
                "stop": None if shard.stop is None else to_notation(shard.stop),
                "from_ms": shard.from_ms,
                "until_ms": shard.until_ms,
                "parents": shard.parents,
                "children": [child.number for child in stream.children(shard.number)],
            }
            for shard in stream.shards
        ],
        "requested": [
            {"split": each.shard, "at": to_notation(each.at)}
            if isinstance(each, SplitRequest)
            else {"merge": each.shards}
            for each in stream.requested
        ],
    }

"""A change feed as JSON."""

from sinks.feed.change_feed import ChangeFeed, MergeRequest, Shard, SplitRequest
from sinks.feed.feed_json import feed_json


def test_feed_with_closed_shards_and_requests():
    shards = (
        Shard(1, b"", None, 1_000, 2_000),
        Shard(2, b"", b"m", 2_000, None, (1,)),
        Shard(3, b"m", None, 2_000, None, (1,)),
    )
    change_feed = ChangeFeed("s1", 1_000, 86_400_000, shards, (SplitRequest(3, b"\xff"), MergeRequest((2, 3))))
    first, second, third = feed_json("orders", change_feed).pop("shards")
    assert first == {
        "shard": 1, "start": "", "stop": None, "from_ms": 1_000, "until_ms": 2_000, "parents": (), "children": [2, 3],
    }  # fmt: skip
    assert (second["start"], second["stop"], second["until_ms"]) == ("", "m", None)
    assert (third["start"], third["stop"], third["parents"], third["children"]) == ("m", None, (1,), [])
    assert {name: value for name, value in feed_json("orders", change_feed).items() if name != "shards"} == {
        "table": "orders",
        "feed": "s1",
        "since_ms": 1_000,
        "expiration_ms": 86_400_000,
        "requested": [{"split": 3, "at": {"b64": "/w=="}}, {"merge": (2, 3)}],
    }

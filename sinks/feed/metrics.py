"""The metrics of change feeds."""

from typing import NamedTuple

from ingest.api.metric import Kind, Metric, Scope

FEED_CONSUMER_LAG_SECONDS = Metric(
    "attr2hbase_feed_consumer_lag_seconds",
    Kind.GAUGE,
    "seconds",
    "Batch time of the newest complete micro-batch minus the one of the last checkpoint of a consumer group, in "
    "the shard that is furthest behind.",
    ("group",),
    scope=Scope.TABLE,
)
FEED_EXPIRATION_USED_RATIO = Metric(
    "attr2hbase_feed_expiration_used_ratio",
    Kind.GAUGE,
    "",
    "Fraction of the feed's expiration that the oldest change has used that a consumer group has not read; at 1 it "
    "expires.",
    ("group",),
    scope=Scope.TABLE,
)
FEED_GAPS = Metric(
    "attr2hbase_feed_gaps",
    Kind.GAUGE,
    "gaps",
    "Gaps that a consumer group has skipped, because changes had expired.",
    ("group",),
    scope=Scope.TABLE,
)
FEED_LOST_LEASES = Metric(
    "attr2hbase_feed_lost_leases",
    Kind.GAUGE,
    "shards",
    "Shards of a consumer group whose leases are missing: the group does not read them and the shards after them.",
    ("group",),
    scope=Scope.TABLE,
)
METRICS = (
    FEED_CONSUMER_LAG_SECONDS,
    FEED_EXPIRATION_USED_RATIO,
    FEED_GAPS,
    FEED_LOST_LEASES,
)
"""All of them, in the order of the values of `GroupLag`."""


class GroupLag(NamedTuple):
    """
    How far a consumer group of a feed has come.

    Attributes:
        behind_s: of the shard that is furthest behind.
        used: fraction of the expiration that its oldest unread change has used.
        gaps: number of gaps that it has skipped.
        lost: number of shards whose leases are missing.
    """

    behind_s: float
    used: float
    gaps: int
    lost: int = 0

"""Error codes of feeds: what raises them, and their meaning."""

from ingest import api
from sinks.feed import errors

FEED_CODES: dict[str, tuple[type[api.IngestError], str]] = {
    "bad_shard_merge": (api.ConfigError, "The shards of a merge are not adjacent, or not in the order of their keys."),
    "bad_shard_split": (
        api.ConfigError,
        "A shard has no row keys on one side of the key of a split, or the change feed cannot have more shards.",
    ),
    "invalid_iterator": (
        errors.InvalidIteratorError,
        "A text is no iterator of a change feed, or an iterator cannot be created from the arguments.",
    ),
    "parent_unknown": (
        errors.ParentUnknownError,
        "A consumer group lacks the lease of a shard, so it is unknown how far the group has read the shard.",
    ),
    "feed_group_removed": (errors.GroupRemovedError, "A consumer group was removed while one of its workers ran."),
    "feed_worker_replaced": (
        errors.WorkerReplacedError,
        "Another process has started as the same worker of a consumer group, and has its shards.",
    ),
    "shard_requested": (
        api.ConfigError,
        "A split or a merge names a shard that the next micro-batch splits or merges already.",
    ),
    "shard_closed": (api.ConfigError, "A split or a merge names a shard that is closed."),
    "shard_lease_lost": (
        errors.ShardLeaseLostError,
        "Another worker of a consumer group has taken over a shard, because the lease was not renewed for 20 seconds.",
    ),
    "shard_not_found": (errors.ShardNotFoundError, "A change feed has no shard of this number."),
    "feed_disabled": (
        errors.FeedDisabledError,
        "A table has no change feed, or its feed was closed, or has not begun: a feed begins with a micro-batch.",
    ),
    "feed_id_mismatch": (
        errors.FeedIdMismatchError,
        "An iterator or a consumer group is of an earlier change feed of the table, or of another table.",
    ),
    "trimmed": (errors.TrimmedError, "Changes have expired before a reader of a change feed has read them."),
}
"""Code -> the class raised with it, and its meaning."""

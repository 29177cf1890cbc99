"""The option `feed` of tables."""

from ingest.api import Duration, FeedSpec, Model, option

MAX_FIRST_SHARDS = 256
"""Shards of a new feed; each has a region in HBase."""


class FeedOptions(Model):
    """The change feed of a table: what the pipeline changes in it, as records that programs read in order."""

    expiration: Duration = option("How long a change can be read.", default="24h", ge=60, le=31_536_000)
    shards: int = option(
        "Number of shards of a new feed, at most one for each bucket of a salted table. A shard has a range of row "
        "keys, whose changes are in order; 'attr2hbase admin feed split' and 'merge' change the shards later.",
        default=4,
        ge=1,
        le=MAX_FIRST_SHARDS,
    )
    before: bool = option(
        "Read each row before it is changed, and store it with the change: a get for each row and micro-batch.",
        default=False,
    )
    heartbeat: Duration = option(
        "Interval of heartbeats to consumers of a shard without changes; 0s for none.", default="0s", ge=0
    )

    def spec(self) -> FeedSpec:
        """The feed in the form that sinks take."""
        return FeedSpec(int(self.expiration * 1000), self.shards, self.before)

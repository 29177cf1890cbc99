"""The change feed of a table: the changes of its rows in order, in a table of the same store."""

from ingest.api.feature_surface import FeatureSurface, FunctionWord, GroupWord
from ingest.api.feeds import FEED

SURFACE = FeatureSurface(
    commands={
        "Use the tables": {
            "feed": GroupWord(
                "Read the change feeds of tables.",
                {
                    "list": FunctionWord("List the tables with a change feed.", "ingest.cli.feed:list_"),
                    "describe": FunctionWord("Describe the change feed of a table.", "ingest.cli.feed:describe"),
                    "iterator": FunctionWord("Print the place in a shard where to read.", "ingest.cli.feed:iterator"),
                    "records": FunctionWord("Show the next changes of a shard.", "ingest.cli.feed:records"),
                    "consume": FunctionWord(
                        "Copy the changes of a table to stdout or a topic.", "ingest.cli.feed_consume:consume"
                    ),
                },
                GroupWord(
                    "Feeds.",
                    {
                        "groups": FunctionWord(
                            "List the consumer groups of a change feed, or remove one.", "ingest.cli.feed:groups"
                        ),
                        "split": FunctionWord("Divide a shard in two.", "ingest.cli.feed:split"),
                        "merge": FunctionWord("Replace two adjacent shards by one.", "ingest.cli.feed:merge"),
                    },
                ),
            )
        }
    },
    watches=("ingest.service.feed_watch:FeedWatch",),
    metrics="sinks.feed.metrics:METRICS",
    undeclared={FEED: "sinks.feed.errors:undeclared"},
)

"""A change feed as a feature of a table; planning imports no writer, so that `explain` and `test` start faster."""

from typing import Any

from ingest.api import FeedSpec
from ingest.api.feeds import FEED
from ingest.api.table_feature import Locator, TableFeature, WriterPlace
from ingest.api.table_writer import FirstWriter, TableWriter


class Feed(TableFeature):
    """The changes of each split become rows of the feed, durable before the rows that they describe."""

    name = FEED
    needs_ranks = True
    only_named = True
    is_in_dry_runs = False

    def planned(self, table: Any, locator: Locator) -> FeedSpec | None:  # noqa: ARG002
        """The feed as declared."""
        feed: FeedSpec | None = table.spec().feed
        return feed

    def writer(self, next_writer: TableWriter, planned: FeedSpec, place: WriterPlace) -> FirstWriter:
        """Writes the changes, then the rows."""
        from sinks.feed.feed_writer import FeedWriter

        return FeedWriter(
            next_writer,
            place.table,
            planned,
            store_name=place.store,
            reader=place.reader,
            withdraws=place.withdraws,
            is_updated="updates" in place.features,
            max_put_bytes=place.max_put_bytes,
        )

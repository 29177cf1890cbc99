"""A change feed as a feature of a table; planning imports no writer, so that `explain` and `test` start faster."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.api import FeedSpec, TableSpec
from ingest.api.declared_table import CheckedFile, CheckedTable, DeclaredTable, Locator
from ingest.api.driver_feature import DriverTables
from ingest.api.feeds import FEED, feed_table_spec
from ingest.api.table_feature import TableFeature, WriterPlace
from ingest.api.table_writer import FirstWriter, TableWriter
from sinks.feed.checks import check_feed
from sinks.feed.options import FeedOptions

if TYPE_CHECKING:
    from sinks.feed.owned_feeds import OwnedFeeds


class Feed(TableFeature[FeedOptions]):
    """The changes of each split become rows of the feed, durable before the rows that they describe."""

    name = FEED
    text = (
        "Change feed: what the pipeline writes to this table, in order, for 'attr2hbase feed'. Removing it closes the "
        "feed at the next start or reload."
    )
    example = MappingProxyType({"expiration": "24h", "shards": 4})
    options_model = FeedOptions
    needs_ranks = True
    only_named = True
    is_in_dry_runs = False
    has_owner = True
    is_followed = True
    words = "a feed"

    def check(self, options: FeedOptions, table: CheckedTable, file: CheckedFile) -> None:
        """Report a table whose feed cannot be written, and sinks that cannot write one."""
        check_feed(options, table, file)

    def declared(self, spec: TableSpec, table: DeclaredTable) -> TableSpec:
        """With the feed."""
        return replace(spec, feed=self.planned(table))

    def internal_tables(self, spec: TableSpec) -> Sequence[TableSpec]:
        """The table of the feed rows."""
        feed = feed_table_spec(spec)
        return () if feed is None else (feed,)

    def is_in(self, spec: TableSpec) -> bool:
        """Whether it has a feed."""
        return spec.feed is not None

    def on_driver(self, tables: DriverTables) -> "OwnedFeeds":
        """Opens and closes feeds, chooses their shards, and rolls their changes forward or back."""
        from sinks.feed.owned_feeds import OwnedFeeds

        return OwnedFeeds(tables)

    def planned(self, table: DeclaredTable, locator: Locator | None = None) -> FeedSpec | None:  # noqa: ARG002
        """The feed as declared."""
        feed = self.options_of(table)
        return None if feed is None else feed.spec()

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

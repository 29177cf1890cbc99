"""Checks the tables with a change feed, and their sinks."""

from ingest.api import Finding
from ingest.api.declared_table import CheckedFile, CheckedTable
from ingest.api.feeds import feed_table
from sinks.feed.options import FeedOptions


def check_feed(feed: FeedOptions, table: CheckedTable, file: CheckedFile) -> None:
    """
    Report a table whose feed cannot be written, and sinks that cannot write one.

    A row that is lost after its change was read would make the feed wrong without a trace; and only one pipeline can
    say up to where the changes of a table are complete.
    """
    name, of_feed = table.name, feed_table(table.name)
    if of_feed in file.tables:
        message = f'table "{of_feed}" is declared, and has the change feed of table "{name}"'
        file.tables[of_feed].report(Finding((), message, f'remove it, or the change feed of "{name}"'))
    else:
        for sink in file.sinks:
            if sink.settings.fixed_table == of_feed:
                message = f'table "{of_feed}" has the change feed of table "{name}", which no sink writes'
                sink.report(Finding(("table",), message, "use another table"))
    _check_options(feed, table)
    for sink in table.sinks:
        for path, durability in sink.settings.named_durabilities():
            if durability.may_lose_rows:
                message = f'table "{name}" has a change feed, and a crash of the store loses rows with `{durability}`'
                sink.report(Finding(path, message, "leave it out"))
        for path, _ in sink.settings.named_ttls():
            message = f'table "{name}" has a change feed, and a change does not say when its cells expire'
            sink.report(Finding(path, message, "write `ttl` of the family under `tables`, or leave `feed` out"))
        if (first := table.sinks[0].pipeline) != sink.pipeline:
            message = f'pipeline {first} already writes table "{name}" with its feed, and only one pipeline may'
            sink.report(Finding(("table",), message, "use a table for each pipeline"))


def _check_options(feed: FeedOptions, table: CheckedTable) -> None:
    """Report options of a table that its feed excludes."""
    name, blobs = table.name, table.options.blobs
    if feed.before and table.options.updates is not None:
        message = f'table "{name}" has deferred updates, and a task does not merge them to read a row'
        table.report(Finding(("feed", "before"), message, "leave `before` out"))
    if blobs is not None and blobs.threshold is not None:
        message = f'table "{name}" has a change feed, and a change has the values of its cells, not pointers to blobs'
        table.report(Finding(("blobs", "threshold"), message, "leave `threshold` or `feed` out"))

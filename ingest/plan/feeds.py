"""Tables with a change feed, in a plan."""

from ingest.api import FeedSpec
from ingest.config.model import Configuration, Pipeline


def feeds_of(configuration: Configuration, pipeline: Pipeline) -> dict[str, dict[str, FeedSpec]]:
    """Store -> table -> its feed, for the tables that a pipeline writes."""
    found: dict[str, dict[str, FeedSpec]] = {}
    for name in sorted(configuration.tables):
        table = configuration.tables[name]
        feed = table.spec().feed
        if feed is not None and (table.store, name) in pipeline.targets:
            found.setdefault(table.store, {})[name] = feed
    return found

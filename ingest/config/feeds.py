"""Checks the sinks of tables with a change feed."""

from collections.abc import Iterator

from ingest.api import Durability, SinkSettings
from ingest.api.feeds import feed_table
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig, PartialPipeline, PartialTable
from ingest.config.problems import Kind
from ingest.config.tables import FeedOptions

_LOSSY = (Durability.SKIP, Durability.ASYNC)


def check_feeds(partial_config: PartialConfig, binding: Binding) -> None:
    """
    Report tables whose feed cannot be written, and sinks that cannot write one.

    A row that is lost after its change was read would make the feed wrong without a trace; and only one pipeline can
    say up to where the changes of a table are complete.
    """
    feeds = {feed_table(name): name for name, table in partial_config.tables.items() if table.options.feed is not None}
    for name in partial_config.tables.keys() & feeds.keys():
        message = f'table "{name}" is declared, and has the change feed of table "{feeds[name]}"'
        hint = f'remove it, or the change feed of "{feeds[name]}"'
        binding.problem(Kind.CONFLICT, partial_config.tables[name].location, message, hint)
    for name, declared in partial_config.tables.items():
        if declared.options.feed is not None:
            _check_options(name, declared, declared.options.feed, binding)
    writers: dict[str, str] = {}
    for pipeline in partial_config.pipelines.values():
        for sink in pipeline.sinks:
            target = sink.settings.fixed_table or ""
            if target in feeds and target not in partial_config.tables:
                message = f'table "{target}" has the change feed of table "{feeds[target]}", which no sink writes'
                binding.problem(Kind.CONFLICT, sink.place("table"), message, "use another table")
        for sink, name in _sinks_of_feeds(pipeline, partial_config):
            _check_durability(sink, name, binding)
            if (first := writers.setdefault(name, pipeline.name)) != pipeline.name:
                message = f'pipeline {first} already writes table "{name}" with its feed, and only one pipeline may'
                binding.problem(Kind.CONFLICT, sink.place("table"), message, "use a table for each pipeline")


def _check_options(name: str, table: PartialTable, feed: FeedOptions, binding: Binding) -> None:
    """Report options of a table that its feed excludes."""
    places = locations(table.node)
    if feed.before and table.options.updates is not None:
        message = f'table "{name}" has deferred updates, and a task does not merge them to read a row'
        binding.problem(Kind.CONFLICT, places.get(("feed", "before"), table.location), message, "leave `before` out")
    blobs = table.options.blobs
    if blobs is not None and blobs.threshold is not None:
        place = places.get(("blobs", "threshold"), table.location)
        message = f'table "{name}" has a change feed, and a change has the values of its cells, not pointers to blobs'
        binding.problem(Kind.CONFLICT, place, message, "leave `threshold` or `feed` out")


def _sinks_of_feeds(
    pipeline: PartialPipeline, partial_config: PartialConfig
) -> Iterator[tuple[Component[SinkSettings], str]]:
    only = partial_config.only_store()
    for sink in pipeline.sinks:
        declared = partial_config.tables.get(sink.settings.fixed_table or "")
        if declared is None or declared.options.feed is None:
            continue
        if (sink.settings.store_name or only) == (declared.options.store or only):
            yield sink, sink.settings.fixed_table or ""


def _check_durability(sink: Component[SinkSettings], table: str, binding: Binding) -> None:
    for path, durability in sink.settings.named_durabilities():
        if durability in _LOSSY:
            message = f'table "{table}" has a change feed, and a crash of the store loses rows with `{durability}`'
            binding.problem(Kind.CONFLICT, sink.place(*path), message, "leave it out")

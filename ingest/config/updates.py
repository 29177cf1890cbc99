"""Checks the sinks of tables with deferred updates."""

from collections.abc import Iterator

from ingest.api import Durability, SinkSettings, Tombstones
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place

_LOSSY = (Durability.SKIP, Durability.ASYNC)


def check_updates(partial_config: PartialConfig, binding: Binding) -> None:
    """
    Report sinks that cannot write deferred updates.

    An update that is lost, or deleted by another event, would change a sum without a trace; and only one pipeline can
    say up to where the updates of a table are complete.
    """
    writers: dict[str, str] = {}
    for pipeline in partial_config.pipelines.values():
        for sink, table in _sinks_of_updates(pipeline, partial_config):
            _check_sink(sink, table, pipeline, binding)
            if (first := writers.setdefault(table, pipeline.name)) != pipeline.name:
                message = f'pipeline {first} already writes the updates of table "{table}", and only one pipeline may'
                binding.problem(Kind.CONFLICT, sink.place("table"), message, "use a table for each pipeline")


def writes_updates(sink: Component[SinkSettings], partial_config: PartialConfig) -> bool:
    """Whether a sink writes to a table that is declared with deferred updates."""
    declared = partial_config.tables.get(sink.settings.fixed_table or "")
    if declared is None or declared.options.updates is None:
        return False
    only = partial_config.only_store()
    return (sink.settings.store_name or only) == (declared.options.store or only)


def _sinks_of_updates(
    pipeline: PartialPipeline, partial_config: PartialConfig
) -> Iterator[tuple[Component[SinkSettings], str]]:
    for sink in pipeline.sinks:
        if writes_updates(sink, partial_config):
            yield sink, sink.settings.fixed_table or ""


def _check_sink(sink: Component[SinkSettings], table: str, pipeline: PartialPipeline, binding: Binding) -> None:
    settings = sink.settings

    def problem(place: Place, what: str, hint: str) -> None:
        binding.problem(Kind.CONFLICT, place, f'table "{table}" has deferred updates, and {what}', hint)

    for path, durability in settings.named_durabilities():
        if durability in _LOSSY:
            problem(sink.place(*path), f"a crash of the store loses rows with `{durability}`", "leave it out")
    for path in settings.named_deletes():
        problem(sink.place(*path), "an event cannot delete updates", "use 'ingest rollback', or another table")
    if settings.has_event_time:
        problem(sink.place("timestamp"), "an update has the batch time", "leave it out")
    source = pipeline.source
    if source is not None and source.settings.decoding.tombstones is Tombstones.DELETE:
        problem(source.place("tombstones"), "an event cannot delete updates", "use `tombstones: drop`")

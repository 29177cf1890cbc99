"""Checks tables with deferred updates, and their sinks."""

from collections.abc import Iterator

from ingest.api import Durability, SinkSettings, Tombstones
from ingest.config.column_types import check_family
from ingest.config.components import Binding
from ingest.config.model import Component
from ingest.config.nodes import locations
from ingest.config.partial import PartialConfig, PartialPipeline, PartialTable
from ingest.config.problems import Kind, Place
from ingest.config.tables import UpdatesOptions

_LOSSY = (Durability.SKIP, Durability.ASYNC)


def check_updates(partial_config: PartialConfig, binding: Binding) -> None:
    """
    Report deferred updates that cannot be merged or compacted as declared, and sinks that cannot write them.

    An update that is lost, or deleted by another event, would change a sum without a trace; and only one pipeline can
    say up to where the updates of a table are complete.
    """
    for name, table in partial_config.tables.items():
        if table.options.updates is not None:
            _check_columns(name, table, table.options.updates, partial_config, binding)
            _check_compact(name, table, table.options.updates, partial_config, binding)
    writers: dict[str, str] = {}
    for pipeline in partial_config.pipelines.values():
        for sink, written in _sinks_of_updates(pipeline, partial_config):
            _check_sink(sink, written, pipeline, binding)
            if (first := writers.setdefault(written, pipeline.name)) != pipeline.name:
                message = f'pipeline {first} already writes the updates of table "{written}", and only one pipeline may'
                binding.problem(Kind.CONFLICT, sink.place("table"), message, "use a table for each pipeline")


def writes_updates(sink: Component[SinkSettings], partial_config: PartialConfig) -> bool:
    """Whether a sink writes to a table that is declared with deferred updates."""
    declared = partial_config.tables.get(sink.settings.fixed_table or "")
    if declared is None or declared.options.updates is None:
        return False
    only = partial_config.only_store()
    return (sink.settings.store_name or only) == (declared.options.store or only)


def _check_columns(
    name: str, table: PartialTable, updates: UpdatesOptions, partial_config: PartialConfig, binding: Binding
) -> None:
    places = locations(table.node)
    if not updates.columns and (place := places.get(("updates", "columns"))) is not None:
        binding.warning(Kind.DOUBTFUL, place, "no column is listed, so the processor merges all", "leave `columns` out")
    for index, column in enumerate(updates.columns):
        place = places.get(("updates", "columns", index), table.location)
        check_family(column, name, table, place, partial_config, binding)


def _check_compact(
    name: str, table: PartialTable, updates: UpdatesOptions, partial_config: PartialConfig, binding: Binding
) -> None:
    """A job on Spark leaves a task slot to the pipelines; an embedded store is compacted without Spark."""
    store = partial_config.stores.get(table.options.store or partial_config.only_store() or "")
    is_on_spark = store is not None and store.settings.own_folder is None
    if updates.compact is not None and is_on_spark and partial_config.spark.local_slots == 1:
        place = locations(table.node).get(("updates", "compact"), table.location)
        message = f'table "{name}" is never compacted: Spark has one task slot, and that is left to the pipelines'
        binding.warning(Kind.DOUBTFUL, place, message, "give Spark more slots, as in spark: {master: local[2]}")


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
        problem(sink.place(*path), "an event cannot delete updates", "use 'attr2hbase rollback', or another table")
    if settings.has_event_time:
        problem(sink.place("timestamp"), "an update has the batch time", "leave it out")
    source = pipeline.source
    if source is not None and source.settings.decoding.tombstones is Tombstones.DELETE:
        problem(source.place("tombstones"), "an event cannot delete updates", "use `tombstones: drop`")

"""Builds the mutation of a row for all mappers: deletes, tombstones, durability, timestamp, ttl, limits, table."""

from collections.abc import Callable

from ingest.api import MAX_ROW_KEY_BYTES, Event, Put
from ingest.api.reasons import drop_reason
from ingest.expressions import Template
from sinks.mapping.guards import check_row_key, check_time, size_guard
from sinks.mapping.mapper import Mapped, MapperSettings, Skipped, Timestamp
from sinks.mapping.rules import WHOLE_ROW, DeleteTarget, compile_rules
from sinks.mapping.tables import TableNames
from sinks.mapping.ttl import check_ttl, ttl_renderer

_NO_CELLS = Skipped(
    drop_reason(
        "no_cells",
        "The event has a row key, but no attribute that becomes a cell.",
        "Set an attribute PREFIXfamily:qualifier, or `write_body` of the sink.",
    )
)


def mutation_maker(
    settings: MapperSettings, table: Template, cells: Callable[[Event], dict[bytes, bytes]]
) -> Callable[[bytes, Event, int], tuple[Mapped] | Skipped]:
    """
    A function that builds the mutation of a row; the options are evaluated once, here.

    The function checks row key and timestamp before it calls `cells`.

    Args:
        settings: of the sink.
        table: its template.
        cells: event -> column -> value; not called for a delete. It may raise MappingError.

    Returns:
        (row key, event, batch time) -> a tuple of one put or one delete; raises MappingError if the event cannot be
        written.
    """
    check_sizes = size_guard(settings.columns)
    usual_durability = settings.row_durability
    action_of = compile_rules(settings.rules, usual_durability)
    of_event = settings.timestamp is Timestamp.EVENT
    ttl_of = None if settings.ttl is None else ttl_renderer(settings.ttl)
    names = TableNames(table)
    one_table = names.constant

    def mutation_of(row: bytes, event: Event, batch_time_ms: int) -> tuple[Mapped] | Skipped:
        if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
            check_row_key(row)
        if of_event:
            batch_time_ms = event.timestamp_ms
            check_time(batch_time_ms)
        durability = usual_durability
        target: DeleteTarget | None = None
        if action_of is not None:
            durability, target = action_of(event)
        if event.tombstone:
            target = WHOLE_ROW
        if target is not None:
            return ((one_table or names.of(event), target.delete(row, batch_time_ms, durability)),)
        found = cells(event)
        if not found:
            return _NO_CELLS
        if check_sizes is not None:
            check_sizes(found)
        put = Put(row, found, batch_time_ms, durability)
        if ttl_of is not None and (ttl_ms := ttl_of(event)) is not None:
            check_ttl(ttl_ms, batch_time_ms)
            put.ttl_ms = ttl_ms
        return ((one_table or names.of(event), put),)

    return mutation_of

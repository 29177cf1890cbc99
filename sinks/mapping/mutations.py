"""What all sinks of a mapper share: deletes, tombstones, the WAL flag, the time, limits, the table."""

from collections.abc import Callable

from ingest.api import MAX_ROW_KEY_BYTES, Event, Put
from ingest.expressions import Template
from sinks.mapping.guards import check_row_key, check_time, size_guard
from sinks.mapping.mapper import Mapped, MapperSettings, Skipped, Timestamp
from sinks.mapping.rules import WHOLE_ROW, Target, treatment_of
from sinks.mapping.tables import TableNames

_NO_CELLS = Skipped("no_cells")


def mutation_maker(
    settings: MapperSettings, table: Template, cells: Callable[[Event], dict[bytes, bytes]]
) -> Callable[[bytes, Event, int], tuple[Mapped] | Skipped]:
    """
    A function that builds the mutation of a row; the options are evaluated here, once.

    That function checks row key and time, for every mapper, before it requests the cells, and also under `explain`. A
    store still refuses what it cannot hold.

    Args:
        settings: of the sink.
        table: its template.
        cells: the columns and values of an event; asked only when they are written. It may raise MappingError.

    Returns:
        (row key, event, time of the batch) -> a tuple of one put, or of one delete; it raises MappingError when the
        event cannot be written.
    """
    check_sizes = size_guard(settings.columns)
    to_wal = settings.write_to_wal
    treatment = treatment_of(settings.rules, write_to_wal=to_wal)
    of_event = settings.timestamp is Timestamp.EVENT
    names = TableNames(table)
    one_table = names.constant

    def mutation_of(row: bytes, event: Event, batch_time_ms: int) -> tuple[Mapped] | Skipped:
        if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
            check_row_key(row)
        if of_event:
            batch_time_ms = event.timestamp_ms
            check_time(batch_time_ms)
        wal = to_wal
        target: Target | None = None
        if treatment is not None:
            wal, target = treatment(event)
        if event.tombstone:
            target = WHOLE_ROW
        if target is not None:
            return ((one_table or names.of(event), target.delete(row, batch_time_ms, wal=wal)),)
        found = cells(event)
        if not found:
            return _NO_CELLS
        if check_sizes is not None:
            check_sizes(found)
        return ((one_table or names.of(event), Put(row, found, batch_time_ms, wal)),)

    return mutation_of

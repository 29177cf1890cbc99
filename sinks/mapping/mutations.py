"""What every sink does once it knows the row: deletes, tombstones, the WAL switch, the time, limits, the table."""

from collections.abc import Callable

from ingest.api import MAX_ROW_KEY_BYTES, Event, Put
from ingest.expressions import Template
from sinks.mapping.guards import check_row_key, check_time, size_guard
from sinks.mapping.mapper import Mapped, SinkSettings, Skipped, Timestamp
from sinks.mapping.rules import WHOLE_ROW, Target, treatment_of
from sinks.mapping.tables import TableNames

_NO_CELLS = Skipped("no_cells")


class Mutations:
    """
    Makes the mutation of one row; all that the options say is decided at construction.

    Here, where every mapper's mutations come from, and nowhere later, row key and time are checked: before the cells
    are asked for, and also where events are only explained. A store still refuses what it can not hold, whoever sends
    it.

    Args:
        cells: the columns and values of an event; asked only when they are written. It may raise MappingError.
    """

    def __init__(self, settings: SinkSettings, table: Template, cells: Callable[[Event], dict[bytes, bytes]]) -> None:
        self._cells = cells
        self._check_sizes = size_guard(settings.columns)
        self._treatment = treatment_of(settings.rules, write_to_wal=settings.write_to_wal)
        self._wal = settings.write_to_wal
        self._of_event = settings.timestamp is Timestamp.EVENT
        self._table_names = TableNames(table)
        self._table = self._table_names.constant

    def of(self, row: bytes, event: Event, batch_time_ms: int) -> Mapped | Skipped:
        """
        One put, or one delete, of a row.

        Raises:
            MappingError: the event can not be written.
        """
        if not 0 < len(row) <= MAX_ROW_KEY_BYTES:
            check_row_key(row)
        if self._of_event:
            batch_time_ms = event.timestamp_ms
            check_time(batch_time_ms)
        wal = self._wal
        target: Target | None = None
        if self._treatment is not None:
            wal, target = self._treatment(event)
        if event.tombstone:
            target = WHOLE_ROW
        if target is not None:
            return self._table or self._table_names.of(event), target.delete(row, batch_time_ms, wal=wal)
        cells = self._cells(event)
        if not cells:
            return _NO_CELLS
        if self._check_sizes is not None:
            self._check_sizes(cells)
        return self._table or self._table_names.of(event), Put(row, cells, batch_time_ms, wal)

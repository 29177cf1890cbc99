"""The tables with deferred updates that a pipeline writes: their records, their owner and their marks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ingest.api import ConflictError, Store, TableSpec
from sinks.rewriting.taken_back import remove_taken_back
from sinks.scanning.update_rows import take_back
from sinks.table_records import record_updates
from sinks.updates.marks import MARK, OWNER, TableMark
from sinks.writing.driver_store import DriverStore


class OwnedTables:
    """
    The tables with deferred updates of one pipeline, on the driver.

    A table has one owner, because only the pipeline that writes all of its updates knows up to which batch time they
    are complete: the mark. A micro-batch moves the marks as its last act before it is acknowledged.

    Called by one thread. Order: `claim` at each start of the pipeline, then the other methods.

    Args:
        pipeline: its name.
        stores: the driver's, by name.
        tables: name of a store -> declarations of the tables.
    """

    def __init__(
        self, pipeline: str, stores: Mapping[str, DriverStore], tables: Mapping[str, Sequence[TableSpec]]
    ) -> None:
        self._pipeline = pipeline
        self._stores = stores
        self._tables = tables
        self._marks: dict[tuple[str, str], str | None] = {}

    def __bool__(self) -> bool:
        return any(self._tables.values())

    def claim(self, *, take_over: bool = False) -> None:
        """
        Record what the file declares of the tables, note the pipeline as their owner, and read their marks.

        Args:
            take_over: also take tables that another pipeline owns.

        Raises:
            UpdatesDifferError: a table has rows that were written in another way.
            ConflictError: another pipeline owns a table.
            StoreError: a store is unavailable.
        """
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                self._marks[name, spec.name] = self._claim(store, spec, take_over=take_over)

    def mark(self) -> TableMark | None:
        """
        The oldest mark: up to it, all tables are complete; None if a table has none.

        Raises:
            IntegrityError: a mark cannot be read.
        """
        marks = [TableMark.from_text(text, table) for (_, table), text in self._marks.items() if text is not None]
        return min(marks, key=lambda mark: mark.time_ms) if marks and len(marks) == len(self._marks) else None

    def take_back(self) -> None:
        """
        Delete the updates above the oldest mark, before a new checkpoint reads their events again.

        Raises:
            ConflictError: as `sinks.scanning.update_rows.take_back`.
            StoreError: a store is unavailable.
        """
        mark = self.mark()
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                take_back(store, spec.name, 0 if mark is None else mark.time_ms)

    def is_complete(self, time_ms: int) -> bool:
        """Whether a micro-batch of this time is at or below the mark of each table."""
        mark = self.mark()
        return mark is not None and time_ms <= mark.time_ms

    def move(self, mark: TableMark) -> None:
        """
        Move the marks to a complete micro-batch; a mark that is above it stays.

        Raises:
            ConflictError: another pipeline has taken over a table.
            StoreError: a store is unavailable; the caller repeats the call.
        """
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                self._marks[name, spec.name] = self._moved(store, spec.name, self._marks[name, spec.name], mark)

    def replayed(self, time_ms: int) -> None:
        """
        Note that the micro-batch of this time, which a rollback had taken back, was replayed.

        Raises:
            StoreError: a store is unavailable.
        """
        for name, spec in self._declared():
            with self._stores[name].held() as store:
                remove_taken_back(store, spec.name, [time_ms])

    def _claim(self, store: Store[Any], spec: TableSpec, *, take_over: bool) -> str | None:
        """Claim one table; returns its mark."""
        record_updates(store, spec)
        found = store.properties(spec.name)
        owner = found.get(OWNER)
        if owner not in (None, self._pipeline) and not take_over:
            raise ConflictError(
                f'pipeline "{owner}" owns table "{spec.name}" with its deferred updates',
                code="other_owner",
                hint=f'if "{owner}" has ended for good, run with --take-over; else use another table',
            )
        if owner != self._pipeline and not store.set_property(spec.name, OWNER, owner, self._pipeline):
            raise self._lost(spec.name)
        return found.get(MARK)

    def _moved(self, store: Store[Any], table: str, before: str | None, mark: TableMark) -> str:
        """Move the mark of one table; returns its mark."""
        known = None if before is None else TableMark.from_text(before, table)
        if before is not None and known is not None and known.time_ms >= mark.time_ms:
            return before
        is_owner = store.properties(table).get(OWNER) == self._pipeline
        if not is_owner or not store.set_property(table, MARK, before, mark.to_text()):
            raise self._lost(table)
        return mark.to_text()

    def _declared(self) -> Iterator[tuple[str, TableSpec]]:
        return ((name, spec) for name, specs in self._tables.items() for spec in specs)

    def _lost(self, table: str) -> ConflictError:
        return ConflictError(
            f'pipeline "{self._pipeline}" no longer owns table "{table}": another one has taken it over',
            code="other_owner",
            hint="end one of the two pipelines; run the other with --take-over",
        )

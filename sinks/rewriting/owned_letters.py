"""What the tables with deferred updates of a pipeline know of its dead letters, on the driver."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ingest.api import RecordPlace, TableSpec
from sinks.rewriting.counted_letters import CountedLetters, change_counted, counted_letters
from sinks.rewriting.rolled_back import add_rolled_back, remove_rolled_back
from sinks.updates.intervals import Interval
from sinks.writing.driver_store import DriverStore


class CountedRecords(NamedTuple):
    """
    Records that a sink has counted in a table.

    Attributes:
        source_ms: as in `sinks.rewriting.counted_letters.CountedRun`.
        ranges: each from the place of its first record up to an end.
    """

    table: str
    sink: str
    source_ms: int
    ranges: Sequence[tuple[RecordPlace, int]]


class OwnedLetters:
    """
    The records of dead letters of the tables with deferred updates of one pipeline; changed durably by each call.

    Args:
        stores: the driver's, by name.
        tables: name of a store -> declarations of the tables; those without deferred updates are ignored.
    """

    def __init__(self, stores: Mapping[str, DriverStore], tables: Mapping[str, Sequence[TableSpec]]) -> None:
        self._stores = stores
        self._tables = {
            name: [spec.name for spec in specs if spec.updates is not None] for name, specs in tables.items()
        }

    def read(self) -> dict[str, CountedLetters]:
        """
        What each table knows.

        Raises:
            IntegrityError: a record cannot be read.
            StoreError: a store is unavailable.
        """
        found = {}
        for name, table in self._all():
            with self._stores[name].held() as store:
                found[table] = counted_letters(store, table)
        return found

    def count(self, time_ms: int, counted: Iterable[CountedRecords]) -> None:
        """
        Note the records that a replay has counted, before the committed positions move to the time of their updates.

        They replace those that it had noted before it was interrupted: some of these may have failed since.

        Raises:
            IngestError: as `change_counted`.
        """
        by_table: dict[str, list[CountedRecords]] = {}
        for each in counted:
            by_table.setdefault(each.table, []).append(each)

        def changed(known: CountedLetters, added: Sequence[CountedRecords]) -> CountedLetters:
            known = known.without(time_ms)
            for each in added:
                known = known.with_run(time_ms, each.source_ms, each.sink, each.ranges)
            return known

        for _, table in self._all():
            self._change(partial(changed, added=by_table.get(table, ())), [table])

    def remove_after(self, table: str, time_ms: int) -> None:
        """
        Note that the updates of a table after a time are removed.

        Raises:
            IngestError: as `change_counted`.
        """
        self._change(lambda known: known.without_after(time_ms), [table])

    def note_run_again(self, first_ms: Mapping[str, int], last_ms: int) -> None:
        """
        Note that the records of micro-batches run again in later ones, since their updates are removed.

        Args:
            first_ms: table -> the first of their times.
            last_ms: the last of their times.

        Raises:
            IngestError: as `change_counted`.
        """
        for table, first in first_ms.items():
            if first <= last_ms:
                self._change(partial(CountedLetters.with_run_again, intervals=[Interval(first, last_ms)]), [table])

    def forget(self, time_ms: int) -> None:
        """
        Note that records of micro-batches up to a time may run again, and may be counted again.

        Raises:
            IngestError: as `change_counted`.
        """
        self._change(lambda known: known.unknown_up_to(time_ms))

    def note_replayed(self, time_ms: int, tables: Collection[str], *, is_whole: bool = True) -> None:
        """
        Note that the micro-batch of this time, which a rollback had rolled back from these tables, was replayed.

        Args:
            time_ms: its time.
            tables: their names.
            is_whole: whether all of its records ran again.

        Raises:
            IngestError: as `change_counted`.
        """
        for name, table in self._all():
            if table in tables:
                with self._stores[name].held() as store:
                    if is_whole:
                        change_counted(store, table, lambda known: known.with_run_again([Interval(time_ms, time_ms)]))
                    remove_rolled_back(store, table, [time_ms])

    def note_rolled_back(self, time_ms: int, tables: Collection[str]) -> None:
        """
        Note that the updates of a replayed micro-batch at this time were removed from these tables.

        Raises:
            IngestError: as `add_rolled_back`.
        """
        for name, table in self._all():
            if table in tables:
                with self._stores[name].held() as store:
                    add_rolled_back(store, table, [Interval(time_ms, time_ms)])

    def _change(
        self, change: Callable[[CountedLetters], CountedLetters], tables: Collection[str] | None = None
    ) -> None:
        for name, table in self._all():
            if tables is None or table in tables:
                with self._stores[name].held() as store:
                    change_counted(store, table, change)

    def _all(self) -> Iterator[tuple[str, str]]:
        return ((name, table) for name, tables in self._tables.items() for table in tables)

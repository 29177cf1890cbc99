"""The tables with deferred updates of one pipeline, on the driver."""

from collections.abc import Mapping
from typing import Any

from ingest.api import Store, TableSpec
from ingest.api.driver_feature import DriverFeature, DriverTables, Released, StartAfter
from sinks.owning.owner import release
from sinks.rewriting.counted_letters import change_counted
from sinks.rewriting.incomplete_updates import remove_updates, remove_updates_after
from sinks.rewriting.owned_letters import OwnedLetters
from sinks.rewriting.withdrawn_times import withdrawn_times
from sinks.rowkeys.row_format import UPDATES
from sinks.table_records import record_updates


class OwnedUpdates(DriverFeature):
    """
    Withdraws the updates of micro-batches whose events are counted again, and notes which dead letters are counted.

    Attributes:
        letters: what the tables know of dead letters.
    """

    def __init__(self, tables: DriverTables) -> None:
        self._tables = tables
        self.letters = OwnedLetters(tables.stores, tables.owned)

    def release_others(self) -> list[Released]:
        """
        End the deferred updates of tables without rows.

        Raises:
            UpdatesDifferError: a table has rows of deferred updates.
        """
        for name, specs in self._tables.plain.items():
            for spec in specs:
                with self._tables.stores[name].held() as store:
                    if UPDATES in store.properties(spec.name):
                        record_updates(store, spec)
                        release(store, spec.name, self._tables.owning - {UPDATES})
        return []

    def newest_edge_ms(self) -> int:
        """Above all withdrawn times, since updates of these do not count; 0 if there are none."""
        edges = [0]
        for name, specs in self._tables.owned.items():
            for spec in specs:
                if spec.updates is not None:
                    with self._tables.stores[name].held() as store:
                        edges.append(withdrawn_times(store, spec.name).last_ms + 1)
        return max(edges)

    def withdraw(self, store: Store[Any], spec: TableSpec, first_ms: int, last_ms: int) -> None:
        """Delete the updates; raises as `sinks.rewriting.incomplete_updates.remove_updates`."""
        remove_updates(store, spec.name, first_ms, last_ms)

    def withdraw_after(self, store: Store[Any], spec: TableSpec, committed_ms: int, start_after: StartAfter) -> None:
        """Delete the updates, and what the table knows of the dead letters among them."""
        remove_updates_after(store, spec.name, committed_ms, start_after)
        change_counted(store, spec.name, lambda known: known.without_after(committed_ms))

    def runs_again(self, first_ms: Mapping[str, int], last_ms: int) -> None:
        """A topic keeps the dead letters of these times: they are not counted again."""
        self.letters.note_run_again(first_ms, last_ms)

    def may_run_again(self, until_ms: int) -> None:
        """Dead letters up to this time are not known to be counted."""
        self.letters.forget(until_ms)

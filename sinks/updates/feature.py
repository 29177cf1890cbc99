"""Deferred updates as a feature of a table; planning imports no writer, so that `explain` and `test` start faster."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ingest.api.table_feature import Locator, TableFeature, WriterPlace
from ingest.api.table_writer import FirstWriter, TableWriter
from sinks.updates.merging import Merging


def located_updates(updates: Any, locator: Locator) -> Any:
    """
    The deferred updates of a table (`ingest.config.model.TableUpdates`) for a plan or `live_merging`.

    Raises:
        CatalogError: the processor cannot be imported.
    """
    locator.load("processors", updates.processor.kind)
    processor = locator.located("processors", updates.processor)
    return replace(updates, processor=replace(processor, name=processor.kind))


class Updates(TableFeature):
    """The events of a split become one update row of each row; a processor merges the update rows of a row."""

    name = "updates"
    needs_ranks = True
    only_named = True

    def planned(self, table: Any, locator: Locator) -> Any:
        """`ingest.config.model.TableUpdates`, with the location of the processor."""
        return None if table.updates is None else located_updates(table.updates, locator)

    def components(self, planned: Any) -> Sequence[Any]:
        """The processor."""
        return (planned.processor,)

    def writer(self, next_writer: TableWriter, planned: Any, place: WriterPlace) -> FirstWriter:
        """Folds the updates of a split."""
        from sinks.updates.update_writer import UpdateWriter

        merging = Merging(place.create(planned.processor), planned.columns)
        return UpdateWriter(next_writer, place.table, merging, store_name=place.store, withdraws=place.withdraws)

"""Deferred updates as a feature of a table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ingest.api.table_feature import Locator, TableFeature, WriterPlace
from ingest.api.table_writer import FirstWriter, TableWriter
from sinks.updates.merging import Merging
from sinks.updates.update_writer import UpdateWriter


class Updates(TableFeature):
    """The events of a split become one update row of each row; a processor merges the update rows of a row."""

    name = "updates"
    needs_ranks = True
    only_named = True

    def planned(self, table: Any, locator: Locator) -> Any:
        """`ingest.config.model.TableUpdates`, with the location of the processor."""
        updates = table.updates
        if updates is None:
            return None
        locator.load("processors", updates.processor.kind)
        processor = locator.located("processors", updates.processor)
        return replace(updates, processor=replace(processor, name=processor.kind))

    def components(self, planned: Any) -> Sequence[Any]:
        """The processor."""
        return (planned.processor,)

    def writer(self, next_writer: TableWriter, planned: Any, place: WriterPlace) -> FirstWriter:
        """Folds the updates of a split."""
        merging = Merging(place.create(planned.processor), planned.columns)
        return UpdateWriter(next_writer, place.table, merging, store_name=place.store, withdraws=place.withdraws)

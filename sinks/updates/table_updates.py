"""The deferred updates of a table, as they are declared."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ingest.api import UpdatesDifferError
from ingest.api.declared_table import Locator
from ingest.api.notation import to_notation

if TYPE_CHECKING:  # reading a file merges nothing
    from sinks.updates.merging import Merging

UPDATES_HINT = (
    "declare `updates` of the table as recorded, or read its update rows, with --raw or the option raw of a DataFrame"
)


@dataclass(frozen=True, slots=True)
class TableUpdates:
    """
    The deferred updates of a table.

    Attributes:
        processor: `ingest.config.model.Component` of the one that merges the updates of a column.
        columns: columns and families that it merges; all if empty.
    """

    processor: Any
    columns: tuple[bytes, ...] = ()

    def identity(self) -> str:
        """Canonical text, recorded with the table: rows written with one are not read with another."""
        columns = [to_notation(column) for column in sorted(self.columns)]
        options = self.processor.settings.model_dump(mode="json")
        return json.dumps({"processor": self.processor.kind, "options": options, "columns": columns}, sort_keys=True)

    def merging(self) -> "Merging":
        """How the update rows of the table are merged; of located updates."""
        from ingest.plugins.creating import create
        from sinks.updates.merging import Merging

        return Merging(create(self.processor), self.columns)

    def located(self, locator: Locator) -> "TableUpdates":
        """
        The same for a plan or `merging`, with the location of the processor.

        Raises:
            CatalogError: the processor cannot be imported.
        """
        locator.load("processors", self.processor.kind)
        processor = locator.located("processors", self.processor)
        return replace(self, processor=replace(processor, name=processor.kind))


def merging_of(table: str, recorded: str, declared: TableUpdates | None) -> "Merging":
    """
    How a reader merges the update rows of a table.

    Args:
        table: its name.
        recorded: how its updates are merged, as `TableSpec.updates`; not empty.
        declared: its deferred updates in the file, located; None if the file declares none.

    Raises:
        UpdatesDifferError: the file declares none, or others than those that are recorded.
    """
    identity = "" if declared is None else declared.identity()
    if declared is None or identity != recorded:
        raise UpdatesDifferError(table, identity, recorded, hint=UPDATES_HINT)
    return declared.merging()

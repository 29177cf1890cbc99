"""Tables with deferred updates, in a plan."""

from typing import Any

from ingest.api import Store, UpdatesDifferError
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.creating import create
from ingest.plan.features import of_feature
from ingest.plan.plan import Plan
from sinks.rowkeys.row_format import RowFormat
from sinks.scanning.table_reader import UPDATES_HINT
from sinks.updates.feature import Updates
from sinks.updates.merging import Merging
from sinks.updates.table_updates import TableUpdates

UPDATES = Updates.name


def updates_in(plan: Plan) -> dict[str, dict[str, TableUpdates]]:
    """Store -> table -> its deferred updates, for the tables that the sinks of a plan name."""
    return of_feature(plan.features, UPDATES)


def declared_updates(configuration: Configuration, store: str, table: str, catalog: Catalog) -> TableUpdates | None:
    """The deferred updates that a file declares for a table of a store, as planned; None without any."""
    declared = configuration.tables.get(table)
    if declared is None or declared.store != store:
        return None
    return Updates().planned(declared, catalog)


def live_merging(updates: TableUpdates) -> Merging:
    """How the update rows of a table are merged."""
    return Merging(create(updates.processor), updates.columns)


def recorded_merging(store: Store[Any], table: str, declared: TableUpdates | None) -> Merging | None:
    """
    How the update rows of a table are merged, for a `TableReader`; None if it has none.

    Args:
        store: open, for reading or writing.
        table: its name.
        declared: its deferred updates in the file, from `declared_updates`; None if the file declares none.

    Raises:
        UpdatesDifferError: the table's record has deferred updates, and the file declares none, or others.
    """
    recorded = RowFormat.recorded(store, table).updates
    if not recorded:
        return None
    identity = "" if declared is None else declared.identity()
    if declared is None or identity != recorded:
        raise UpdatesDifferError(table, identity, recorded, hint=UPDATES_HINT)
    return live_merging(declared)

"""What a declaration says of a table that is recorded before the table is created."""

from typing import Any

from ingest.api import Store, TableSpec, UpdatesDifferError
from ingest.plugins.surfaces import surfaces_of
from sinks import BUILTIN_FEATURES
from sinks.rowkeys.row_format import UPDATES
from sinks.scanning.stored_rows import has_rows

UNDECLARED = {name: path for surface in surfaces_of(BUILTIN_FEATURES) for name, path in surface.undeclared.items()}
"""As `FeatureSurface.undeclared`, of all features."""


def ensure_declared(store: Store[Any], declared: TableSpec) -> None:
    """
    Create a declared table, or its missing families, with its record.

    Args:
        store: open for writing.
        declared: the table's declaration.

    Raises:
        SchemaError: as `Store.ensure_table`; the table has rows and other deferred updates.
    """
    record_updates(store, declared)
    store.ensure_table(declared)


def refuse_other_updates(store: Store[Any], declared: TableSpec) -> None:
    """
    Refuse a table with rows whose updates are not merged as its declaration says.

    Raises:
        UpdatesDifferError: it is one.
    """
    recorded = store.properties(declared.name).get(UPDATES) or ""
    if recorded != declared.updates and store.families(declared.name) is not None and has_rows(store, declared.name):
        raise UpdatesDifferError(declared.name, declared.updates, recorded)


def record_updates(store: Store[Any], declared: TableSpec) -> None:
    """
    Record how the updates of a table are merged, before it has rows.

    Args:
        store: open for writing.
        declared: the table's declaration; without updates the record is removed.

    Raises:
        UpdatesDifferError: the table has rows that were written in another way.
    """
    recorded = store.properties(declared.name).get(UPDATES)
    if (recorded or "") == declared.updates:
        return
    refuse_other_updates(store, declared)
    if not store.set_property(declared.name, UPDATES, recorded, declared.updates or None):
        raise UpdatesDifferError(declared.name, declared.updates, store.properties(declared.name).get(UPDATES) or "")

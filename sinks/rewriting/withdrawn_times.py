"""The property of a table that has its withdrawn batch times, see `sinks.updates.withdrawn`."""

from typing import Any

from ingest.api import Store
from ingest.durable.property_register import PropertyRegister, calls_of
from ingest.durable.register import changed
from sinks.updates.intervals import Interval
from sinks.updates.withdrawn import WITHDRAWN, Withdrawn


def withdrawn_times(store: Store[Any], table: str) -> Withdrawn:
    """
    The batch times whose updates were withdrawn from a table.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable.
    """
    return Withdrawn.in_properties(store.properties(table), table)


def withdraw_times(store: Store[Any], table: str, interval: Interval) -> None:
    """
    Withdraw batch times: updates of them never count, also those that are written later. Durable when this returns.

    Raises:
        IntegrityError: the property cannot be read.
        StoreError: the store is unavailable; the caller may repeat the call.
    """

    def change(text: str | None) -> str | None:
        known = Withdrawn() if text is None else Withdrawn.of(text, table)
        return known.with_added([interval]).to_text()

    changed(PropertyRegister(calls_of(store), table, WITHDRAWN), change)

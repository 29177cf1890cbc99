"""The stores a driver holds: those it alone may write, and those it makes families in."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ingest.api import Store
from ingest.build import Plan, live_store
from ingest.config.model import Configuration
from sinks.families import FamilyRegistry
from sinks.handover import remove_leftovers


def driver_stores(configuration: Configuration, plans: Iterable[Plan], opened: ExitStack) -> dict[str, Store[Any]]:
    """Open the stores that only the driver may write, with their declared tables, and those that make families."""
    stores: dict[str, Store[Any]] = {}
    for plan in plans:
        for name, part in plan.stores.items():
            store = live_store(part)
            able = store.capabilities
            if not (able.written_by_driver or able.creates_families):
                continue
            if name not in stores:
                store.open()
                opened.callback(store.close)
                stores[name] = store
                if able.written_by_driver:
                    for table in configuration.tables.values():
                        if table.store == name:
                            store.ensure_table(table.spec())
            if able.written_by_driver:
                # only now: whoever holds the store may be reading them
                remove_leftovers(str(incoming_folder(configuration, name, plan.pipeline)))
    return stores


def family_registry(configuration: Configuration, plan: Plan, stores: Mapping[str, Store[Any]]) -> FamilyRegistry:
    """Families of a pipeline's stores, with the limits its sinks set."""
    declared = {(table.store, name): table.spec() for name, table in configuration.tables.items()}
    limits: dict[str, int] = {}
    own: dict[str, frozenset[bytes]] = {}
    for sink in plan.sinks:
        limits[sink.store] = max(limits.get(sink.store, 0), sink.settings.families.max_created)
        own[sink.store] = own.get(sink.store, frozenset()) | sink.settings.own_families
    return FamilyRegistry(stores, declared, limits, own)


def incoming_folder(configuration: Configuration, store: str, pipeline: str) -> Path:
    """Where a pipeline's tasks leave what they hand over to a store; nobody else's business, as its checkpoint is."""
    return configuration.state_dir.resolve() / "incoming" / store / pipeline

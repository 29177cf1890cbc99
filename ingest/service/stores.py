"""The stores a driver has: those it alone may write, and those it makes families in."""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ingest.api import ConfigError, Store
from ingest.build import Plan, live_store
from ingest.config.model import Configuration
from sinks.driver_store import DriverStore
from sinks.families import FamilyRegistry
from sinks.handover import remove_leftovers

FORGOTTEN_S = 7 * 24 * 3600.0
"""What this old pipelines left that are not ours is removed: most likely their names went from the configuration. A
service with a store of the same name may share our state folder, and is at work on what is younger. If it should have
waited longer to deliver something, its batch runs again."""


def driver_stores(configuration: Configuration, plans: Iterable[Plan], opened: ExitStack) -> dict[str, DriverStore]:
    """
    The stores that only the driver may write and those that make families, none of them open.

    When one that only the driver may write is opened, its declared tables are made and what tasks of an earlier process
    left for it is removed.
    """
    pipelines: dict[str, list[str]] = {}
    found: dict[str, Store[Any]] = {}
    for plan in plans:
        for name, part in plan.stores.items():
            store = live_store(part)
            if store.capabilities.written_by_driver or store.capabilities.creates_families:
                found.setdefault(name, store)
                pipelines.setdefault(name, []).append(plan.pipeline)

    def driver_store(name: str) -> DriverStore:
        def prepare(store: Store[Any]) -> None:
            if not store.capabilities.written_by_driver:
                return
            for table in configuration.tables.values():
                if table.store == name:
                    store.ensure_table(table.spec())
            for pipeline in pipelines[name]:
                # only now: whoever holds the store may be reading them
                remove_leftovers(str(incoming_folder(configuration, name, pipeline)))
            with suppress(OSError):  # others may remove them too
                for folder in _incoming(configuration, name).iterdir():
                    remove_leftovers(str(folder), idle_s=FORGOTTEN_S)

        made = DriverStore(found[name], prepare)
        opened.callback(made.close)
        return made

    return {name: driver_store(name) for name in found}


def refuse_cluster(stores: Mapping[str, DriverStore], master: str) -> None:
    """
    Keep tasks on the driver's machine when they hand over what they write.

    The file itself is checked for this when it is read; here it is what Spark was really started with.

    Raises:
        ConfigError: tasks run elsewhere, and a store is written by the driver.
    """
    if master.startswith("local"):
        return
    for name, store in stores.items():
        if store.capabilities.written_by_driver:
            raise ConfigError(
                f'store "{name}" is embedded: it can not be written by the tasks of a cluster ("{master}")',
                hint="use a local master, or an hbase store",
            )


def family_registry(configuration: Configuration, plan: Plan, stores: Mapping[str, DriverStore]) -> FamilyRegistry:
    """Families of a pipeline's stores, with the limits its sinks set for the tables they write to."""
    declared = {(table.store, name): table.spec() for name, table in configuration.tables.items()}
    limits: dict[tuple[str, str | None], int] = {}
    own: dict[tuple[str, str | None], frozenset[bytes]] = {}
    for sink in plan.sinks:
        place = sink.store, sink.settings.fixed_table
        limits[place] = max(limits.get(place, 0), sink.settings.families.max_created)
        own[place] = own.get(place, frozenset()) | sink.settings.own_families
    return FamilyRegistry(stores, declared, limits, own)


def incoming_folder(configuration: Configuration, store: str, pipeline: str) -> Path:
    """Where a pipeline's tasks leave what they hand over to a store; nobody else's business, as its checkpoint is."""
    return _incoming(configuration, store) / pipeline


def _incoming(configuration: Configuration, store: str) -> Path:
    return configuration.state_dir.resolve() / "incoming" / store

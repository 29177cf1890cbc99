"""The stores a driver has: those it alone may write, and those it makes families in."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ingest.api import Committer, ConfigError, Store, StoreSettings
from ingest.config.model import Component, Configuration
from ingest.plan.assemble import Plan, family_registry, live_store, sink_committers
from sinks.writing.driver_store import DriverStore
from sinks.writing.sending import Sender, ThreadSender
from sinks.writing.staging import remove_leftovers
from sinks.writing.store_committer import StoreCommitter

FORGOTTEN_S = 7 * 24 * 3600.0
"""What this old pipelines left that are not ours is removed: most likely their names went from the configuration. A
service with a store of the same name may share our state folder, and is at work on what is younger. If it should have
waited longer to deliver something, its batch runs again."""


class SharedStores:
    """
    The stores that the driver has for the pipelines of a service: each one is made once, for the first pipeline that
    uses it, and closed after the last.

    Called by one thread.

    Args:
        plans: of all pipelines that may use them.
    """

    def __init__(self, configuration: Configuration, plans: Collection[Plan]) -> None:
        self._configuration = configuration
        self._plans = plans
        self._stores: dict[str, DriverStore] = {}
        self._users = Counter[str]()

    def used_by(self, plan: Plan, opened: ExitStack) -> dict[str, DriverStore]:
        """
        The stores of a pipeline that only the driver may write and those that make families, until `opened` closes.

        Raises:
            CatalogError: a plugin cannot be made with its settings.
        """
        used = {}
        for name, store in _of_driver(plan):
            if name not in self._stores:
                pipelines = [each.pipeline for each in self._plans if name in each.stores]
                self._stores[name] = _driver_store(self._configuration, name, store, pipelines)
            self._users[name] += 1
            opened.callback(self._release, name)
            used[name] = self._stores[name]
        return used

    def in_use(self) -> Mapping[str, DriverStore]:
        """Those that some pipeline uses now, by name."""
        return dict(self._stores)

    def _release(self, name: str) -> None:
        self._users[name] -= 1
        if not self._users[name]:
            self._stores.pop(name).close()


def driver_stores(configuration: Configuration, plans: Iterable[Plan], opened: ExitStack) -> dict[str, DriverStore]:
    """
    The stores of some pipelines that only the driver may write and those that make families, none of them open.

    When one that only the driver may write is opened, its declared tables are made and what tasks of an earlier process
    left for it is removed.
    """
    plans = list(plans)
    shared = SharedStores(configuration, plans)
    return {name: store for plan in plans for name, store in shared.used_by(plan, opened).items()}


def _of_driver(plan: Plan) -> Iterator[tuple[str, Store[Any]]]:
    for name, part in plan.stores.items():
        store = live_store(part)
        if store.capabilities.written_by_driver or store.capabilities.creates_families:
            yield name, store


def _driver_store(configuration: Configuration, name: str, store: Store[Any], pipelines: Iterable[str]) -> DriverStore:
    def prepare(store: Store[Any]) -> None:
        if not store.capabilities.written_by_driver:
            return
        for table in configuration.tables.values():
            if table.store == name:
                store.ensure_table(table.spec())
        for pipeline in pipelines:
            # only now: whoever holds the store may be reading them
            remove_leftovers(str(incoming_folder(configuration, name, pipeline)))
        with suppress(OSError):  # others may remove them too
            for folder in _incoming(configuration, name).iterdir():
                remove_leftovers(str(folder), idle_s=FORGOTTEN_S)

    return DriverStore(store, prepare)


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
                f'store "{name}" is embedded: tasks on a cluster cannot write it ("{master}")',
                hint="use a local master, or an hbase store",
            )


def committers_of(
    configuration: Configuration, plan: Plan, stores: Mapping[str, DriverStore], *, folder: str = ""
) -> dict[str, Committer]:
    """
    The driver's halves of a plan's sinks, by destination.

    Args:
        configuration: for the tables it declares.
        plan: of the pipeline.
        stores: those of the driver.
        folder: within the pipeline's folder for staged files; "" for that folder itself.
    """
    committers: dict[str, Committer] = {}
    for name, part in plan.stores.items():
        store = stores.get(name)
        declared = {table.name: table.spec() for table in configuration.tables.values() if table.store == name}
        if store is not None and store.capabilities.written_by_driver:
            incoming = incoming_folder(configuration, name, plan.pipeline) / folder
            committers[name] = StoreCommitter(store, family_registry(plan, name, store, declared), incoming)
        else:
            families = None if store is None else family_registry(plan, name, store, declared)
            committers[name] = StoreCommitter(store, families, sender=partial(_sender, part))
    return committers | sink_committers(plan)


def _sender(part: Component[StoreSettings]) -> Sender:
    return ThreadSender(live_store(part))


def incoming_folder(configuration: Configuration, store: str, pipeline: str) -> Path:
    """Where a pipeline's tasks leave what they hand over to a store; nobody else's business, as its checkpoint is."""
    return _incoming(configuration, store) / pipeline


def _incoming(configuration: Configuration, store: str) -> Path:
    return configuration.state_dir.resolve() / "incoming" / store

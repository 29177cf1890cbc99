"""The stores that the driver opens: those only it may write, and those it creates families in."""

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from ingest.api import ConfigError, ConflictError, Store, StoreSettings, TableSpec
from ingest.config.model import Configuration, declared_in
from ingest.plan.assemble import live_store
from ingest.plan.plan import Plan
from ingest.service.state_folders import dead_letters_beside, staging_folder, staging_root
from sinks.table_records import ensure_declared, refuse_other_updates
from sinks.writing.driver_store import DriverStore
from sinks.writing.staging import remove_leftovers

ORPHANED_S = 7 * 24 * 3600.0
"""Staged files of other pipelines are removed at this age: most likely those pipelines are no longer configured.
Younger files may belong to a running service that shares our state folder and has a store of the same name. If its
files are removed, its batch runs again."""


class StoreInUseError(ConflictError):
    """A reload changed the options of a store that a dump, or another job, has open with the earlier ones."""

    code = "store_in_use"
    hint = "reload again when the dump or the job has ended; 'attr2hbase status' shows it"


class SharedStores:
    """
    The driver's stores for the pipelines of a service: each is created for the first pipeline that uses it, and closed
    after the last.

    Thread-safe.

    Args:
        plans: of all pipelines that may use them.
    """

    def __init__(self, configuration: Configuration, plans: Collection[Plan]) -> None:
        self._configuration = configuration
        self._plans = plans
        self._stores: dict[str, DriverStore] = {}
        self._settings: dict[str, StoreSettings] = {}
        self._users = Counter[str]()
        self._read = Counter[str]()
        self._lock = threading.Lock()

    def used_by(self, plan: Plan, opened: ExitStack, *, outlives_reload: bool = False) -> dict[str, DriverStore]:
        """
        The stores of a pipeline that the driver writes, creates families in or keeps committed positions in, until
        `opened` closes.

        Args:
            plan: of the pipeline, or of a job.
            opened: ends the use.
            outlives_reload: a reload does not end this use, so it cannot change the options of these stores.

        Raises:
            CatalogError: a plugin cannot be created with its settings.
            ConflictError: `store_in_use`: a store is open with other options.
        """
        used = {}
        for name, store in _of_driver(plan):
            with self._lock:
                if name not in self._stores:
                    pipelines = [each.pipeline for each in self._plans if name in each.stores]
                    self._stores[name] = _driver_store(self._configuration, name, store, pipelines)
                    self._settings[name] = plan.stores[name].settings
                elif self._settings[name] != plan.stores[name].settings:
                    raise StoreInUseError(
                        f'store "{name}" is open with other options, for a dump or another job',
                    )
                self._users[name] += 1
                self._read[name] += outlives_reload
                used[name] = self._stores[name]
            opened.callback(self._release, name, outlives_reload=outlives_reload)
        return used

    def in_use(self) -> Mapping[str, DriverStore]:
        """The stores that a pipeline uses now, by name."""
        with self._lock:
            return dict(self._stores)

    def prepare(self, configuration: Configuration) -> None:
        """
        Check that the stores in use can have another configuration, then create its tables in those of the driver.

        Other deferred updates of a table without rows are recorded when its pipeline starts: the running one may write
        the first rows.

        Raises:
            ConfigError: it changes the options of a store that a dump reads.
            UpdatesDifferError: it changes the deferred updates of a table with rows.
            IngestError: a table cannot be created.
        """
        with ExitStack() as opened:
            stores = self._used_now(configuration, opened)
            for name, store in stores.items():
                if self._read[name] and configuration.stores[name].settings != self._settings[name]:
                    raise ConfigError(
                        f'the options of store "{name}" cannot be reloaded while a dump reads it',
                        hint="reload again when the dump has ended; 'attr2hbase status' shows it",
                    )
                changed = self._changed(name, configuration)
                if changed:
                    with store.held() as held:
                        for spec in changed:
                            refuse_other_updates(held, spec)
            for name, store in stores.items():  # once nothing is refused
                if store.capabilities.written_by_driver:
                    with store.held() as held:
                        for spec in declared_in(name, configuration.tables.values()).values():
                            if held.families(spec.name) is None:
                                ensure_declared(held, spec)
                            else:
                                held.ensure_table(spec)

    def reconfigure(self, configuration: Configuration, plans: Collection[Plan]) -> None:
        """Use another configuration for stores created from now on; those in use keep their options."""
        with self._lock:
            self._configuration, self._plans = configuration, plans

    def _used_now(self, configuration: Configuration, opened: ExitStack) -> Mapping[str, DriverStore]:
        """The stores in use that a configuration has too; they stay in use until `opened` closes."""
        with self._lock:
            found = {name: store for name, store in self._stores.items() if name in configuration.stores}
            for name in found:
                self._users[name] += 1
                opened.callback(self._release, name, outlives_reload=False)
        return found

    def _changed(self, store: str, configuration: Configuration) -> list[TableSpec]:
        """The tables of a store whose deferred updates another configuration declares in another way."""
        before = declared_in(store, self._configuration.tables.values())
        declared = declared_in(store, configuration.tables.values())
        return [spec for spec in declared.values() if spec.updates != _updates_of(before, spec.name)]

    def _release(self, name: str, *, outlives_reload: bool) -> None:
        with self._lock:
            self._users[name] -= 1
            self._read[name] -= outlives_reload
            if not self._users[name]:
                # within the lock: a store with the same folder opens only after this one is closed
                self._stores.pop(name).close()


def _updates_of(declared: Mapping[str, TableSpec], table: str) -> str:
    return declared[table].updates if table in declared else ""


def driver_stores(configuration: Configuration, plans: Iterable[Plan], opened: ExitStack) -> dict[str, DriverStore]:
    """
    The stores of these pipelines that only the driver may write or that create families, not yet open.

    Opening a store that only the driver may write creates its declared tables and removes staged files of earlier
    processes.
    """
    plans = list(plans)
    shared = SharedStores(configuration, plans)
    return {name: store for plan in plans for name, store in shared.used_by(plan, opened).items()}


def _of_driver(plan: Plan) -> Iterator[tuple[str, Store[Any]]]:
    for name, component in plan.stores.items():
        store = live_store(component)
        keeps_positions = bool(plan.owned_in(name))
        if store.capabilities.written_by_driver or store.capabilities.creates_families or keeps_positions:
            yield name, store


def _driver_store(configuration: Configuration, name: str, store: Store[Any], pipelines: Iterable[str]) -> DriverStore:
    def prepare(store: Store[Any]) -> None:
        if not store.capabilities.written_by_driver:
            return
        declared = declared_in(name, configuration.tables.values()).values()
        for table in declared:  # first all of them: a start that is refused changes no table
            refuse_other_updates(store, table)
        for table in declared:
            ensure_declared(store, table)
        for pipeline in pipelines:
            # only with the store open: until then another process may own it and read them
            for is_replay in (False, True):
                staged = staging_folder(configuration, name, pipeline, is_replay=is_replay)
                remove_leftovers(str(staged))
                remove_leftovers(str(dead_letters_beside(staged)))
        with suppress(OSError):  # another process may remove them too
            for folder in staging_root(configuration, name).iterdir():
                remove_leftovers(str(folder), idle_s=ORPHANED_S)

    return DriverStore(store, prepare)


def refuse_cluster(stores: Mapping[str, DriverStore], master: str) -> None:
    """
    Refuse a cluster master if tasks write staged files, which the driver must be able to read.

    The configuration was checked for this; here it is the master that Spark actually uses.

    Raises:
        ConfigError: the master is not local, and the driver writes a store.
    """
    if master.startswith("local"):
        return
    for name, store in stores.items():
        if store.capabilities.written_by_driver:
            raise ConfigError(
                f'store "{name}" is embedded: tasks on a cluster cannot write it ("{master}")',
                hint="use a local master, or an hbase store",
            )

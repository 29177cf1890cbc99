"""The stores that the driver opens: those only it may write, and those it creates families in."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ingest.api import Committer, ConfigError, ConflictError, Store, StoreSettings, TableSpec
from ingest.api.bodies import BodyCounts
from ingest.config.model import Component, Configuration, declared_in
from ingest.plan.assemble import family_registry, live_store, sink_committers
from ingest.plan.plan import DEAD_LETTERS, Plan
from sinks.bodies.dead_letters import StagedDeadLetterCommitter, StoredDeadLetterCommitter
from sinks.bodies.large_values import LargeValues
from sinks.bodies.moving import MovedCounts, moving
from sinks.bodies.staging import BodyCommitter
from sinks.rewriting.owned_feeds import OwnedFeeds
from sinks.table_records import ensure_declared, record_updates
from sinks.writing.driver_store import DriverStore
from sinks.writing.feed_rows import FeedBatch
from sinks.writing.sending import Sender, ThreadSender
from sinks.writing.staging import remove_leftovers
from sinks.writing.store_committer import StoreCommitter

ORPHANED_S = 7 * 24 * 3600.0
"""Staged files of other pipelines are removed at this age: most likely those pipelines are no longer configured.
Younger files may belong to a running service that shares our state folder and has a store of the same name. If its
files are removed, its batch runs again."""


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
        The stores of a pipeline that the driver writes, creates families in or keeps marks in, until `opened` closes.

        Args:
            plan: of the pipeline, or of a duty.
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
                    raise ConflictError(
                        f'store "{name}" is open with other options, for a dump or another duty',
                        code="store_in_use",
                        hint="reload again when that has ended; 'ingest status' shows it",
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

    def reconfigure(self, configuration: Configuration, plans: Collection[Plan]) -> None:
        """
        Use another configuration for stores created from now on; those in use get its new tables, and keep their
        options.

        Raises:
            ConfigError: it changes the options of a store that a dump reads.
            IngestError: a table cannot be created; nothing else has changed.
        """
        for name, store in self.in_use().items():
            if name not in configuration.stores:
                continue
            if self._read[name] and configuration.stores[name].settings != self._settings[name]:
                raise ConfigError(
                    f'the options of store "{name}" cannot be reloaded while a dump reads it',
                    hint="reload again when the dump has ended; 'ingest status' shows it",
                )
            declared = declared_in(name, configuration.tables.values())
            if store.capabilities.written_by_driver:
                with store.held() as opened:
                    for spec in declared.values():
                        ensure_declared(opened, spec)
            before = declared_in(name, self._configuration.tables.values())
            changed = [spec for spec in declared.values() if spec.updates != _updates_of(before, spec.name)]
            if changed:
                with store.held() as opened:
                    for spec in changed:
                        record_updates(opened, spec)
        with self._lock:
            self._configuration, self._plans = configuration, plans

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
        keeps_marks = name in plan.updates or name in plan.feeds
        if store.capabilities.written_by_driver or store.capabilities.creates_families or keeps_marks:
            yield name, store


def _driver_store(configuration: Configuration, name: str, store: Store[Any], pipelines: Iterable[str]) -> DriverStore:
    def prepare(store: Store[Any]) -> None:
        if not store.capabilities.written_by_driver:
            return
        for table in declared_in(name, configuration.tables.values()).values():
            ensure_declared(store, table)
        for pipeline in pipelines:
            # only with the store open: until then another process may own it and read them
            for is_replay in (False, True):
                staged = staging_folder(configuration, name, pipeline, is_replay=is_replay)
                remove_leftovers(str(staged))
                remove_leftovers(str(_dead_letters_beside(staged)))
        with suppress(OSError):  # another process may remove them too
            for folder in _staging_root(configuration, name).iterdir():
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


def committers_of(
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    feeds: OwnedFeeds | None = None,
    on_bodies: Callable[[str, BodyCounts], None] = lambda _table, _counts: None,
    *,
    check_owner: Callable[[], None],
) -> dict[str, Committer]:
    """
    The committers of a plan's sinks, by destination.

    Args:
        configuration: declares the tables.
        plan: of the pipeline.
        stores: the driver's.
        feeds: of the tables that the sinks write; None without any.
        on_bodies: called with a table and the counts of its large values that the driver has stored.
        check_owner: as of `SinkContext`.
    """
    committers: dict[str, Committer] = {}
    for name, component in plan.stores.items():
        store, bodies = stores.get(name), plan.bodies.get(name, {})
        declared = declared_in(name, configuration.tables.values())
        creates = store is not None and (store.capabilities.written_by_driver or store.capabilities.creates_families)
        families = family_registry(plan, name, store, declared) if store is not None and creates else None
        batches = _no_feeds if feeds is None else partial(feeds.batches, name)
        if store is not None and store.capabilities.written_by_driver:
            staged = staging_folder(configuration, name, plan.pipeline, is_replay=plan.is_replay)
            committers[name] = StoreCommitter(store, families, staged, declared=declared, feeds=batches)
            if bodies:
                committers[name] = BodyCommitter(committers[name], store, bodies, on_bodies)
        else:
            committers[name] = StoreCommitter(
                store,
                families,
                sender=partial(_sender, component, bodies),
                declared=_written(plan, name, declared),
                feeds=batches,
            )
    return (
        committers
        | sink_committers(plan, check_owner)
        | _dead_letter_committers(configuration, plan, stores, on_bodies)
    )


def _dead_letter_committers(
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    on_bodies: Callable[[str, BodyCounts], None],
) -> dict[str, Committer]:
    """The committer of large values of records that fail; the last one, since the dead letters are published next."""
    place = plan.dead_letter_bodies if plan.publishes_dead_letters else None
    if place is None:
        return {}
    store = stores.get(place.store)
    if store is not None and store.capabilities.written_by_driver:
        staged = staging_folder(configuration, place.store, plan.pipeline, is_replay=plan.is_replay)
        return {DEAD_LETTERS: StagedDeadLetterCommitter(place, store, _dead_letters_beside(staged), on_bodies)}
    return {DEAD_LETTERS: StoredDeadLetterCommitter(place, DriverStore(live_store(plan.stores[place.store])))}


def _no_feeds(_time_ms: int) -> Mapping[str, FeedBatch]:
    return {}


def _written(plan: Plan, store: str, declared: Mapping[str, TableSpec]) -> Mapping[str, TableSpec]:
    """The declared tables that a pipeline may write: all of the store, if a sink takes the table from the event."""
    tables = {sink.settings.fixed_table for sink in plan.mapped_to(store)}
    return declared if None in tables else {name: spec for name, spec in declared.items() if name in tables}


def _sender(component: Component[StoreSettings], bodies: Mapping[str, LargeValues]) -> Sender:
    return ThreadSender(moving(live_store(component), bodies, MovedCounts()))


def staging_folder(configuration: Configuration, store: str, pipeline: str, *, is_replay: bool = False) -> Path:
    """
    The folder of a pipeline for the files that its tasks stage for a store; only this pipeline, or its replay, uses it.

    They may run at the same time, and each removes what its earlier attempts have left.
    """
    # no pipeline has such a name
    return _staging_root(configuration, store) / (f"{pipeline}+replay" if is_replay else pipeline)


def _dead_letters_beside(staged: Path) -> Path:
    """The folder for large values of records that fail, beside that of the rows."""
    return staged.with_name(f"{staged.name}+letters")


def _staging_root(configuration: Configuration, store: str) -> Path:
    return configuration.local_dir.resolve() / "incoming" / store

"""The committers of a plan's sinks, with the stores of the driver."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from ingest.api import Committer, StoreSettings, TableSpec
from ingest.config.model import Component, Configuration, declared_in
from ingest.plan.assemble import family_registry, live_store, sink_committers
from ingest.plan.plan import DEAD_LETTERS, Plan
from ingest.service.state_folders import dead_letters_beside, staging_folder
from sinks.blobs.dead_letters import StagedDeadLetterCommitter, StoredDeadLetterCommitter
from sinks.blobs.large_values import LargeValues
from sinks.blobs.moving import moving
from sinks.blobs.staging import BlobCommitter
from sinks.rewriting.owned_feeds import OwnedFeeds
from sinks.writing.driver_store import DriverStore
from sinks.writing.feed_rows import FeedBatch
from sinks.writing.sending import Sender, ThreadSender
from sinks.writing.store_committer import StoreCommitter


def committers_of(
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    feeds: OwnedFeeds | None = None,
    on_counted: Callable[[Counter[tuple[str, str]]], None] = lambda _counted: None,
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
        on_counted: called with what features of tables have counted on the driver, as `WriteCounts.counted`.
        check_owner: as in `SinkContext`.
    """
    committers: dict[str, Committer] = {}
    for name, component in plan.stores.items():
        store, blobs = stores.get(name), plan.blobs.get(name, {})
        declared = declared_in(name, configuration.tables.values())
        creates = store is not None and (store.capabilities.written_by_driver or store.capabilities.creates_families)
        families = family_registry(plan, name, store, declared) if store is not None and creates else None
        batches = _no_feeds if feeds is None else partial(feeds.batches, name)
        if store is not None and store.capabilities.written_by_driver:
            staged = staging_folder(configuration, name, plan.pipeline, is_replay=plan.is_replay)
            committers[name] = StoreCommitter(store, families, staged, declared=declared, feeds=batches)
            if blobs:
                committers[name] = BlobCommitter(committers[name], store, blobs, on_counted)
        else:
            committers[name] = StoreCommitter(
                store,
                families,
                sender=partial(_sender, component, blobs),
                declared=_written(plan, name, declared),
                feeds=batches,
            )
    return (
        committers
        | sink_committers(plan, check_owner)
        | _dead_letter_committers(configuration, plan, stores, on_counted)
    )


def _dead_letter_committers(
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    on_counted: Callable[[Counter[tuple[str, str]]], None],
) -> dict[str, Committer]:
    """The committer of large values of records that fail; the last one, since the dead letters are published next."""
    place = plan.dead_letter_blobs if plan.publishes_dead_letters else None
    if place is None:
        return {}
    store = stores.get(place.store)
    if store is not None and store.capabilities.written_by_driver:
        staged = staging_folder(configuration, place.store, plan.pipeline, is_replay=plan.is_replay)
        return {DEAD_LETTERS: StagedDeadLetterCommitter(place, store, dead_letters_beside(staged), on_counted)}
    return {DEAD_LETTERS: StoredDeadLetterCommitter(place, DriverStore(live_store(plan.stores[place.store])))}


def _no_feeds(_time_ms: int) -> Mapping[str, FeedBatch]:
    return {}


def _written(plan: Plan, store: str, declared: Mapping[str, TableSpec]) -> Mapping[str, TableSpec]:
    """The declared tables that a pipeline may write: all of the store, if a sink takes the table from the event."""
    tables = {sink.settings.fixed_table for sink in plan.mapped_to(store)}
    return declared if None in tables else {name: spec for name, spec in declared.items() if name in tables}


def _sender(component: Component[StoreSettings], blobs: Mapping[str, LargeValues]) -> Sender:
    return ThreadSender(moving(live_store(component), blobs))

"""The committers of a plan's sinks, with the stores of the driver."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from ingest.api import Committer, StoreSettings, TableSpec
from ingest.api.driver_feature import StoreFeatures
from ingest.api.table_feature import StorePlan, planned_of
from ingest.catalog import table_features
from ingest.config.model import Component, Configuration, declared_in
from ingest.plan.assemble import family_registry, live_store, sink_committers
from ingest.plan.features import connection, keeping_feature
from ingest.plan.plan import DEAD_LETTERS, Plan
from ingest.plan.table_messages import TableMessages
from ingest.service.schemas import schema_committers
from ingest.service.state_folders import dead_letters_beside, staging_folder
from sinks.owning.owned_tables import OwnedTables
from sinks.writing.driver_store import DriverStore
from sinks.writing.probing_committer import ProbingCommitter
from sinks.writing.sending import Sender, ThreadSender
from sinks.writing.staged_committer import StagedCommitter


def committers_of(  # noqa: PLR0913 - what the driver knows, each used once
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    owned: OwnedTables | None = None,
    on_counted: Callable[[Counter[tuple[str, str]]], None] = lambda _counted: None,
    *,
    check_owner: Callable[[], None],
    is_behind: Callable[[], bool] = lambda: True,
    begun_ms: int = -1,
) -> dict[str, Committer]:
    """
    The committers of a plan's sinks, by destination.

    Args:
        configuration: declares the tables.
        plan: of the pipeline.
        stores: the driver's.
        owned: the tables that the pipeline owns; None without any.
        on_counted: called with what features of tables have counted on the driver, as `WriteCounts.counted`.
        check_owner: as in `SinkContext`.
        is_behind: as in `TableFeature.message`.
        begun_ms: as in `TableMessages`.
    """
    committers = schema_committers(configuration, plan)
    for name, component in plan.stores.items():
        store, features = stores.get(name), plan.features.get(name, {})
        declared = declared_in(name, configuration.tables.values())
        prepared = StoreFeatures(name) if owned is None else owned.of_store(name)
        empty = plan.empty.get(name, ())
        messages = TableMessages(features, is_behind, is_replay=plan.is_replay, empty=empty, begun_ms=begun_ms)
        prepared = prepared.beside(messages)
        if store is not None and store.capabilities.written_by_driver:
            staged = staging_folder(configuration, name, plan.pipeline, is_replay=plan.is_replay)
            registry = family_registry(plan, name, store, declared)
            committer: Committer = StagedCommitter(store, registry, staged, declared=declared, features=prepared)
            for feature in table_features():
                planned = planned_of(features, feature.name)
                if planned:
                    committer = feature.committer(committer, store, planned, on_counted)
            committers[name] = committer
        else:
            creates = store is not None and store.capabilities.creates_families
            committers[name] = ProbingCommitter(
                partial(_sender, component, features),
                store,
                family_registry(plan, name, store, declared) if store is not None and creates else None,
                declared=_written(plan, name, declared),
                features=prepared,
            )
    return (
        committers
        | sink_committers(plan, check_owner, configuration.pipelines[plan.pipeline].source.settings)
        | _dead_letter_committers(configuration, plan, stores, on_counted)
    )


def _dead_letter_committers(
    configuration: Configuration,
    plan: Plan,
    stores: Mapping[str, DriverStore],
    on_counted: Callable[[Counter[tuple[str, str]]], None],
) -> dict[str, Committer]:
    """The committer of large values of records that fail; the last one, since the dead letters are published next."""
    place = plan.dead_letter_place if plan.publishes_dead_letters else None
    if place is None:
        return {}
    store, folder = stores.get(place.store), None
    if store is not None and store.capabilities.written_by_driver:
        staged = staging_folder(configuration, place.store, plan.pipeline, is_replay=plan.is_replay)
        folder = dead_letters_beside(staged)
    else:
        store = DriverStore(live_store(plan.stores[place.store]))
    return {DEAD_LETTERS: keeping_feature(place).dead_letter_committer(place, store, folder, on_counted)}


def _written(plan: Plan, store: str, declared: Mapping[str, TableSpec]) -> Mapping[str, TableSpec]:
    """The declared tables that a pipeline may write: all of the store, if a sink takes the table from the event."""
    tables = {sink.settings.fixed_table for sink in plan.mapped_to(store)}
    return declared if None in tables else {name: spec for name, spec in declared.items() if name in tables}


def _sender(component: Component[StoreSettings], features: StorePlan) -> Sender:
    return ThreadSender(connection(live_store(component), features))

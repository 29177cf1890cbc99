"""
Composition root: builds a plan from a checked configuration, and live components from a plan.

A plan is data: checked settings and import paths, resolved on the driver and pickled once. Each worker process builds
a task from it once. Workers never import names from YAML, only the paths that the driver resolved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ingest.api import (
    Committer,
    DryWrite,
    Event,
    Settings,
    SinkContext,
    SinkSettings,
    Source,
    SourceContext,
    SourceSettings,
    Store,
    StoreSettings,
    TableSpec,
    Tombstones,
)
from ingest.api.schemas import GivenSchemas, Schemas
from ingest.api.source import DEFAULT_EVENT_BYTES
from ingest.api.table_feature import StorePlan
from ingest.catalog import Catalog
from ingest.config.model import Component, Configuration, Pipeline, names_of
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.expressions import Condition
from ingest.pipeline.chain import Chain, Watcher
from ingest.pipeline.outcomes import BoundDecorator
from ingest.plan.features import (
    connection,
    dead_letter_place,
    features_of,
    has_large_chunks,
    keeping_feature,
    table_writers,
)
from ingest.plan.plan import DEAD_LETTERS, Plan
from ingest.plugins.creating import create
from ingest.sources.decoding import Decoder
from sinks.mapping.mapper import Mapper

if TYPE_CHECKING:  # `explain` and `test` start faster without the store writers
    from ingest.api.table_writer import RowReader
    from ingest.pipeline.plugin_sinks import PluginTaskSink
    from ingest.pipeline.sink_binding import SinkBinding
    from ingest.pipeline.task import Task
    from ingest.pipeline.task_observer import TaskObserver
    from sinks.writing.driver_store import DriverStore
    from sinks.writing.families import FamilyRegistry
    from sinks.writing.sending import Sender
    from sinks.writing.store_sink import StoreSink

C = TypeVar("C", bound=Settings)


def plan_of(configuration: Configuration, pipeline: Pipeline, catalog: Catalog) -> Plan:
    """
    The plan of a pipeline.

    Raises:
        CatalogError: a component cannot be imported.
    """
    sinks = _located("sinks", pipeline.sinks, pipeline, catalog)
    features = features_of(configuration, pipeline, catalog)
    return Plan(
        pipeline=pipeline.name,
        fingerprint=pipeline.fingerprint,
        timezone=pipeline.timezone,
        on_error=pipeline.on_error,
        decoding=pipeline.source.settings.decoding,
        decorators=_located("decorators", pipeline.decorators, pipeline, catalog),
        sinks=sinks,
        stores={
            name: store_component(configuration, name, catalog)
            for name in dict.fromkeys(sink.settings.store_name for sink in sinks)
            if name is not None
        },
        files=catalog.files,
        existing=pipeline.existing,
        features=features,
        masks=configuration.masks,
        state_dir=configuration.local_dir.resolve(),
        dead_letter_place=dead_letter_place(sinks, features),
        read_again_by=pipeline.source.settings.read_again_by,
        registry=None if configuration.registry is None else configuration.registry.without_login(),
    )


def _located(
    component_type: str, components: Sequence[Component[C]], pipeline: Pipeline, catalog: Catalog
) -> tuple[Component[C], ...]:
    """Decorators or sinks with import path, name and failure action; imports their code."""
    found = []
    for name, component in zip(names_of(components), components, strict=True):
        catalog.load(component_type, component.kind)
        on_error = component.settings.on_error or pipeline.on_error
        found.append(replace(catalog.located(component_type, component), name=name, on_error=on_error))
    return tuple(found)


def store_component(configuration: Configuration, name: str, catalog: Catalog) -> Component[StoreSettings]:
    """A store of the configuration for a plan; its class is not imported, because that imports its client library."""
    return replace(catalog.located("stores", configuration.stores[name]), name=name)


def live_source(component: Component[SourceSettings], context: SourceContext, catalog: Catalog) -> Source[Any]:
    """
    The source of a pipeline, on the driver; not yet connected.

    Raises:
        CatalogError: a plugin cannot be imported, or created with its settings.
    """
    catalog.load("sources", component.kind)
    return cast("Source[Any]", create(replace(catalog.located("sources", component), name=component.kind), context))


def live_chain(plan: Plan, watcher: Watcher | None = None, schemas: Schemas | None = None) -> Chain:
    """
    The decorators of a plan, compiled.

    Args:
        plan: of the pipeline.
        watcher: see `Chain`.
        schemas: of the registry; by default none.

    Raises:
        CatalogError: a plugin cannot be created with its settings.
    """
    known = GivenSchemas() if schemas is None else schemas
    return Chain(
        [
            BoundDecorator(
                _decorator(component, known),
                component.name,
                _decorator_condition(component.settings, plan),
                component.on_error,
                component.provider,
            )
            for component in plan.decorators
        ],
        watcher=watcher,
        max_event_bytes=plan.decoding.max_event_bytes,
    )


_ANY_WITH_VALUE = Condition.parse("1 == 1").for_values()
"""Met by all events but tombstones."""


def _decorator(component: Component[Settings], schemas: Schemas) -> Any:
    created = create(component)
    if component.settings.uses_registry:
        created.use_schemas(schemas)
    return created


def live_mappers(plan: Plan) -> list[tuple[Component[SinkSettings], Mapper[Any]]]:
    """The sinks of a plan that write to stores, as components and mappers; the stores are not created."""
    return [(component, create(component)) for component in plan.sinks if component.settings.store_name is not None]


def plugin_task_sinks(plan: Plan) -> "dict[str, PluginTaskSink]":
    """
    The task sinks of the sinks that have a destination of their own, by destination.

    Raises:
        CatalogError: a plugin cannot be created with its settings.
        SinkFailedError: it returns no writer.
    """
    from ingest.pipeline.plugin_sinks import task_sink_of

    return {
        plan.destination_of(component): task_sink_of(component, create(component), context)
        for component, context in _plugin_sinks(plan)
    }


def dry_writes(plan: Plan) -> dict[str, DryWrite]:
    """What those of the same sinks that say so would write, by destination; raises as `plugin_task_sinks`."""
    found = {plan.destination_of(component): _dry_write(component) for component, _ in _plugin_sinks(plan)}
    return {destination: write for destination, write in found.items() if write is not None}


def _dry_write(component: Component[SinkSettings]) -> DryWrite | None:
    from ingest.pipeline.plugin_sinks import dry_write_of

    return dry_write_of(component, create(component))


def sink_committers(plan: Plan, check_owner: Callable[[], None], source: SourceSettings) -> dict[str, Committer]:
    """
    The committers of the same sinks, by destination; raises as `plugin_task_sinks`.

    Args:
        plan: of the pipeline.
        check_owner: as in `SinkContext`.
        source: of the pipeline; a sink refuses to write what it reads.
    """
    from ingest.pipeline.plugin_sinks import committer_of

    return {
        plan.destination_of(component): committer_of(
            component, create(component), replace(context, source=source, check_owner=check_owner)
        )
        for component, context in _plugin_sinks(plan)
    }


def sink_checks(plan: Plan, source: SourceSettings) -> Iterator[tuple[Component[SinkSettings], Callable[[], str]]]:
    """The same sinks of a pipeline with this source, each with a call of its `check`."""
    for component, context in _plugin_sinks(plan):
        yield component, partial(_check_sink, component, replace(context, source=source))


def _check_sink(component: Component[SinkSettings], context: SinkContext) -> str:
    from ingest.pipeline.plugin_sinks import check_sink

    return check_sink(component, create(component), context)


def _plugin_sinks(plan: Plan) -> Iterator[tuple[Component[SinkSettings], SinkContext]]:
    for component in plan.sinks:
        if component.settings.store_name is None:
            context = SinkContext(plan.pipeline, component.name, plan.state_dir, plan.is_replay)
            yield component, replace(context, max_event_bytes=plan.decoding.max_event_bytes)


def live_decoder(plan: Plan) -> Decoder:
    """Decodes the source's records into events."""
    return Decoder(plan.decoding, plan.existing)


def live_store(component: Component[StoreSettings]) -> Store[Any]:
    """A store, not yet open."""
    return cast("Store[Any]", create(component))


def live_task(plan: Plan, observer: "TaskObserver | None" = None) -> "Task":
    """The task of a pipeline; a worker process creates it once, without an observer."""
    from ingest.pipeline.dead_lettering import DeadLetterMaker
    from ingest.pipeline.task import Task
    from ingest.pipeline.time_limit import TimeLimit
    from ingest.plan.tap_view import tap_view
    from ingest.registry.message import SCHEMAS
    from ingest.registry.table import SchemaTable

    schemas = SchemaTable() if plan.uses_registry else None
    chain = live_chain(plan, schemas=schemas)
    stores = {name: _store_sink(plan, name) for name in plan.stores}
    own = plugin_task_sinks(plan)
    bindings, guarded = live_bindings(plan, stores, {name: each.write for name, each in own.items()})
    guarded += [call for each in own.values() for call in each.event_calls]
    kept = plan.dead_letter_place if plan.publishes_dead_letters else None
    blobs = None if kept is None else keeping_feature(kept).dead_letter_sink(kept, live_store(plan.stores[kept.store]))
    return Task(
        decode=live_decoder(plan).decode,
        chain=chain,
        bindings=bindings,
        destinations={
            **({} if schemas is None else {SCHEMAS: schemas}),
            **stores,
            **own,
            **({} if blobs is None else {DEAD_LETTERS: blobs}),
        },
        on_error=plan.on_error,
        dead_letter_maker=DeadLetterMaker(plan.pipeline, plan.fingerprint, plan.tables_of_sinks),
        dead_letters=DeadLetterBuffer(
            plan.masks, blobs, is_published=plan.publishes_dead_letters, offsets=plan.read_again_by
        ),
        time_limit=TimeLimit(
            [*chain.guarded, *guarded],
            writes=[each.write for each in own.values()],
            timed_writes=[each.write for each in own.values() if not each.event_calls],
        ),
        observer=observer,
        tap_view=tap_view(plan),
    )


def live_bindings(
    plan: Plan,
    stores: "Mapping[str, StoreSink]",
    own: Mapping[str, Callable[[Event], str | None]] = MappingProxyType({}),
) -> "tuple[list[SinkBinding], list[Callable[..., object]]]":
    """
    The sinks of a plan, bound to their destinations, and their per-event calls that wait for nothing.

    Args:
        plan: of the pipeline.
        stores: name of a store -> its task sink.
        own: name of any other destination -> the write call of its task sink; a sink without one accepts every event
            and writes nothing.
    """
    from ingest.pipeline.sink_binding import SinkBinding
    from ingest.plugins.guard import checked_write
    from sinks.writing.writer import Writer

    bindings = []
    guarded: list[Callable[..., object]] = []
    mappers = {component.name: mapper for component, mapper in live_mappers(plan)}
    for component in plan.sinks:
        name = plan.destination_of(component)
        write: Callable[[Event], str | None] = _accept
        if component.name in mappers:
            guarded.append(mappers[component.name].map)
            write = Writer(mappers[component.name], stores[name]).write
        elif name in own:
            write = own[name]
        if component.provider:
            write = checked_write(write)
        condition = _condition(component.settings, plan)
        if condition is not None:
            guarded.append(condition.holds)
        module = component.path.partition(":")[0]
        bindings.append(SinkBinding(component.name, write, component.on_error, condition, module, component.provider))
    return bindings, guarded


def _accept(_event: Event) -> str | None:
    return None


def family_registry(plan: Plan, name: str, store: "DriverStore", declared: Mapping[str, TableSpec]) -> "FamilyRegistry":
    """
    The column families of a store, with the limits that the plan's sinks set for their tables.

    Args:
        plan: of the pipeline.
        name: of the store.
        store: the driver's connection to it.
        declared: table -> its declaration in the configuration, for the tables of this store.
    """
    from sinks.writing.families import FamilyRegistry

    limits: dict[str | None, int] = {}
    own: dict[str | None, frozenset[bytes]] = {}
    for sink in plan.mapped_to(name):
        table = sink.settings.fixed_table
        limits[table] = max(limits.get(table, 0), sink.settings.families.max_created)
        own[table] = own.get(table, frozenset()) | sink.settings.own_families
    return FamilyRegistry(store, declared, limits, own)


def store_sink(
    component: Component[StoreSettings],
    *,
    buffer_bytes: int,
    deletes: bool,
    max_event_bytes: int = DEFAULT_EVENT_BYTES,
    features: StorePlan = MappingProxyType({}),
) -> "StoreSink":
    """
    What writes to a store in a task; to a staged file if only the driver writes the store.

    Args:
        component: the store.
        buffer_bytes: as in `BufferedMutator`.
        deletes: as in `PlainWriter`.
        max_event_bytes: of the source.
        features: what is planned of the tables of the store.
    """
    from sinks.writing.mutator import BufferedMutator
    from sinks.writing.plain_writer import PlainWriter
    from sinks.writing.record_bytes import max_record_bytes
    from sinks.writing.row_reader import SenderReader, SeparateReader
    from sinks.writing.sending import DirectSender, ThreadSender
    from sinks.writing.staging import StagingWriter
    from sinks.writing.store_sink import StoreSink

    target, name = live_store(component), component.name
    is_staged, max_put_bytes = target.capabilities.written_by_driver, component.settings.max_put_bytes
    staging: StagingWriter | None = None
    reader: RowReader
    senders: list[Sender]
    if is_staged:
        staging = StagingWriter(target)
        senders = [DirectSender(connection(staging, features, staging))]
        reader = SeparateReader(type(target).reader(component.settings))
    else:
        senders = [
            ThreadSender(connection(live_store(component), features))
            for _ in range(component.settings.worker_connections)
        ]
        reader = SenderReader(senders[0])
    mutator = BufferedMutator(
        senders,
        name,
        capabilities=target.capabilities,
        buffer_bytes=buffer_bytes,
        large_chunks=has_large_chunks(features),
    )
    writers = table_writers(
        mutator, name, features, reader=reader, withdraws=not is_staged, max_put_bytes=max_put_bytes
    )
    return StoreSink(
        mutator,
        name,
        capabilities=target.capabilities,
        plain=PlainWriter(mutator, name, deletes=deletes, folds=not is_staged, max_put_bytes=max_put_bytes),
        tables=writers,
        staging=staging,
        reader=reader,
        max_record_bytes=max_record_bytes(max_event_bytes),
    )


def _store_sink(plan: Plan, name: str) -> "StoreSink":
    """The same, for all sinks of a plan that write to a store."""
    return store_sink(
        plan.stores[name],
        buffer_bytes=max(sink.settings.write_buffer_size for sink in plan.mapped_to(name)),
        deletes=may_delete(plan, name),
        max_event_bytes=plan.decoding.max_event_bytes,
        features=plan.features.get(name, {}),
    )


def may_delete(plan: Plan, store: str) -> bool:
    """Whether a sink of a store may delete; if so, the mutations of a batch are buffered and folded first."""
    by_tombstone = plan.decoding.tombstones is Tombstones.DELETE
    sinks = plan.mapped_to(store)
    return any(by_tombstone or any(rule.delete is not None for rule in sink.settings.rules) for sink in sinks)


def _decorator_condition(settings: Settings, plan: Plan) -> Condition | None:
    """Of a decorator: a tombstone that is an event bypasses those that read the body, which it does not have."""
    condition = _condition(settings, plan)
    if plan.decoding.tombstones is not Tombstones.DELETE or "body" not in settings.reads():
        return condition
    return _ANY_WITH_VALUE if condition is None else condition.for_values()


def _condition(settings: Settings, plan: Plan) -> Condition | None:
    return None if settings.when is None else Condition.parse(settings.when, plan.timezone)

"""
Composition root: a checked configuration becomes a plan, a plan becomes live parts.

A plan is data: checked settings and import paths, resolved on the driver and pickled once. Each worker process makes
the live pipeline of it once. Names from YAML are never imported in a worker, only what the driver resolved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ingest.api import CatalogError, FileStore, OnError, Settings, Store, StoreSettings
from ingest.catalog import Catalog
from ingest.chain import Chain, Step
from ingest.config.model import Component, Configuration, Pipeline, names_of
from ingest.expressions import Condition
from ingest.plugin import PASSED_ON, PluginFile, class_at, told
from ingest.sources.decoding import Decoder
from sinks.mapping.mapper import Mapper, SinkSettings

if TYPE_CHECKING:  # `explain` and `test` start faster without the way to a store
    from ingest.task import Task
    from sinks.handover import Handover
    from sinks.mutator import BufferedMutator
    from sinks.sending import Sender


@dataclass(frozen=True, slots=True)
class DecoratorPart:
    """
    A step of the chain.

    Attributes:
        name: label, or what tells it from others of its kind, for errors and metrics.
        component: import path, `module:Class`.
        on_error: the pipeline's rule filled in.
        provider: what brings it, as in `ingest.catalog.Entry`.
    """

    name: str
    component: str
    settings: Settings
    on_error: OnError
    provider: str = ""


@dataclass(frozen=True, slots=True)
class SinkPart:
    """A sink; attributes as DecoratorPart, and the name of its store."""

    name: str
    component: str
    settings: SinkSettings
    on_error: OnError
    store: str


@dataclass(frozen=True, slots=True)
class StorePart:
    """A store that sinks of the plan use; attributes as DecoratorPart."""

    name: str
    component: str
    settings: StoreSettings
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    One pipeline as data.

    Attributes:
        decoding: keyword arguments of Decoder.
        stores: name -> store, for those its sinks use.
        files: modules that lie beside the pipeline file.
    """

    pipeline: str
    fingerprint: str
    timezone: str
    on_error: OnError
    decoding: Mapping[str, Any]
    decorators: tuple[DecoratorPart, ...]
    sinks: tuple[SinkPart, ...]
    stores: Mapping[str, StorePart]
    files: tuple[PluginFile, ...] = ()


def plan_of(configuration: Configuration, pipeline: Pipeline, catalog: Catalog) -> Plan:
    """
    The plan of a pipeline.

    Raises:
        CatalogError: a component can not be imported.
    """
    sinks = []
    for name, component in _named(pipeline.sinks):
        settings = cast("SinkSettings", component.settings)
        path = _path(catalog.load("sinks", component.kind))
        # loading a configuration fills in the only store, or refuses a sink without one
        store = cast("str", settings.store)
        sinks.append(SinkPart(name, path, settings, settings.on_error or pipeline.on_error, store))
    decorators = []
    for name, component in _named(pipeline.decorators):
        options = cast("Settings", component.settings)
        path = _path(catalog.load("decorators", component.kind))
        provider = catalog.entry("decorators", component.kind).provider
        decorators.append(DecoratorPart(name, path, options, options.on_error or pipeline.on_error, provider))
    return Plan(
        pipeline=pipeline.name,
        fingerprint=pipeline.fingerprint,
        timezone=pipeline.timezone,
        on_error=pipeline.on_error,
        decoding=_decoding(pipeline),
        decorators=tuple(decorators),
        sinks=tuple(sinks),
        stores={sink.store: store_part(configuration, sink.store, catalog) for sink in sinks},
        files=catalog.files,
    )


def store_part(configuration: Configuration, name: str, catalog: Catalog) -> StorePart:
    """A store of the configuration as part of a plan; its class, which brings its driver, is not imported."""
    component = configuration.stores[name]
    entry = catalog.entry("stores", component.kind)
    return StorePart(name, entry.path, cast("StoreSettings", component.settings), entry.provider)


def live_chain(plan: Plan) -> Chain:
    """
    The decorators of a plan, compiled.

    Raises:
        CatalogError: a plugin can not be made with its settings.
    """
    return Chain(
        [
            Step(_made(part), part.name, _condition(part.settings, plan), part.on_error, part.provider)
            for part in plan.decorators
        ]
    )


def live_mappers(plan: Plan) -> list[tuple[SinkPart, Mapper[Any]]]:
    """The sinks of a plan, without stores."""
    return [(part, _made(part)) for part in plan.sinks]


def live_decoder(plan: Plan) -> Decoder:
    """What makes events of the source's records."""
    return Decoder(**plan.decoding)


def live_store(part: StorePart) -> Store[Any]:
    """A store, not yet open."""
    return cast("Store[Any]", _made(part))


def live_task(plan: Plan) -> "Task":
    """Everything a worker process needs, once for each pipeline."""
    from ingest.task import Outlet, Task
    from ingest.time_limit import TimeLimit
    from sinks.writer import Writer

    chain = live_chain(plan)
    mappers = live_mappers(plan)
    guarded = [*chain.guarded, *(mapper.map for _, mapper in mappers)]
    handovers: dict[str, Handover] = {}
    mutators = {name: _mutator(plan, name, handovers) for name in plan.stores}
    outlets = []
    for part, mapper in mappers:
        condition = _condition(part.settings, plan)
        if condition is not None:
            guarded.append(condition.holds)
        outlets.append(Outlet(part.name, Writer(mapper, mutators[part.store]), part.on_error, condition))
    return Task(
        pipeline=plan.pipeline,
        fingerprint=plan.fingerprint,
        decoder=live_decoder(plan),
        chain=chain,
        outlets=outlets,
        mutators=mutators,
        handovers=handovers,
        on_error=plan.on_error,
        time_limit=TimeLimit(guarded),
    )


def _mutator(plan: Plan, name: str, handovers: dict[str, "Handover"]) -> "BufferedMutator":
    """The way into a store, made for what its sinks ask for together."""
    from sinks.handover import Handover
    from sinks.mutator import BufferedMutator
    from sinks.sending import DirectSender, ThreadSender

    store = plan.stores[name]
    settings = [sink.settings for sink in plan.sinks if sink.store == name]
    target = live_store(store)
    capabilities = target.capabilities
    senders: list[Sender]
    if capabilities.written_by_driver:
        handovers[name] = Handover(name, target if isinstance(target, FileStore) else None)
        senders = [DirectSender(handovers[name])]
    else:
        senders = [ThreadSender(live_store(store)) for _ in range(store.settings.worker_connections)]
    return BufferedMutator(
        senders,
        name,
        capabilities=capabilities,
        buffer_bytes=max(each.write_buffer_size for each in settings),
        deletes=any(_deletes(plan, each) for each in settings),
        max_put_bytes=store.settings.max_put_bytes,
    )


def _named(components: Sequence[Component]) -> list[tuple[str, Component]]:
    return list(zip(names_of(components), components, strict=True))


def _decoding(pipeline: Pipeline) -> dict[str, Any]:
    source = pipeline.source.settings
    options = ("format", "max_event_bytes", "tombstones")
    return {name: getattr(source, name) for name in options if hasattr(source, name)} | {"existing": pipeline.existing}


def _deletes(plan: Plan, settings: SinkSettings) -> bool:
    """Whether a sink may ever delete: then the operations of a batch are held and folded before any is sent."""
    return plan.decoding.get("tombstones") == "delete" or any(rule.delete is not None for rule in settings.rules)


def _condition(settings: Settings, plan: Plan) -> Condition | None:
    return None if settings.when is None else Condition.parse(settings.when, plan.timezone)


def _path(component: type) -> str:
    return f"{component.__module__}:{component.__qualname__}"


def _made(part: DecoratorPart | SinkPart | StorePart) -> Any:
    component = class_at(part.component)
    if isinstance(part, SinkPart) or not part.provider:
        return component(part.settings)
    try:
        made = component(part.settings)
        if isinstance(part, DecoratorPart):
            _check_made(made, part)
    except PASSED_ON:
        raise
    except BaseException as error:
        raise CatalogError(
            f'"{part.name}" can not be made: {told(error, component.__module__, part.provider)}',
            code="bad_plugin",
            hint="its constructor begins with super().__init__(settings), and may read files that are here too",
        ) from error
    return made


def _check_made(made: Any, part: DecoratorPart) -> None:
    if getattr(made, "settings", None) is not part.settings:
        raise TypeError("it does not keep its settings")
    if not isinstance(made.drop_reason, str):
        raise TypeError(f"its drop_reason is {made.drop_reason!r}, and must be text")

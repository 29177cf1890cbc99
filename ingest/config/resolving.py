"""From a draft without problems to the description: names that were left out are filled in."""

import hashlib
import json
from dataclasses import dataclass

from ingest.api import Model
from ingest.config.draft import Draft, PipelineDraft
from ingest.config.model import Component, Pipeline, Table, TestCase
from ingest.config.nodes import Node, places, plain
from ingest.config.options import DeadLetterTopic


@dataclass(frozen=True, slots=True)
class Resolved:
    """The parts of a configuration that name others."""

    tables: dict[str, Table]
    pipelines: dict[str, Pipeline]
    tests: tuple[TestCase, ...]


def resolve(draft: Draft) -> Resolved:
    """The parts with every name filled in; only for a draft that has no errors."""
    tables = {
        name: Table(name, table.options.store or draft.only_store() or "", table.options, table.where)
        for name, table in draft.tables.items()
    }
    tests = tuple(
        TestCase(
            name=options.name,
            pipeline=options.pipeline or draft.only_pipeline() or "",
            given=_given(node),
            expect=options.expect,
            where=node.place,
            places=places(node),
        )
        for options, node in draft.cases
    )
    return Resolved(
        tables, {name: _pipeline(pipeline, draft, tables) for name, pipeline in draft.pipelines.items()}, tests
    )


def _given(node: Node) -> tuple[dict[str, object], ...]:
    given = plain(node)["given"]
    return tuple({str(key): value for key, value in event.items()} for event in given)


def _pipeline(draft: PipelineDraft, file: Draft, tables: dict[str, Table]) -> Pipeline:
    assert draft.source is not None  # noqa: S101 - there are no errors
    assert draft.dead_letters is not None  # noqa: S101
    only = file.only_store()
    sinks = tuple(_with(sink, "store", getattr(sink.settings, "store", None) or only) for sink in draft.sinks)
    options = draft.options
    return Pipeline(
        name=draft.name,
        where=draft.where,
        source=draft.source,
        decorators=tuple(draft.steps),
        sinks=sinks,
        dead_letters=_dead_letters(draft.dead_letters, draft.source),
        on_error=options.on_error,
        error_budget=options.error_budget,
        timezone=options.timezone,
        existing=options.attributes.existing,
        trigger_every_s=options.trigger.every,
        description=options.description,
        fingerprint=_fingerprint(draft, file, sinks, tables),
    )


def _with(component: Component, name: str, value: object) -> Component:
    """A component with one option filled in."""
    if name not in type(component.settings).model_fields:
        return component
    settings = component.settings.model_copy(update={name: value})
    return Component(component.kind, settings, component.where, component.places, component.chain)


def _dead_letters(dead_letters: Component, source: Component) -> Component:
    settings: Model = dead_letters.settings
    if not isinstance(settings, DeadLetterTopic) or settings.brokers is not None:
        return dead_letters
    dead_letters = _with(dead_letters, "brokers", getattr(source.settings, "brokers", None))
    security = settings.security or getattr(source.settings, "security", None)
    return _with(dead_letters, "security", security)


def _fingerprint(draft: PipelineDraft, file: Draft, sinks: tuple[Component, ...], tables: dict[str, Table]) -> str:
    """The same for the same meaning of the text: order of keys, comments, chains and includes do not matter."""
    stores = sorted({str(getattr(sink.settings, "store", "")) for sink in sinks})
    left_out = {"description", "decorators"}  # the one changes nothing, of the other the steps count
    own = {key: plain(node, masked=True) for key, node in draft.node.entries.items() if key not in left_out}
    content = {
        "pipeline": own,
        "decorators": [plain(node, masked=True) for node in draft.step_nodes],
        "sinks": stores,
        "stores": {name: plain(file.store_names[name], masked=True) for name in stores if name in file.store_names},
        "tables": {
            name: plain(file.tables[name].node, masked=True) for name, table in tables.items() if table.store in stores
        },
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()

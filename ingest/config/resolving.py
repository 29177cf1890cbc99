"""Builds the model from a configuration without errors: omitted names are filled in."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel

from ingest.api import Model, SinkSettings, SmallFile, SourceSettings
from ingest.api.declared_table import Locator
from ingest.config.column_types import column_types_of
from ingest.config.model import Component, Pipeline, Table, TestCase
from ingest.config.nodes import Node, locations, plain
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.tables import TableOptions
from ingest.kafka.settings import connection_of, topic_of

S = TypeVar("S", bound=Model)

_ITERATIONS = 100_000
"""Of the derivation: some 50 ms for each pipeline whose decorators have secrets."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The parts of a configuration that refer to others."""

    tables: dict[str, Table]
    pipelines: dict[str, Pipeline]
    tests: tuple[TestCase, ...]


def resolve(partial_config: PartialConfig, locator: Locator) -> Resolved:
    """
    Fill in all omitted names; the configuration must have no errors.

    Raises:
        CatalogError: a component of a table cannot be imported.
    """
    tables = {
        name: Table(
            name,
            table.options.store or partial_config.only_store() or "",
            table.options,
            table.location,
            table.components,
            table.features,
            column_types_of(table, locator),
        )
        for name, table in partial_config.tables.items()
    }
    tests = tuple(
        TestCase(
            name=options.name,
            pipeline=options.pipeline or partial_config.only_pipeline() or "",
            given=_given(node),
            expect=options.expect,
            location=node.place,
            locations=locations(node),
        )
        for options, node in partial_config.test_cases
    )
    further = {each.name: each for table in tables.values() for each in _declared_with(table)}
    return Resolved(
        tables | further,
        {name: _pipeline(pipeline, partial_config, tables) for name, pipeline in partial_config.pipelines.items()},
        tests,
    )


def _declared_with(table: Table) -> Iterator[Table]:
    """The further tables that a table declares."""
    for feature in table.features:
        for name, options in feature.declared_tables(table).items():
            yield Table(
                name,
                table.store,
                TableOptions.model_validate({"store": table.options.store, **options}),
                table.location,
            )


def _given(node: Node) -> tuple[dict[str, object], ...]:
    given = plain(node)["given"]
    return tuple({str(key): value for key, value in event.items()} for event in given)


def _pipeline(pipeline: PartialPipeline, partial_config: PartialConfig, tables: dict[str, Table]) -> Pipeline:
    assert pipeline.source is not None  # noqa: S101 - there are no errors
    assert pipeline.dead_letters is not None  # noqa: S101
    with_stores = (_with_store(sink, partial_config.only_store()) for sink in pipeline.sinks)
    sinks = tuple(_in_cluster(sink, pipeline.source) for sink in with_stores)
    options = pipeline.options
    resolved = Pipeline(
        name=pipeline.name,
        location=pipeline.location,
        source=pipeline.source,
        decorators=tuple(pipeline.decorators),
        sinks=sinks,
        dead_letters=_in_cluster(pipeline.dead_letters, pipeline.source),
        on_error=options.on_error,
        error_budget=options.error_budget,
        timezone=options.timezone,
        existing=options.attributes.existing,
        trigger_every_s=options.trigger.every,
        max_rate=options.max_rate,
        replay=options.replay,
        description=options.description,
        fingerprint="",
    )
    return replace(resolved, fingerprint=_fingerprint(pipeline, partial_config, resolved, tables))


def _with(component: Component[S], **options: object) -> Component[S]:
    """A copy of a component with some options replaced."""
    return replace(component, settings=component.settings.model_copy(update=options))


def _with_store(sink: Component[SinkSettings], only: str | None) -> Component[SinkSettings]:
    """A sink with the default store, if its options name none."""
    return sink if sink.settings.store_name != "" else replace(sink, settings=sink.settings.with_store(only or ""))


def _in_cluster(component: Component[S], source: Component[SourceSettings]) -> Component[S]:
    """A component that writes a topic, with the cluster of the source if its options name none; another as it is."""
    topic, cluster = topic_of(component.settings), connection_of(source.settings)
    if topic is None or topic.brokers is not None or cluster is None:
        return component
    return _with(component, brokers=cluster.brokers, security=topic.security or cluster.security)


def _fingerprint(
    pipeline: PartialPipeline,
    partial_config: PartialConfig,
    resolved: Pipeline,
    tables: dict[str, Table],
) -> str:
    """
    A hash that does not depend on comments, the order of keys, the use of chains and includes, or tables that the
    pipeline cannot write.

    The content of files that decorators name counts, and so do their secrets, which decide what is written as the key
    of `hmac` does. Other secrets, with which something is connected, do not.
    """
    # the first three have no effect on results; the decorators are replaced by the expanded list
    excluded = {"description", "max_rate", "replay", "decorators"}
    own = {key: plain(node, masked=True) for key, node in pipeline.node.entries.items() if key not in excluded}
    decorators = [plain(node, masked=True) for node in pipeline.decorator_nodes]
    content: dict[str, object] = {
        "pipeline": own,
        "decorators": decorators,
        "sinks": resolved.stores,
        "stores": {
            name: plain(partial_config.store_names[name], masked=True)
            for name in resolved.stores
            if name in partial_config.store_names
        },
        "tables": {
            name: _without_types(plain(partial_config.tables[name].node, masked=True))
            for name, table in tables.items()
            if resolved.may_write(table)
        },
    }
    files = [hashlib.sha256(file.content).hexdigest() for each in pipeline.decorators for file in _files(each.settings)]
    if files:
        content["files"] = files
    revealed = [plain(node) for node in pipeline.decorator_nodes]
    if revealed != decorators:
        content["secrets"] = _derived(json.dumps(revealed, sort_keys=True, default=str))
    if any(decorator.settings.uses_registry for decorator in pipeline.decorators):
        # what the values mean depends on them; how to connect does not matter
        registry = partial_config.registry
        assert registry is not None  # noqa: S101 - there are no errors
        content["registry"] = {
            "url": registry.url,
            "schemas": {each.id: [each.type, each.content.hex()] for each in registry.declared.values()},
        }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _files(value: object) -> Iterator[SmallFile]:
    """The files of which options have the content."""
    match value:
        case SmallFile():
            yield value
        case BaseModel():
            for _, each in value:
                yield from _files(each)
        case list() | tuple():
            for each in value:
                yield from _files(each)


@lru_cache(maxsize=64)
def _derived(text: str) -> str:
    """
    What can be kept of a text with secrets: whoever reads a fingerprint, as in a dead letter, cannot try many guesses.

    Source: PBKDF2 (RFC 8018), with a fixed salt, since the same text must give the same fingerprint everywhere.
    """
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"attr2hbase fingerprint", _ITERATIONS).hex()


def _without_types(table: Mapping[str, object] | None) -> dict[str, object]:
    """The options of a table without the types with which its values are shown; none of a table without any."""
    return {name: value for name, value in (table or {}).items() if name != "columns"}

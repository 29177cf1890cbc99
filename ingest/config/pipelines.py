"""Binds the source, decorators, sinks and dead letters of pipelines; chains are expanded where they are used."""

from dataclasses import replace

from ingest.api import Settings, SinkSettings, SourceSettings
from ingest.config.components import Binding
from ingest.config.keys import COMPONENT_KEYS, PIPELINE_KEYS, where_it_belongs
from ingest.config.model import Component
from ingest.config.nodes import MappingNode, Node, ScalarNode, SequenceNode, locations, plain, text_under
from ingest.config.options import DEAD_LETTERS, DeadLetterFiles, PipelineOptions
from ingest.config.partial import PartialConfig, PartialPipeline
from ingest.config.problems import Kind, Place, listed
from ingest.suggest import did_you_mean

MAX_DECORATORS = 1_000  # of one pipeline, including references to chains: nested chains grow exponentially

Context = dict[str, object]


class Pipelines:
    """Binds the pipelines of a file; a chain is bound again in each pipeline, because time zones differ."""

    def __init__(self, binding: Binding, chains: MappingNode, partial_config: PartialConfig) -> None:
        self._binding = binding
        self._problem = binding.problem
        self._chains = chains
        self._partial_config = partial_config
        self._left = MAX_DECORATORS

    def bind(self, name: str, node: MappingNode, location: Place) -> PartialPipeline:
        """A pipeline with all parts that are valid."""
        pipeline = PartialPipeline(name, location, node)
        own = MappingNode(node.place)
        for key, value in node.entries.items():
            if key in PipelineOptions.model_fields:
                own.entries[key], own.keys[key] = value, node.keys[key]
            elif key not in COMPONENT_KEYS:
                hint = where_it_belongs(key) or did_you_mean(key, PIPELINE_KEYS)
                hint = hint or f"it has {listed(PIPELINE_KEYS, len(PIPELINE_KEYS))}"
                self._problem(Kind.UNKNOWN_FIELD, node.keys[key], f'"{key}" is not a part of a pipeline', hint)
        options = self._binding.options(PipelineOptions, own, f"pipeline {name}", location)
        if isinstance(options, PipelineOptions):
            pipeline.options = options
        context: Context = {"timezone": pipeline.options.timezone, "pipeline": name}
        self._source(pipeline, context)
        if (decorators := node.entries.get("decorators")) is not None:
            self._left = MAX_DECORATORS
            self.decorators(pipeline, decorators, context, ())
        self._sinks(pipeline, context)
        self._dead_letters(pipeline, context)
        return pipeline

    def decorators(self, pipeline: PartialPipeline, node: Node, context: Context, inside: tuple[str, ...]) -> None:
        """Add the decorators of a list; `inside` names the chains that contain it."""
        for item in self._items(node, "decorators" if not inside else f"chain {inside[-1]}"):
            self._left -= 1
            if self._left < 0:
                if self._left == -1:
                    self._problem(
                        Kind.TOO_LARGE, pipeline.location, f"more than {MAX_DECORATORS} decorators, chains expanded"
                    )
                return
            if isinstance(item, MappingNode) and list(item.entries) == ["chain"]:
                self._chain(pipeline, item.entries["chain"], context, inside)
                continue
            decorator = self._binding.component(item, "decorators", "decorator", context, Settings)
            if decorator is not None:
                pipeline.decorators.append(replace(decorator, chain=inside))
                pipeline.decorator_nodes.append(item)

    def _chain(self, pipeline: PartialPipeline, node: Node, context: Context, inside: tuple[str, ...]) -> None:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self._problem(Kind.WRONG_TYPE, node.place, "chain must be the name of a chain")
            return
        name = node.value
        chain = self._chains.entries.get(name)
        if chain is None:
            hint = did_you_mean(name, self._chains.entries) or "declare it under `chains`"
            self._problem(Kind.UNKNOWN_REFERENCE, node.place, f'there is no chain "{name}"', hint)
        elif name in inside:
            self._problem(Kind.CONFLICT, node.place, f'chain "{name}" uses itself')
        else:
            self._partial_config.used_chains.add(name)
            self.decorators(pipeline, chain, context, (*inside, name))

    def _items(self, node: Node, what: str) -> list[Node]:
        if isinstance(node, SequenceNode):
            return node.items
        if not (isinstance(node, ScalarNode) and node.value is None):
            self._problem(
                Kind.WRONG_TYPE, node.place, f"{what} must be a list of components, each `- name: {{options}}`"
            )
        return []

    def _source(self, pipeline: PartialPipeline, context: Context) -> None:
        node = pipeline.node.entries.get("source")
        if node is None:
            self._problem(Kind.MISSING_FIELD, pipeline.location, f'pipeline {pipeline.name} needs "source"')
        else:
            pipeline.source = self._binding.component(node, "sources", "source", context, SourceSettings)

    def _sinks(self, pipeline: PartialPipeline, context: Context) -> None:
        node = pipeline.node.entries.get("sinks")
        if node is None or plain(node) in (None, []):
            location = pipeline.node.keys.get("sinks", pipeline.location)
            hint = "write each as `- name: {options}`"
            self._problem(Kind.MISSING_FIELD, location, f'pipeline {pipeline.name} needs "sinks"', hint)
            return
        for item in self._items(node, "sinks"):
            sink = self._binding.component(item, "sinks", "sink", context, SinkSettings)
            if sink is not None:
                pipeline.sinks.append(sink)
            has_store = sink is None or sink.settings.store_name is not None
            if has_store and isinstance(item, MappingNode) and len(item.entries) == 1:
                (options,) = item.entries.values()
                if (store := text_under(options, "store")) is not None:
                    self._partial_config.store_uses.append(store)

    def _dead_letters(self, pipeline: PartialPipeline, context: Context) -> None:
        node = pipeline.node.entries.get("dead_letters")
        if node is None:
            pipeline.dead_letters = Component("files", DeadLetterFiles(), pipeline.location)
            return
        parts = self._binding.kind_and_options(node, "dead-letter destination", tuple(DEAD_LETTERS))
        if parts is None:
            return
        kind, options, location = parts
        model = DEAD_LETTERS.get(kind)
        if model is None:
            hint = did_you_mean(kind, DEAD_LETTERS) or f"there are {listed(DEAD_LETTERS)}"
            self._problem(Kind.UNKNOWN_COMPONENT, location, f'there is no dead-letter destination "{kind}"', hint)
            return
        settings = self._binding.options(model, options, kind, location, context)
        if settings is not None:
            pipeline.dead_letters = Component(kind, settings, location, locations(options))

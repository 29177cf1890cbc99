"""Agents of Flume 1 as pipelines: each HBase sink, with every source that feeds its channel, is one."""

from collections.abc import Mapping
from dataclasses import replace

from ingest.config import Kind, Place, Problem, Severity
from ingest.flume.ng.interceptors import steps_of
from ingest.flume.ng.kafka import header_steps, kafka_channel, kafka_source
from ingest.flume.ng.properties import Options, Property
from ingest.flume.ng.serializers import TYPES, PipelineEnd, end_of
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Pipeline, Verbatim
from ingest.flume.pipelines.report import Entry, Outcome

_KEPT = "Kafka keeps events, and the checkpoint what was read: nothing is lost in a crash"
_CHANNELS = {"memory": _KEPT, "file": _KEPT, "spillablememory": _KEPT, "jdbc": _KEPT}
_APART_OF_SOURCES = ("interceptors",)


class Agents:
    """
    Translates one file; used once.

    Attributes:
        entries: what became of each part.
    """

    def __init__(self, original: Original, properties: Mapping[str, Property], zone: str) -> None:
        self._original = original
        self._properties = properties
        self._zone = zone
        self._groups: set[tuple[str, str]] = set()
        self.entries: list[Entry] = []

    def pipelines(self) -> list[Pipeline]:
        """The pipelines; none when the original has problems."""
        names = dict.fromkeys(key.partition(".")[0] for key in self._properties if "." in key)
        found = [pipeline for name in names for pipeline in self._agent(name)]
        if not found and not self._original.problems:
            hint = "sinks of the types hbase and hbase2 are imported"
            self._original.error(Kind.MISSING_FIELD, 0, "there is no HBase sink in this file", hint)
        return found

    def _options(self, prefix: str, apart: tuple[str, ...] = ()) -> Options:
        return Options(self._original, self._properties, prefix, apart)

    def _agent(self, agent: str) -> list[Pipeline]:
        lists = self._options(f"{agent}.")
        found: list[Pipeline] = []
        of_channel: dict[str, tuple[str, dict[str, str]]] = {}
        for name in lists.words("sinks"):
            options = self._options(f"{agent}.sinks.{name}.")
            written = options.text("type")
            if TYPES.get(written.rpartition(".")[2]) is None:
                self._entry(Outcome.LEFT_OUT, options, f"sink {name} ({written})", "", "it is no HBase sink")
                continue
            channel = options.text("channel")
            same = of_channel.setdefault(channel, (name, options.below("")))
            if same[0] != name:
                self._second(options, name, same)
                continue
            found += self._of_sink(agent, name, self._options(f"{agent}.sinks.{name}."), channel)
        if found:
            keys = (f"{agent}.{name}" for name in ("sources", "channels", "sinks"))
            said = [comment for key in keys if key in self._properties for comment in self._properties[key].comments]
            found[0].comments = said
            for group in lists.words("sinkgroups"):
                options = self._options(f"{agent}.sinkgroups.{group}.")
                self._entry(Outcome.LEFT_OUT, options, f"sink group {group}", "", "Spark's tasks share the work")
        return found

    def _second(self, options: Options, name: str, first: tuple[str, dict[str, str]]) -> None:
        if options.below("") == first[1]:
            why = f"it is like {first[0]}, on the same channel: Spark's tasks write side by side"
            self._entry(Outcome.LEFT_OUT, options, f"sink {name}", "", why)
            return
        message = f"{name} and {first[0]} take from one channel and differ: chance decided which of them got an event"
        options.error(Kind.CONFLICT, "channel", message, "give each a channel of its own, or remove one")

    def _of_sink(self, agent: str, name: str, options: Options, channel: str) -> list[Pipeline]:
        for known in ("type", "channel"):
            options.text(known)
        end = end_of(options)
        if end is None:
            return []
        options.below("zookeeper")
        unused = [each for each in options.unused() if each != "znodeParent"]
        notes = [*end.notes, *([f"not needed: {', '.join(unused)}"] if unused else [])]
        self._entry(Outcome.TRANSLATED, options, f"sink {name}", end.sink.kind, "; ".join(notes))
        sources = self._options(f"{agent}.").words("sources")
        feeding = [each for each in sources if channel in self._options(f"{agent}.sources.{each}.").words("channels")]
        held = self._options(f"{agent}.channels.{channel}.")
        if _kind(held.text("type")) == "kafka" and not any(self._is_kafka(agent, each) for each in feeding):
            return [self._from_channel(agent, name, held, feeding, end)]
        self._entry(Outcome.REPLACED, held, f"channel {channel} ({held.text('type')})", "kafka and checkpoint",
                    _CHANNELS.get(_kind(held.text("type")), _KEPT))  # fmt: skip
        if not feeding:
            options.error(Kind.UNKNOWN_REFERENCE, "channel", f'no source feeds the channel "{channel}"')
        found = []
        for each in feeding:
            own = f"{agent}-{name}" if len(feeding) == 1 else f"{agent}-{each}-{name}"
            made = self._from_source(own, agent, each, end)
            made.source.comments = [*held.comments(), *made.source.comments]
            found.append(made)
        return found

    def _is_kafka(self, agent: str, source: str) -> bool:
        return _kind(self._options(f"{agent}.sources.{source}.").text("type")) == "kafka"

    def _from_channel(self, agent: str, name: str, held: Options, feeding: list[str], end: PipelineEnd) -> Pipeline:
        source = kafka_channel(held)
        self._entry(Outcome.TRANSLATED, held, "channel (kafka)", "kafka", "its topic is what is read")
        for each in feeding:
            options = self._options(f"{agent}.sources.{each}.")
            why = "it fills the topic of the channel, its interceptors included, and has to go on with that"
            self._entry(Outcome.LEFT_OUT, options, f"source {each} ({options.text('type')})", "", why)
        return self._pipeline(f"{agent}-{name}", source, end.steps, end)

    def _from_source(self, own: str, agent: str, name: str, end: PipelineEnd) -> Pipeline:
        options = self._options(f"{agent}.sources.{name}.", _APART_OF_SOURCES)
        written, _ = options.text("type"), options.text("channels")
        selector = options.text("selector.type", "replicating")
        if selector != "replicating":
            hint = "import it without the selector, and choose events with a `filter` step"
            options.error(Kind.UNKNOWN_COMPONENT, "selector.type", f'the selector "{selector}" is not imported', hint)
        steps: list[Component] = []
        if _kind(written) == "kafka":
            source = kafka_source(options)
            made = header_steps(options)
            for known in ("batchSize", "batchDurationMillis", "backoffSleepIncrement", "maxBackoffSleep"):
                options.text(known)
            unused = options.unused()
            why = f"not needed: {', '.join(unused)}" if unused else ""
            self._entry(Outcome.TRANSLATED, options, f"source {name}", "kafka", why)
            steps += made if end.deposits_headers else []
        else:
            source = self._stub(own, options, name, written)
        for each in options.words("interceptors"):
            interceptor = self._options(f"{agent}.sources.{name}.interceptors.{each}.")
            found = steps_of(interceptor)
            by = ", ".join(step.kind for step in found)
            said = interceptor.comments()
            why = "; ".join(comment for step in found for comment in step.comments if comment not in said)
            outcome = Outcome.TRANSLATED if found else Outcome.LEFT_OUT
            self._entry(outcome, interceptor, f"interceptor {each} ({interceptor.text('type')})", by, why)
            steps += found
        return self._pipeline(own, source, [*steps, *end.steps], end)

    def _stub(self, own: str, options: Options, name: str, written: str) -> Component:
        why = "sources other than Kafka's are not imported; have the events sent to this topic"
        self._entry(Outcome.REPLACED, options, f"source {name} ({written})", f"kafka topic {own}", why)
        said = [*options.comments(), f"Flume read {name} ({written}); this is a stub: name the topic with those events"]
        found: dict[str, object] = {"brokers": Verbatim("${KAFKA:localhost:9092}"), "topics": [own]}
        return Component("kafka", found, said, self._original.place(options.at("type")))

    def _pipeline(self, name: str, source: Component, steps: list[Component], end: PipelineEnd) -> Pipeline:
        group = source.options.get("group")
        if group is not None:
            key = (str(source.options["brokers"]), str(group))
            if key in self._groups:
                message = f'pipeline {name} reads as the group "{group}-{name}": "{group}" is that of another one'
                self._original.problems.append(_warning(source, message))
                source = replace(source, options={**source.options, "group": f"{group}-{name}"})
            self._groups.add(key)
        return Pipeline(name, source, [end.sink], steps, {"timezone": self._zone})

    def _entry(self, outcome: Outcome, options: Options, original: str, by: str, why: str) -> None:
        self.entries.append(Entry(outcome, self._original.place(options.at("type")), original, by, why))


def _warning(component: Component, message: str) -> Problem:
    place = component.place or Place("", 1, 1)
    return Problem(Kind.CONFLICT, place, message, "", Severity.WARNING)


def _kind(written: str) -> str:
    """The short name of a source or channel, of its alias or its class."""
    name = written.rpartition(".")[2].lower()
    return name.removesuffix("source").removesuffix("channel")

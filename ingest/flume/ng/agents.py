"""Translates agents of Flume 1 to pipelines: one for each HBase sink and source of its channel."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from ingest.config import Kind, Place, Problem, Severity
from ingest.config.components import NOT_IMPORTED
from ingest.flume.ng.clusters import Clusters
from ingest.flume.ng.groups import Failover, failovers
from ingest.flume.ng.interceptors import decorators_of
from ingest.flume.ng.kafka import (
    GROUP_OF_FLUME,
    group_for_others,
    header_decorators,
    is_kafka,
    kafka_channel,
    kafka_source,
    offsets_for,
)
from ingest.flume.ng.known import OF_KAFKA_CHANNEL, OF_KAFKA_SOURCE, OF_SERIALIZERS, OF_SINK, not_needed
from ingest.flume.ng.properties import Options, Property
from ingest.flume.ng.remaining import RemainingSinks, remaining_sinks
from ingest.flume.ng.selectors import MULTIPLEXING, kind_of, selection
from ingest.flume.ng.serializers import PipelineEnd, end_of, is_imported
from ingest.flume.ng.variables import Variables
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Pipeline, Table, Verbatim
from ingest.flume.pipelines.report import Entry, Outcome
from ingest.suggest import did_you_mean

P = TypeVar("P", Component, Table)

_DURABLE = "Kafka stores events, and the checkpoint the offsets: a crash loses nothing"
_DRAIN = "before the migration stop its sources, wait until {} is 0, then stop the agent"
_NO_DRAIN = (
    "the pipeline reads its topic; stop the agent before the migration: the pipeline starts at the offsets of the group"
)
_NO_BACKUP = "events stay in Kafka while the store is unavailable, so no backup is needed"
_APART_OF_SOURCES = ("interceptors", "selector")
_OF_SINK = (*OF_SINK, *(f"serializer.{name}" for name in OF_SERIALIZERS))
_NO_SINK = "no imported sink reads"


class Agents:
    """
    Translates a file; used once.

    Attributes:
        entries: the outcome for each part.
        tables: the declared tables, by name.
    """

    def __init__(self, original: Original, properties: Mapping[str, Property], zone: str) -> None:
        self._original = original
        self._properties = properties
        self._variables = Variables(original, {key: found.value for key, found in properties.items()})
        self._zone = zone
        self._groups: dict[tuple[str, str], list[Pipeline]] = {}  # by brokers and group
        self._remaining: list[RemainingSinks] = []
        self._clusters = Clusters()
        self._reported: set[str] = set()  # prefixes of components in the report
        self.entries: list[Entry] = []
        self.tables: dict[str, Table] = {}

    def pipelines(self) -> list[Pipeline]:
        """The pipelines; incomplete if the original has errors."""
        names = dict.fromkeys(key.partition(".")[0] for key in self._properties if "." in key)
        found = [pipeline for name in names for pipeline in self._agent(name)]
        if not found and not self._original.has_errors:
            hint = "sinks of the types hbase, hbase2 and asynchbase are imported"
            self._original.error(Kind.MISSING_FIELD, 0, "there is no HBase sink in this file", hint)
        self._comment_groups()
        self._write_variables()
        if len(self.stores) == 1:
            for pipeline in found:
                pipeline.sinks = [_without_store(sink) for sink in pipeline.sinks]
            self.tables = {name: _without_store(table) for name, table in self.tables.items()}
        return [self._variables.pipeline(pipeline) for pipeline in found]

    @property
    def stores(self) -> Mapping[str, Component]:
        """The stores of the pipelines, by name."""
        return self._clusters.stores

    def _write_variables(self) -> None:
        """Replace the marks of variables in the report and problems."""
        written = self._variables.written
        self.entries = [
            replace(entry, original=written(entry.original), by=written(entry.by), why=written(entry.why))
            for entry in (*self.entries, *self._variables.entries)
        ]
        self._original.problems = [
            replace(problem, message=written(problem.message), hint=written(problem.hint))
            for problem in self._original.problems
        ]

    def _options(self, prefix: str, apart: tuple[str, ...] = ()) -> Options:
        return Options(self._original, self._properties, self._variables, prefix, apart)

    def _agent(self, agent: str) -> list[Pipeline]:
        lists = self._options(f"{agent}.")
        found: list[Pipeline] = []
        of_channel: dict[str, tuple[str, dict[str, str]]] = {}
        channels = self._channels(agent, lists)
        groups = failovers(lists, lambda group: self._options(f"{agent}.sinkgroups.{group}."))
        of_group = {group.name: self._of_failover(agent, group, channels) for group in groups}
        for name, channel in channels.items():
            options = self._options(f"{agent}.sinks.{name}.")
            same = of_channel.setdefault(channel, (name, options.below("")))
            if same[0] != name:
                self._second(options, name, same)
                continue
            found += self._of_sink(agent, name, self._options(f"{agent}.sinks.{name}."), channel)
        backups = {name for group in groups for name in (*group.ranked[1:], *group.never)}
        self._remaining += remaining_sinks(agent, backups, self._options)
        if found:
            keys = (f"{agent}.{name}" for name in ("sources", "channels", "sinks"))
            remarks = [comment for key in keys if key in self._properties for comment in self._properties[key].comments]
            found[0].comments = remarks
            for group in lists.words("sinkgroups"):
                options = self._options(f"{agent}.sinkgroups.{group}.")
                why = of_group.get(group, "Spark's tasks write in parallel")
                self._entry(Outcome.LEFT_OUT, options, f"sink group {group}", "", why)
            self._leave_out_rest(agent, lists)
        return found

    def _channels(self, agent: str, lists: Options) -> dict[str, str]:
        """Imported sinks -> their channels; reports all other sinks as left out."""
        found = {}
        for name in lists.words("sinks"):
            options = self._options(f"{agent}.sinks.{name}.")
            written = options.text("type")
            if is_imported(options):
                found[name] = options.text("channel")
            else:
                self._entry(Outcome.LEFT_OUT, options, f"sink {name} ({written})", "", "only HBase sinks are imported")
        return found

    def _of_failover(self, agent: str, group: Failover, channels: dict[str, str]) -> str:
        """Remove the backup sinks of a failover group; returns the entry's remark about the group."""
        heads: dict[str, str] = {}
        first, of_group = group.ranked[0], f"the failover group {group.name}"
        if group.tied:
            tied = ", ".join(group.tied)
            message = f"{tied} of {of_group} have the same priority or none: {first}, the first listed, is used"
            hint = "give the intended sink a higher priority; in Flume the choice depended on their names"
            self._options(f"{agent}.sinkgroups.{group.name}.").warn("sinks", message, hint)
        for name in [*group.ranked, *group.never]:
            if name not in channels:
                continue
            options = self._options(f"{agent}.sinks.{name}.")
            why = ""
            if name in group.never:
                before = group.never[name]
                why = f"it has the priority of {before}, which is listed before it in {of_group}: Flume ran only one"
            elif heads.setdefault(channels[name], name) != name:
                why = f"{heads[channels[name]]} has priority over it in {of_group}: {_NO_BACKUP}"
            elif name != first:
                message = (
                    f"{name} of {of_group} wrote only while {first} failed: here it receives all events of its channel"
                )
                options.warn("type", message, "remove it if it was only a backup")
            if why:
                del channels[name]
                self._entry(Outcome.LEFT_OUT, options, f"sink {name}", "", why)
        if list(heads.values()) == [first]:
            return f"{first} has the highest priority and receives every event: {_NO_BACKUP}"
        return f"each receives all events of its channel: {', '.join(heads.values()) or 'none that is imported'}"

    def _leave_out_rest(self, agent: str, lists: Options) -> None:
        """Report the components that belong to no pipeline."""
        for name in lists.words("sources"):
            options = self._options(f"{agent}.sources.{name}.")
            if options.prefix in self._reported:
                continue
            what = f"source {name} ({options.text('type')})"
            self._entry(Outcome.LEFT_OUT, options, what, "", f"{_NO_SINK} its channels")
            for each in options.words("interceptors"):
                own = self._options(f"{options.prefix}interceptors.{each}.")
                what = f"interceptor {each} ({own.text('type')})"
                self._entry(Outcome.LEFT_OUT, own, what, "", f"the source {name} is left out")
            selector = self._options(f"{options.prefix}selector.")
            if selector.names():
                what = f"selector ({selector.text('type')})"
                self._entry(Outcome.LEFT_OUT, selector, what, "", f"the source {name} is left out")
        for name in lists.words("channels"):
            options = self._options(f"{agent}.channels.{name}.")
            if options.prefix not in self._reported:
                what = f"channel {name} ({options.text('type')})"
                self._entry(Outcome.LEFT_OUT, options, what, "", f"{_NO_SINK} it")
        for section in ("sources", "channels", "sinks"):
            for name in dict.fromkeys(rest.partition(".")[0] for rest in lists.below(f"{section}.")):
                if name not in lists.words(section):
                    options = self._options(f"{agent}.{section}.{name}.")
                    why = f"it is not in {agent}.{section}: Flume did not start it"
                    self._entry(Outcome.LEFT_OUT, options, f"{section[:-1]} {name}", "", why)

    def _second(self, options: Options, name: str, first: tuple[str, dict[str, str]]) -> None:
        if not options.text("channel"):
            end_of(options)
            return
        if options.below("") == first[1]:
            why = f"it equals {first[0]}, on the same channel: Spark's tasks write in parallel"
            self._entry(Outcome.LEFT_OUT, options, f"sink {name}", "", why)
            return
        message = f"{name} and {first[0]} read the same channel and differ: in Flume either of them received an event"
        options.error(Kind.CONFLICT, "channel", message, "give each a channel of its own, or remove one")

    def _of_sink(self, agent: str, name: str, options: Options, channel: str) -> list[Pipeline]:
        for known in ("type", "channel"):
            options.text(known)
        options.below("async.")  # of the client of the asynchronous sink
        end = end_of(options)
        if end.sink.kind != NOT_IMPORTED:
            self._of_hbase(agent, name, options, end)
        sources = self._options(f"{agent}.").words("sources")
        feeding = [each for each in sources if channel in self._options(f"{agent}.sources.{each}.").words("channels")]
        held = self._options(f"{agent}.channels.{channel}.")
        is_topic = is_kafka(held)
        if is_topic and not any(is_kafka(self._options(f"{agent}.sources.{each}.")) for each in feeding):
            return [self._from_channel(agent, name, held, feeding, end)]
        why = f"{_DURABLE}; {_DRAIN.format('the lag of its group' if is_topic else 'its ChannelSize')}"
        self._entry(Outcome.REPLACED, held, f"channel {channel} ({held.text('type')})", "kafka and checkpoint", why)
        if not feeding and channel:
            fed = {word for each in sources for word in self._options(f"{agent}.sources.{each}.").words("channels")}
            hint = did_you_mean(channel, fed)
            options.error(Kind.UNKNOWN_REFERENCE, "channel", f'no source feeds the channel "{channel}"', hint)
        if not feeding and len(sources) == 1:
            feeding, channel = sources, ""  # so that its problems are reported, too
        found = []
        for each in feeding:
            own = f"{agent}-{name}" if len(feeding) == 1 else f"{agent}-{each}-{name}"
            made = self._from_source(own, self._options(f"{agent}.sources.{each}.", _APART_OF_SOURCES), channel, end)
            made.source.comments = [*held.comments(), *made.source.comments]
            found.append(made)
        return found

    def _of_hbase(self, agent: str, name: str, options: Options, end: PipelineEnd) -> None:
        """Set the store of a sink, and report the sink as translated."""
        store, cluster = self._clusters.of(options, agent)
        unused = not_needed(options, "an HBase sink", _OF_SINK)
        end.sink.options = {"store": store, **end.sink.options}
        of_store = f"store {store} is the Thrift server of the cluster {cluster}"
        notes = [of_store, *end.notes, *([f"not needed: {', '.join(unused)}"] if unused else [])]
        self._entry(Outcome.TRANSLATED, options, f"sink {name}", end.sink.kind, "; ".join(notes))

    def _from_channel(self, agent: str, name: str, held: Options, feeding: list[str], end: PipelineEnd) -> Pipeline:
        source = kafka_channel(held)
        held.text("type")
        held.below("kafka.producer.")
        not_needed(held, "a Kafka channel", OF_KAFKA_CHANNEL)
        self._entry(Outcome.TRANSLATED, held, "channel (kafka)", "kafka", _NO_DRAIN)
        for each in feeding:
            options = self._options(f"{agent}.sources.{each}.")
            why = "it writes to the topic of the channel, with its interceptors, and must keep running"
            self._entry(Outcome.LEFT_OUT, options, f"source {each} ({options.text('type')})", "", why)
        return self._pipeline(f"{agent}-{name}", source, end.decorators, end)

    def _from_source(self, own: str, options: Options, channel: str, end: PipelineEnd) -> Pipeline:
        name = options.prefix.split(".")[-2]
        written, _ = options.text("type"), options.text("channels")
        selector = self._options(f"{options.prefix}selector.")
        is_selected = kind_of(selector) == MULTIPLEXING
        decorators: list[Component] = []
        is_of_kafka = is_kafka(options)
        if is_of_kafka:
            source = kafka_source(options)
            made = header_decorators(options)
            unused = not_needed(options, "a Kafka source", OF_KAFKA_SOURCE)
            why = f"not needed: {', '.join(unused)}" if unused else ""
            self._entry(Outcome.TRANSLATED, options, f"source {name}", "kafka", why)
            decorators += made if end.deposits_headers or is_selected else []
        else:
            source = self._stub(own, options, name, written)
        for each in options.words("interceptors"):
            its = self._options(f"{options.prefix}interceptors.{each}.")
            if its.text("type"):
                decorators += self._of_interceptor(each, its)
            else:
                self._without_type(each, options, its)
        chosen = selection(selector, channel, is_kafka=is_of_kafka) if channel else []
        if is_selected:
            outcome = Outcome.TRANSLATED if chosen else Outcome.LEFT_OUT
            why = "" if chosen else f"it sends every event to {channel}"
            by = ", ".join(decorator.kind for decorator in chosen)
            self._entry(outcome, selector, f"selector ({selector.text('type')})", by, why)
        return self._pipeline(own, source, [*decorators, *chosen, *end.decorators], end)

    def _without_type(self, name: str, source: Options, its: Options) -> None:
        others = {rest.partition(".")[0] for rest in source.below("interceptors.")} - set(source.words("interceptors"))
        hint = did_you_mean(name, others) or f"write {its.prefix}type"
        source.error(Kind.MISSING_FIELD, "interceptors", f'the interceptor "{name}" has no type', hint)

    def _of_interceptor(self, name: str, options: Options) -> list[Component]:
        written = options.text("type")
        what = f"interceptor {name} ({written})"
        found = decorators_of(options)
        if any(decorator.options.get("class") == written for decorator in found if decorator.kind == NOT_IMPORTED):
            return found  # to be written by hand
        remarks = options.comments()
        why = "; ".join(comment for decorator in found for comment in decorator.comments if comment not in remarks)
        by = ", ".join(decorator.kind for decorator in found)
        self._entry(Outcome.TRANSLATED if found else Outcome.LEFT_OUT, options, what, by, why)
        return found

    def _stub(self, own: str, options: Options, name: str, written: str) -> Component:
        why = "only Kafka sources are imported; send the events to this topic"
        self._entry(Outcome.REPLACED, options, f"source {name} ({written})", f"kafka topic {own}", why)
        remarks = [
            *options.comments(),
            f"Flume read {name} ({written}); the topic is a placeholder: set the one with those events",
        ]
        found: dict[str, object] = {"brokers": Verbatim("${KAFKA:localhost:9092}"), "topics": [own]}
        return Component("kafka", found, remarks, self._original.place(options.at("type")))

    def _pipeline(self, name: str, source: Component, decorators: list[Component], end: PipelineEnd) -> Pipeline:
        made = Pipeline(name, source, [end.sink, *self._counter(name, end)], decorators, {"timezone": self._zone})
        group = source.options.get("group")
        if group is not None:
            readers = self._groups.setdefault((str(source.options["brokers"]), str(group)), [])
            if readers:
                made.source = self._as_another(source, str(group), f"{group}-{name}", made.name, readers[0].name)
            readers.append(made)
        return made

    def _counter(self, pipeline: str, end: PipelineEnd) -> list[Component]:
        """The sink of a counter; its table belongs to one pipeline."""
        if end.counter is None:
            return []
        table, store = f"{pipeline}_counter", end.sink.options["store"]
        self.tables[table] = end.counter.table_in(store)
        return [end.counter.sink_into(table, store)]

    def _as_another(self, source: Component, group: str, own: str, name: str, first: str) -> Component:
        """The source with its own group, because another pipeline uses Flume's."""
        commands = offsets_for(source, own)
        message = f'pipeline {name} reads as the group "{own}", without offsets: {first} uses "{group}"'
        hint = f"before the first start, copy them while the agent is stopped: {' && '.join(map(' '.join, commands))}"
        place = source.place or Place("", 1, 1)
        self._original.problems.append(Problem(Kind.NOT_AS_FLUME, place, message, hint, Severity.WARNING))
        remarks = [comment for comment in source.comments if comment != GROUP_OF_FLUME]
        remarks.append(
            f"{first} uses Flume's group; before the first start, copy its offsets while the agent is stopped:"
        )
        remarks += [line for tool, rest in commands for line in (f"{tool} \\", rest)]
        return replace(source, options={**source.options, "group": own}, comments=remarks)

    def _comment_groups(self) -> None:
        """Comment on sources whose group's offsets other pipelines need; warn of groups that Flume still uses."""
        for (brokers, group), (first, *others) in self._groups.items():
            for remaining in self._remaining:
                if remaining.group == (self._variables.written(brokers), self._variables.written(group)):
                    self._warn_of_shared(first, group, remaining)
            if others:
                names = ", ".join(other.name for other in others)
                remarks = [
                    group_for_others(names) if each == GROUP_OF_FLUME else each for each in first.source.comments
                ]
                first.source = replace(first.source, comments=remarks)

    def _warn_of_shared(self, first: Pipeline, group: str, remaining: RemainingSinks) -> None:
        """Warn that a pipeline and an agent would use the same consumer group."""
        message = (
            f'the group "{group}" is also used by sinks that stay in Flume: {remaining.sinks} of agent '
            f"{remaining.agent}; while an agent uses it, pipeline {first.name} cannot commit its offsets"
        )
        own = f"{group}-{remaining.agent}-flume"
        commands = " && ".join(map(" ".join, offsets_for(first.source, own)))
        hint = f"there set kafka.consumer.group.id = {own}, and copy the offsets while the agent is stopped: {commands}"
        self._original.warning(remaining.at, message, hint)

    def _entry(self, outcome: Outcome, options: Options, original: str, by: str, why: str) -> None:
        self._reported.add(options.prefix)
        self.entries.append(Entry(outcome, self._original.place(options.at("type")), original, by, why))


def _without_store(part: P) -> P:
    return replace(part, options={name: value for name, value in part.options.items() if name != "store"})

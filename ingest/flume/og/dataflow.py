"""
Flume's data-flow text as pipelines.

A sink tree is a bundle of ways from the source to an HBase sink. Ways with the same decorators are sinks of one
pipeline; others are pipelines of their own, which read the topic each for itself and share what they begin with as a
chain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.config import Kind
from ingest.flume.og.arguments import Arguments, BadArgumentError, Keywords, Translation
from ingest.flume.og.decorators import KEPT, LEFT_OUT, UNKNOWN, UNPACKED_BY
from ingest.flume.og.lexer import Comment
from ingest.flume.og.sinks import SINKS, UNKNOWN_BUT_FLUMES
from ingest.flume.og.tree import Call, Chain, Failover, FanOut, File, Node, Scope, Sink, Text
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Pipeline, Verbatim, not_imported
from ingest.flume.pipelines.report import Entry, Outcome, shown
from ingest.suggest import did_you_mean

_DEFAULT_NAME = "flume"
_MAX_BYTES = "32KiB"  # flume.event.max.size.bytes: a longer body was no event
_COLLECTOR_MS = "30000"
_DECORATOR_INSTEAD = "write a custom decorator in Python that does what it did, or remove this one"
_SINK_INSTEAD = "write a sink attr2hbase, hbase or one of your own, or remove this one where it stays in Flume"
_BACKUP = "events wait in Kafka while the store is away, so no backup is needed"


@dataclass(frozen=True, slots=True)
class _Use:
    """A decorator or sink with the keywords around it."""

    call: Call
    keywords: Keywords = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Way:
    """Decorators from the source on, and the HBase sink they lead to; None for a sink that is unknown."""

    steps: tuple[_Use, ...]
    sink: _Use | None

    @property
    def locations(self) -> tuple[int, ...]:
        """What distinguishes its decorators from those of another way."""
        return tuple(step.call.at for step in self.steps)


class DataFlow:
    """
    Translates one tree; used once.

    Attributes:
        entries: what became of each part.
        chains: decorators that several pipelines begin with.
    """

    def __init__(self, original: Original, tree: Sink | File, comments: Sequence[Comment], zone: str) -> None:
        self._original = original
        self._tree = tree
        self._zone = zone
        self._said = _assigned(comments, sorted(_calls(tree), key=lambda call: call.at))
        self.entries: list[Entry] = []
        self.chains: dict[str, Sequence[Component]] = {}

    def pipelines(self) -> list[Pipeline]:
        """The pipelines; none when the original has problems."""
        if not isinstance(self._tree, File):
            return self._of_sink(self._tree, _DEFAULT_NAME, None)
        found: list[Pipeline] = []
        hosts: set[str] = set()
        for node in self._tree.nodes:
            if node.host in hosts:
                self._original.error(Kind.DUPLICATE_KEY, node.at, f'node "{node.host}" stands here twice')
            hosts.add(node.host)
            if any(_is_hbase(call) for call in _calls(node.sink)):
                found += self._of_sink(node.sink, node.host, node)
            else:
                why = "it writes to no HBase sink"
                place = self._original.place(node.at)
                self.entries.append(Entry(Outcome.LEFT_OUT, place, f"node {node.host}", "", why))
        if not found and not self._original.has_errors:
            self._no_sink(self._tree.nodes[0].at)
        return found

    def _no_sink(self, at: int) -> None:
        hint = "other sinks are not imported"
        self._original.error(Kind.MISSING_FIELD, at, "there is no attr2hbase or hbase sink in this text", hint)

    def _of_sink(self, sink: Sink, name: str, node: Node | None) -> list[Pipeline]:
        ways = self._ways(sink, (), {})
        if not ways:
            if not self._original.has_errors:
                self._no_sink(0)
            return []
        groups: dict[tuple[int, ...], list[_Way]] = {}
        for way in ways:
            groups.setdefault(way.locations, []).append(way)
        common = _common([group[0] for group in groups.values()]) if len(groups) > 1 else 0
        chain = ""
        if common:
            chain = f"{name}-common"
            self.chains[chain] = self._steps(ways[0].steps[:common])
        found = []
        for number, group in enumerate(groups.values(), start=1):
            own = name if len(groups) == 1 else f"{name}-{number}"
            comments = [] if node is None else [f"node {node.host}"]
            if number > 1:
                comments = ["this branch reads the topic for itself, as a group of its own"]
            sinks = [part for way in group if way.sink for part in self._sink(way.sink)]
            options = {"timezone": self._zone, "attributes": {"existing": "error"}}
            source = self._kafka(name, node, is_first=number == 1)
            found.append(Pipeline(own, source, sinks, self._steps(group[0].steps[common:]), options, comments, chain))
        self._check_unpacked(ways)
        return found

    def _kafka(self, name: str, node: Node | None, *, is_first: bool) -> Component:
        at = node.source.at if node else 0
        options: dict[str, object] = {
            "brokers": Verbatim("${KAFKA:localhost:9092}"),
            "topics": [name],
            "max_event_bytes": _MAX_BYTES,
        }
        if not is_first:
            return Component("kafka", options, (), self._original.place(at))
        comments = [*self._said.get(at, ())] if node else []
        if node is None:
            comments.append("the topic is assumed: name the one that has the events")
        else:
            written = self._shown(node.source)
            why = "sources are not imported; have the events sent to this topic"
            comments.append(f"Flume read {written}; the topic is assumed: name the one that has those events")
            place = self._original.place(at)
            self.entries.append(Entry(Outcome.REPLACED, place, written, f"kafka topic {name}", why))
        return Component("kafka", options, comments, self._original.place(at))

    # ways

    def _ways(self, sink: Sink, steps: tuple[_Use, ...], keywords: Keywords) -> list[_Way]:
        match sink:
            case Call():
                return self._end(sink, steps, keywords)
            case Chain(decorators, inner):
                return self._ways(inner, (*steps, *(_Use(call, keywords) for call in decorators)), keywords)
            case FanOut(sinks):
                return [way for each in sinks for way in self._ways(each, steps, keywords)]
            case Failover():
                return self._failover(sink, steps, keywords)
            case Scope(call, body):
                inside = {**keywords, **call.kwargs}
                return self._ways(body, (*steps, *self._of_scope(call, keywords)), inside)

    def _end(self, call: Call, steps: tuple[_Use, ...], keywords: Keywords) -> list[_Way]:
        if _is_hbase(call):
            return [_Way(steps, _Use(call, keywords))]
        if call.name in UNKNOWN_BUT_FLUMES:
            why = "it is no HBase sink"
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return []
        hint = UNKNOWN.get(call.name) or did_you_mean(call.name, (*SINKS, *UNKNOWN_BUT_FLUMES))
        if call.name in KEPT or call.name in LEFT_OUT:
            hint = f"{call.name} is a decorator: a sink must follow it"
        if not hint and any(map(_is_hbase, _calls(self._tree))):  # else it may be no configuration at all
            return [_Way(steps, _Use(call, keywords))]
        message = f'there is no sink "{call.name}"'
        self._original.error(Kind.UNKNOWN_COMPONENT, call.at, message, hint or "sinks of plugins are not imported")
        return [_Way(steps, None)]

    def _failover(self, group: Failover, steps: tuple[_Use, ...], keywords: Keywords) -> list[_Way]:
        if len(group.sinks) != 2:  # noqa: PLR2004 - a primary and its backup
            message = f"a failover has two sinks, here are {len(group.sinks)}"
            self._original.error(Kind.CONFLICT, group.at, message, "nest them: < a ? < b ? c > >")
            return []
        primary, backup = group.sinks
        if any(map(_is_hbase, _calls(primary))) or not any(map(_is_hbase, _calls(backup))):
            ways = self._ways(primary, steps, keywords)
            self._left(backup, _BACKUP)
            return ways
        self._left(primary, "it is no HBase sink; its backup is what is imported")
        message = "the primary is no HBase sink: this writes all events where Flume wrote those it could not pass on"
        self._original.warning(group.at, message)
        return self._ways(backup, steps, keywords)

    def _left(self, sink: Sink, why: str) -> None:
        first = min(_calls(sink), key=lambda call: call.at)
        self.entries.append(Entry(Outcome.LEFT_OUT, self._original.place(first.at), shown(sink.written()), "", why))

    def _of_scope(self, call: Call, keywords: Keywords) -> tuple[_Use, ...]:
        """What a roll or a collector does to events besides closing and opening its sink."""
        try:
            self._check_scope(Arguments(self._original, call, keywords))
        except BadArgumentError:
            return ()
        if call.name == "roll":
            why = "it closed and opened its sink, and set the attribute rolltag; offsets are committed after each batch"
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return ()
        why = "unpacked and acknowledged events; offsets are committed after each micro-batch"
        self._entry(Outcome.REPLACED, call, "gunzip, unbatch, mask", why)
        made = (("gunzip", ()), ("unbatch", ()), ("mask", (Text("rolltag"),)))
        return tuple(_Use(Call(name, args, {}, call.at + number), {}) for number, (name, args) in enumerate(made))

    def _check_scope(self, args: Arguments) -> None:
        if args.call.name == "roll":
            args.count(1, 2)
        else:
            args.count(0, 1)
        for number, what in enumerate(("time in ms", "time between checks in ms")):
            args.as_integer(args.text(number, _COLLECTOR_MS), what, args.at(number))

    # components

    def _steps(self, uses: Sequence[_Use]) -> list[Component]:
        return [part for use in uses for part in self._step(use)]

    def _step(self, use: _Use) -> list[Component]:
        call = use.call
        if call.name in KEPT:
            return self._component(use, KEPT[call.name])
        if call.name in LEFT_OUT:
            why = LEFT_OUT[call.name]
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return [Component("", {}, [*self._said.get(call.at, ()), f"left out: {self._shown(call)}: {why}"])]
        hint = UNKNOWN.get(call.name) or did_you_mean(call.name, (*KEPT, *LEFT_OUT))
        if call.name in SINKS or call.name in UNKNOWN_BUT_FLUMES:
            hint = f"{call.name} is a sink: nothing may follow it"
        if not hint:
            return [self._by_hand(call, _DECORATOR_INSTEAD)]
        self._original.error(Kind.UNKNOWN_COMPONENT, call.at, f'there is no decorator "{call.name}"', hint)
        return []

    def _sink(self, use: _Use) -> list[Component]:
        translate = SINKS.get(use.call.name)
        return self._component(use, translate) if translate else [self._by_hand(use.call, _SINK_INSTEAD)]

    def _by_hand(self, call: Call, instead: str) -> Component:
        return not_imported(call.name, instead, self._said.get(call.at, ()), self._original.place(call.at))

    def _component(self, use: _Use, translate: Callable[[Arguments], Translation]) -> list[Component]:
        call = use.call
        args = Arguments(self._original, call, use.keywords)
        try:
            found = translate(args)
        except BadArgumentError:
            return []
        args.check_keywords()
        said = [*self._said.get(call.at, ())]
        why = "; ".join(found.notes)
        if not found.kind:
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return [Component("", {}, [*said, f"left out: {self._shown(call)}: {why}"])]
        if call.end:  # else it is a part of a collector, which has its entry
            self._entry(Outcome.TRANSLATED, call, found.kind, why)
        comments, place = [*said, *found.notes], self._original.place(call.at)
        return [Component(found.kind, found.options, comments, place, args.origins(found.arguments))]

    def _entry(self, outcome: Outcome, call: Call, by: str, why: str) -> None:
        self.entries.append(Entry(outcome, self._original.place(call.at), self._shown(call), by, why))

    def _shown(self, call: Call) -> str:
        return shown(self._original.text[call.at : call.end])

    def _check_unpacked(self, ways: Sequence[_Way]) -> None:
        for way in ways:
            names = [step.call.name for step in way.steps]
            for number, name in enumerate(names):
                if name in UNPACKED_BY and UNPACKED_BY[name] not in names[number:]:
                    message = (
                        f"{name} is never undone by {UNPACKED_BY[name]} here: Flume's sink saw packed events alone"
                    )
                    self._original.warning(way.steps[number].call.at, message, "this pipeline writes each event")


def _is_hbase(call: Call) -> bool:
    return call.name in SINKS


def _calls(tree: Sink | File) -> Iterator[Call]:
    """Every component in a tree."""
    match tree:
        case Call():
            yield tree
        case Chain(decorators, sink):
            yield from decorators
            yield from _calls(sink)
        case FanOut(sinks) | Failover(sinks):
            for each in sinks:
                yield from _calls(each)
        case Scope(call, body):
            yield call
            yield from _calls(body)
        case File(nodes):
            for node in nodes:
                yield node.source
                yield from _calls(node.sink)


def _common(ways: Sequence[_Way]) -> int:
    """How many decorators all ways begin with."""
    first, *others = (way.locations for way in ways)
    count = 0
    while count < len(first) and all(count < len(other) and other[count] == first[count] for other in others):
        count += 1
    return count


def _assigned(comments: Sequence[Comment], calls: Sequence[Call]) -> Mapping[int, list[str]]:
    """Place of a component -> what was said of it: behind it on its line, or else in front of it."""
    said: dict[int, list[str]] = {}
    for comment in comments:
        before = [call for call in calls if call.at < comment.at]
        after = [call for call in calls if call.at > comment.at]
        of = before[-1] if before and (comment.trails or not after) else after[0]
        if comment.text:
            said.setdefault(of.at, []).append(comment.text)
    return said

"""
Translates the syntax tree of Flume's data-flow text to pipelines.

A sink tree is a set of paths from the source to HBase sinks. Paths with the same decorators become sinks of one
pipeline. All others become separate pipelines, each of which reads the topic; their common first decorators become a
chain.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.config import Kind
from ingest.flume.og.arguments import Arguments, BadArgumentError, Keywords, Translation
from ingest.flume.og.decorators import LEFT_OUT, TRANSLATED, UNKNOWN, UNPACKED_BY
from ingest.flume.og.lexer import Comment
from ingest.flume.og.sinks import OTHER_SINKS, SINKS
from ingest.flume.og.tree import Call, Chain, Failover, FanOut, File, Node, Scope, Sink, Text
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Pipeline, Verbatim, not_imported
from ingest.flume.pipelines.report import Entry, Outcome, shown
from ingest.suggest import did_you_mean

_DEFAULT_NAME = "flume"
_MAX_BYTES = "32KiB"  # flume.event.max.size.bytes: Flume's limit of the body
_COLLECTOR_MS = "30000"
_DECORATOR_INSTEAD = "write a custom decorator in Python that does what it did, or remove this one"
_SINK_INSTEAD = "write a sink attr2hbase, hbase or one of your own, or remove this one if it stays in Flume"
_BACKUP = "events stay in Kafka while the store is unavailable, so no backup is needed"


@dataclass(frozen=True, slots=True)
class _Use:
    """A decorator or sink, with the keyword arguments of enclosing components."""

    call: Call
    keywords: Keywords = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Path:
    """The decorators from the source to an HBase sink; the sink is None if it is unknown."""

    decorators: tuple[_Use, ...]
    sink: _Use | None

    @property
    def locations(self) -> tuple[int, ...]:
        """The offsets of its decorators, which identify them."""
        return tuple(decorator.call.at for decorator in self.decorators)


class DataFlow:
    """
    Translates a tree; used once.

    Attributes:
        entries: the outcome for each part.
        chains: chains with the common first decorators of pipelines.
    """

    def __init__(self, original: Original, tree: Sink | File, comments: Sequence[Comment], zone: str) -> None:
        self._original = original
        self._tree = tree
        self._zone = zone
        self._comments = _assigned(comments, sorted(_calls(tree), key=lambda call: call.at))
        self.entries: list[Entry] = []
        self.chains: dict[str, Sequence[Component]] = {}

    def pipelines(self) -> list[Pipeline]:
        """The pipelines; incomplete if the original has errors."""
        if not isinstance(self._tree, File):
            return self._of_sink(self._tree, _DEFAULT_NAME, None)
        found: list[Pipeline] = []
        hosts: set[str] = set()
        for node in self._tree.nodes:
            if node.host in hosts:
                self._original.error(Kind.DUPLICATE_KEY, node.at, f'node "{node.host}" is defined twice')
            hosts.add(node.host)
            if any(_is_hbase(call) for call in _calls(node.sink)):
                found += self._of_sink(node.sink, node.host, node)
            else:
                why = "it has no HBase sink"
                place = self._original.place(node.at)
                self.entries.append(Entry(Outcome.LEFT_OUT, place, f"node {node.host}", "", why))
        if not found and not self._original.has_errors:
            self._no_sink(self._tree.nodes[0].at)
        return found

    def _no_sink(self, at: int) -> None:
        hint = "other sinks are not imported"
        self._original.error(Kind.MISSING_FIELD, at, "there is no attr2hbase or hbase sink in this text", hint)

    def _of_sink(self, sink: Sink, name: str, node: Node | None) -> list[Pipeline]:
        paths = self._paths(sink, (), {})
        if not paths:
            if not self._original.has_errors:
                self._no_sink(0)
            return []
        groups: dict[tuple[int, ...], list[_Path]] = {}
        for path in paths:
            groups.setdefault(path.locations, []).append(path)
        common = _common([group[0] for group in groups.values()]) if len(groups) > 1 else 0
        chain = ""
        if common:
            chain = f"{name}-common"
            self.chains[chain] = self._decorators(paths[0].decorators[:common])
        found = []
        for number, group in enumerate(groups.values(), start=1):
            own = name if len(groups) == 1 else f"{name}-{number}"
            comments = [] if node is None else [f"node {node.host}"]
            if number > 1:
                comments = ["this branch reads the topic separately, with its own group"]
            sinks = [part for path in group if path.sink for part in self._sink(path.sink)]
            options = {"timezone": self._zone, "attributes": {"existing": "error"}}
            source = self._kafka(name, node, is_first=number == 1)
            decorators = self._decorators(group[0].decorators[common:])
            found.append(Pipeline(own, source, sinks, decorators, options, comments, chain))
        self._check_unpacked(paths)
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
        comments = [*self._comments.get(at, ())] if node else []
        if node is None:
            comments.append("the topic is a placeholder: set the one with the events")
        else:
            written = self._shown(node.source)
            why = "sources are not imported; send the events to this topic"
            comments.append(f"Flume read {written}; the topic is a placeholder: set the one with those events")
            place = self._original.place(at)
            self.entries.append(Entry(Outcome.REPLACED, place, written, f"kafka topic {name}", why))
        return Component("kafka", options, comments, self._original.place(at))

    # paths

    def _paths(self, sink: Sink, before: tuple[_Use, ...], keywords: Keywords) -> list[_Path]:
        match sink:
            case Call():
                return self._end(sink, before, keywords)
            case Chain(decorators, inner):
                return self._paths(inner, (*before, *(_Use(call, keywords) for call in decorators)), keywords)
            case FanOut(sinks):
                return [path for each in sinks for path in self._paths(each, before, keywords)]
            case Failover():
                return self._failover(sink, before, keywords)
            case Scope(call, body):
                inside = {**keywords, **call.kwargs}
                return self._paths(body, (*before, *self._of_scope(call, keywords)), inside)

    def _end(self, call: Call, before: tuple[_Use, ...], keywords: Keywords) -> list[_Path]:
        if _is_hbase(call):
            return [_Path(before, _Use(call, keywords))]
        if call.name in OTHER_SINKS:
            why = "it is not an HBase sink"
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return []
        hint = UNKNOWN.get(call.name) or did_you_mean(call.name, (*SINKS, *OTHER_SINKS))
        if call.name in TRANSLATED or call.name in LEFT_OUT:
            hint = f"{call.name} is a decorator: a sink must follow it"
        if not hint and any(map(_is_hbase, _calls(self._tree))):  # without any HBase sink, it may not be Flume's
            return [_Path(before, _Use(call, keywords))]
        message = f'there is no sink "{call.name}"'
        self._original.error(Kind.UNKNOWN_COMPONENT, call.at, message, hint or "sinks of plugins are not imported")
        return [_Path(before, None)]

    def _failover(self, group: Failover, before: tuple[_Use, ...], keywords: Keywords) -> list[_Path]:
        if len(group.sinks) != 2:  # noqa: PLR2004 - a primary and its backup
            message = f"a failover has two sinks, not {len(group.sinks)}"
            self._original.error(Kind.CONFLICT, group.at, message, "nest them: < a ? < b ? c > >")
            return []
        primary, backup = group.sinks
        if any(map(_is_hbase, _calls(primary))) or not any(map(_is_hbase, _calls(backup))):
            paths = self._paths(primary, before, keywords)
            self._left_out(backup, _BACKUP)
            return paths
        self._left_out(primary, "it is not an HBase sink; its backup is imported")
        message = "the primary is not an HBase sink: this writes all events, Flume only those that the primary rejected"
        self._original.warning(group.at, message)
        return self._paths(backup, before, keywords)

    def _left_out(self, sink: Sink, why: str) -> None:
        first = min(_calls(sink), key=lambda call: call.at)
        self.entries.append(Entry(Outcome.LEFT_OUT, self._original.place(first.at), shown(sink.written()), "", why))

    def _of_scope(self, call: Call, keywords: Keywords) -> tuple[_Use, ...]:
        """The decorators that replace the effect of a roll or a collector on events."""
        try:
            self._check_scope(Arguments(self._original, call, keywords))
        except BadArgumentError:
            return ()
        if call.name == "roll":
            why = "it rotated its sink and set the attribute rolltag; offsets are committed after each micro-batch"
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return ()
        why = "it unpacked and acknowledged events; offsets are committed after each micro-batch"
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

    def _decorators(self, uses: Sequence[_Use]) -> list[Component]:
        return [part for use in uses for part in self._decorator(use)]

    def _decorator(self, use: _Use) -> list[Component]:
        call = use.call
        if call.name in TRANSLATED:
            return self._component(use, TRANSLATED[call.name])
        if call.name in LEFT_OUT:
            why = LEFT_OUT[call.name]
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return [Component("", {}, [*self._comments.get(call.at, ()), f"left out: {self._shown(call)}: {why}"])]
        hint = UNKNOWN.get(call.name) or did_you_mean(call.name, (*TRANSLATED, *LEFT_OUT))
        if call.name in SINKS or call.name in OTHER_SINKS:
            hint = f"{call.name} is a sink: nothing may follow it"
        if not hint:
            return [self._by_hand(call, _DECORATOR_INSTEAD)]
        self._original.error(Kind.UNKNOWN_COMPONENT, call.at, f'there is no decorator "{call.name}"', hint)
        return []

    def _sink(self, use: _Use) -> list[Component]:
        translate = SINKS.get(use.call.name)
        return self._component(use, translate) if translate else [self._by_hand(use.call, _SINK_INSTEAD)]

    def _by_hand(self, call: Call, instead: str) -> Component:
        return not_imported(call.name, instead, self._comments.get(call.at, ()), self._original.place(call.at))

    def _component(self, use: _Use, translate: Callable[[Arguments], Translation]) -> list[Component]:
        call = use.call
        args = Arguments(self._original, call, use.keywords)
        try:
            found = translate(args)
        except BadArgumentError:
            return []
        args.check_keywords()
        comments = [*self._comments.get(call.at, ())]
        why = "; ".join(found.notes)
        if not found.kind:
            self._entry(Outcome.LEFT_OUT, call, "", why)
            return [Component("", {}, [*comments, f"left out: {self._shown(call)}: {why}"])]
        if call.end:  # otherwise it replaces a part of a collector, which has its own entry
            self._entry(Outcome.TRANSLATED, call, found.kind, why)
        place = self._original.place(call.at)
        return [Component(found.kind, found.options, [*comments, *found.notes], place, args.origins(found.arguments))]

    def _entry(self, outcome: Outcome, call: Call, by: str, why: str) -> None:
        self.entries.append(Entry(outcome, self._original.place(call.at), self._shown(call), by, why))

    def _shown(self, call: Call) -> str:
        return shown(self._original.text[call.at : call.end])

    def _check_unpacked(self, paths: Sequence[_Path]) -> None:
        for path in paths:
            names = [decorator.call.name for decorator in path.decorators]
            for number, name in enumerate(names):
                if name in UNPACKED_BY and UNPACKED_BY[name] not in names[number:]:
                    message = f"{name} is not followed by {UNPACKED_BY[name]}: Flume's sink received only packed events"
                    self._original.warning(path.decorators[number].call.at, message, "this pipeline writes each event")


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


def _common(paths: Sequence[_Path]) -> int:
    """The number of first decorators that all paths have in common."""
    first, *others = (path.locations for path in paths)
    count = 0
    while count < len(first) and all(count < len(other) and other[count] == first[count] for other in others):
        count += 1
    return count


def _assigned(comments: Sequence[Comment], calls: Sequence[Call]) -> Mapping[int, list[str]]:
    """Offset of a component -> its comments: those after it on the same line, or before it."""
    assigned: dict[int, list[str]] = {}
    for comment in comments:
        before = [call for call in calls if call.at < comment.at]
        after = [call for call in calls if call.at > comment.at]
        of = before[-1] if before and (comment.trails or not after) else after[0]
        if comment.text:
            assigned.setdefault(of.at, []).append(comment.text)
    return assigned

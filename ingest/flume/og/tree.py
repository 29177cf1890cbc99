"""Syntax tree of Flume's data-flow text; `written` turns a node back into source text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NUMBER = re.compile(r"0|[1-9][0-9]*")
_BARE = {"true", "false"}
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class Text:
    """
    A literal argument, which is always text.

    Attributes:
        at: offset of its first character.
    """

    text: str
    at: int = field(default=0, compare=False)

    def written(self) -> str:
        """The source text."""
        if _NUMBER.fullmatch(self.text) or self.text in _BARE:
            return self.text
        return '"' + "".join(_escaped(character) for character in self.text) + '"'

    def plain(self) -> object:
        """Plain data for JSON."""
        return self.text


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


@dataclass(frozen=True, slots=True)
class Call:
    """
    A name with arguments: a decorator, sink or source, or a function as an argument.

    Attributes:
        kwargs: keyword arguments; of a repeated one the last.
        end: offset after its last character; 0 for a call that is not in the text.
    """

    name: str
    args: "tuple[Argument, ...]" = ()
    kwargs: "Mapping[str, Argument]" = field(default_factory=dict)
    at: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def written(self) -> str:
        """The source text."""
        return self.name + (_written(self.args, self.kwargs) if self.args or self.kwargs else "")

    def plain(self) -> dict[str, object]:
        """Plain data for JSON, as an argument."""
        keywords = {"kwargs": _plain(self.kwargs)} if self.kwargs else {}
        return {"fn": self.name, "args": [arg.plain() for arg in self.args], **keywords}

    def component(self) -> dict[str, object]:
        """Plain data for JSON, as a decorator, sink or source."""
        return {"name": self.name, "args": [arg.plain() for arg in self.args], "kwargs": _plain(self.kwargs)}


Argument = Text | Call


def _written(args: tuple[Argument, ...], kwargs: Mapping[str, Argument]) -> str:
    every = [arg.written() for arg in args] + [f"{name}={arg.written()}" for name, arg in kwargs.items()]
    return f"({', '.join(every)})"


def _plain(kwargs: Mapping[str, Argument]) -> dict[str, object]:
    return {name: arg.plain() for name, arg in kwargs.items()}


@dataclass(frozen=True, slots=True)
class Chain:
    """One or more decorators and their sink."""

    decorators: tuple[Call, ...]
    sink: "Call | FanOut | Failover | Scope"

    def written(self) -> str:
        """The source text."""
        return " ".join(part.written() for part in (*self.decorators, self.sink))

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        last = self.sink.component() if isinstance(self.sink, Call) else self.sink.plain()
        return {"chain": [*(decorator.component() for decorator in self.decorators), last]}


@dataclass(frozen=True, slots=True)
class FanOut:
    """Every sink gets each event."""

    sinks: "tuple[Sink, ...]"
    at: int = field(default=0, compare=False)

    def written(self) -> str:
        """The source text."""
        return f"[ {', '.join(sink.written() for sink in self.sinks)} ]"

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"fanout": [plain(sink) for sink in self.sinks]}


@dataclass(frozen=True, slots=True)
class Failover:
    """The first sink that accepts an event gets it."""

    sinks: "tuple[Sink, ...]"
    at: int = field(default=0, compare=False)

    def written(self) -> str:
        """The source text."""
        return f"< {' ? '.join(sink.written() for sink in self.sinks)} >"

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"failover": [plain(sink) for sink in self.sinks]}


@dataclass(frozen=True, slots=True)
class Scope:
    """`roll` or `collector`; its keyword arguments apply to all components inside."""

    call: Call
    body: "Sink"

    def written(self) -> str:
        """The source text."""
        return f"{self.call.name}{_written(self.call.args, self.call.kwargs)} {{ {self.body.written()} }}"

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        about = self.call.component()
        return {self.call.name: {"args": about["args"], "kwargs": about["kwargs"], "body": plain(self.body)}}


Sink = Call | Chain | FanOut | Failover | Scope


@dataclass(frozen=True, slots=True)
class Node:
    """A line with the source and sink of a machine."""

    host: str
    source: Call
    sink: Sink
    at: int = field(default=0, compare=False)

    def written(self) -> str:
        """The source text."""
        return f"{self.host} : {self.source.written()} | {self.sink.written()} ;"

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"host": self.host, "source": self.source.component(), "sink": plain(self.sink)}


@dataclass(frozen=True, slots=True)
class File:
    """Lines of nodes."""

    nodes: tuple[Node, ...]

    def written(self) -> str:
        """The source text."""
        return "\n".join(node.written() for node in self.nodes)

    def plain(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"nodes": [node.plain() for node in self.nodes]}


def plain(tree: Sink | File) -> dict[str, object]:
    """A tree as plain data for JSON."""
    return {"sink": tree.component()} if isinstance(tree, Call) else tree.plain()

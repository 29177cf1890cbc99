"""A pipeline file as values, and as YAML with comments."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.config import Place
from ingest.config.components import NOT_IMPORTED
from ingest.config.nodes import NodePath
from ingest.config.writing import MAX_PLAIN_KEY, flow, literal, plain_or_quoted

Value = str | int | bool | Sequence["Value"] | Mapping[str, "Value"]
"""The value of an option."""

_WIDTH = 118  # characters of a line, with indentation
_COMMENT_WIDTH = 100
_READABLE = re.compile(
    "[\x20-\x7e\xa0-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\ud7ff\uf900-\ufdcf\U00010000-\U0001fffd]"
)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text in which `${…}` is a variable."""

    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """
    The place in the original from which an option was translated.

    Attributes:
        text: the text at that place.
    """

    place: Place
    text: str = ""


@dataclass(slots=True)
class Component:
    """
    A source, decorator, sink or store; only comments if it has no kind.

    Attributes:
        comments: written above it.
        place: place in the original.
        origins: origins of its options, where they differ from `place`.
    """

    kind: str
    options: Mapping[str, object] = field(default_factory=dict)
    comments: Sequence[str] = ()
    place: Place | None = None
    origins: Mapping[NodePath, Origin] = field(default_factory=dict)


def not_imported(name: str, instead: str, comments: Sequence[str], place: Place) -> Component:
    """
    A placeholder for a decorator or sink that cannot be translated; `attr2hbase validate` rejects it.

    Args:
        name: its name in Flume, usually a class.
        instead: what to write in its place.
        comments: written above it.
        place: place in the original.
    """
    return Component(NOT_IMPORTED, {"class": name, "instead": instead}, comments, place)


@dataclass(slots=True)
class Pipeline:
    """
    One pipeline.

    Attributes:
        options: `timezone` and the like.
        chain: name of the chain that it starts with, "" for none.
    """

    name: str
    source: Component
    sinks: Sequence[Component]
    decorators: Sequence[Component] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    comments: Sequence[str] = ()
    chain: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """
    A declared table; its attributes are those of `Component`.

    Attributes:
        options: as `tables` has them.
    """

    options: Mapping[str, object]
    comments: Sequence[str] = ()
    place: Place | None = None
    origins: Mapping[NodePath, Origin] = field(default_factory=dict)


@dataclass(slots=True)
class Document:
    """
    A file.

    Attributes:
        stores: by their names, and `tables` likewise.
        head: comment at its top.
        chains: decorators that several pipelines begin with.
    """

    pipelines: Sequence[Pipeline]
    stores: Mapping[str, Component]
    head: Sequence[str] = ()
    chains: Mapping[str, Sequence[Component]] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rendered:
    """
    A pipeline file as text.

    Attributes:
        locations: for each line its place in the original, if known.
        origins: path of a value -> its origin.
    """

    text: str
    locations: tuple[Place | None, ...]
    origins: Mapping[NodePath, Origin]


Line = tuple[str, Place | None]


def render(document: Document) -> Rendered:
    """The file as YAML."""
    lines = list(_document(document))
    text = "".join(f"{text}\n" for text, _ in lines)
    return Rendered(text, tuple(place for _, place in lines), dict(_origins(document)))


def _origins(document: Document) -> Iterator[tuple[NodePath, Origin]]:
    for name, table in document.tables.items():
        yield from ((("tables", name, *option), origin) for option, origin in table.origins.items())
    for name, decorators in document.chains.items():
        yield from _of_decorators(("chains", name), decorators, 0)
    for pipeline in document.pipelines:
        path: NodePath = ("pipelines", pipeline.name)
        source = pipeline.source
        yield from (((*path, "source", source.kind, *option), origin) for option, origin in source.origins.items())
        yield from _of_decorators((*path, "decorators"), pipeline.decorators, 1 if pipeline.chain else 0)
        yield from _of_decorators((*path, "sinks"), pipeline.sinks, 0)


def _of_decorators(path: NodePath, decorators: Sequence[Component], first: int) -> Iterator[tuple[NodePath, Origin]]:
    for number, decorator in enumerate((decorator for decorator in decorators if decorator.kind), start=first):
        yield from (((*path, number, decorator.kind, *option), origin) for option, origin in decorator.origins.items())


def _document(document: Document) -> Iterator[Line]:
    yield from _comments(document.head, "")
    yield "version: 1", None
    yield "", None
    yield "stores:", None
    for name, store in document.stores.items():
        yield from _comments(store.comments, "  ")
        yield f"  {name}: {{{store.kind}: {_flow(store.options)}}}", store.place
    yield "", None
    if document.tables:
        yield "tables:", None
        for name, table in document.tables.items():
            yield from _comments(table.comments, "  ")
            yield from _options(plain_or_quoted(name), table.options, "  ", table.place)
        yield "", None
    if document.chains:
        yield "chains:", None
        for name, decorators in document.chains.items():
            yield f"  {name}:", None
            yield from _decorators(decorators, "    ")
        yield "", None
    yield "pipelines:", None
    for number, pipeline in enumerate(document.pipelines):
        if number:
            yield "", None
        yield from _pipeline(pipeline)


def _pipeline(pipeline: Pipeline) -> Iterator[Line]:
    yield from _comments(pipeline.comments, "  ")
    yield f"  {plain_or_quoted(pipeline.name)}:", pipeline.source.place
    for name, value in pipeline.options.items():
        yield f"    {name}: {_flow(value)}", None
    source = pipeline.source
    yield from _comments(source.comments, "    ")
    yield "    source:", source.place
    yield from _options(source.kind, source.options, "      ", source.place)
    if pipeline.chain or any(decorator.kind for decorator in pipeline.decorators):
        yield "    decorators:", None
        if pipeline.chain:
            yield f"      - chain: {pipeline.chain}", None
    yield from _decorators(pipeline.decorators, "      ")
    yield "    sinks:", None
    yield from _decorators(pipeline.sinks, "      ")


def _decorators(decorators: Sequence[Component], indent: str) -> Iterator[Line]:
    for decorator in decorators:
        yield from _comments(decorator.comments, indent)
        if decorator.kind:
            for number, (text, place) in enumerate(
                _options(decorator.kind, decorator.options, indent + "  ", decorator.place)
            ):
                yield (indent + "- " + text.lstrip(" ") if number == 0 else text), place


def _options(kind: str, options: Mapping[str, object], indent: str, place: Place | None) -> Iterator[Line]:
    """A component on one line if it fits, else with one option on each line."""
    line = f"{indent}{kind}: {_flow(options)}"
    if len(line) <= _WIDTH:
        yield line, place
        return
    yield f"{indent}{kind}:", place
    yield from _block(options, indent + "  ", place)


def _block(options: Mapping[str, object], indent: str, place: Place | None) -> Iterator[Line]:
    for name, value in options.items():
        line = f"{indent}{plain_or_quoted(name)}: {_flow(value)}"
        if len(line) <= _WIDTH or not value or isinstance(value, str | Verbatim):
            yield line, place
        elif isinstance(value, Mapping) and all(len(plain_or_quoted(key)) <= MAX_PLAIN_KEY for key in value):
            yield f"{indent}{plain_or_quoted(name)}:", place
            yield from _block(value, indent + "  ", place)
        elif isinstance(value, Sequence) and not isinstance(value, Mapping):
            yield f"{indent}{plain_or_quoted(name)}:", place
            for item in value:
                yield f"{indent}  - {_flow(item)}", place
        else:
            yield line, place


def _comments(comments: Sequence[str], indent: str) -> Iterator[Line]:
    for comment in comments:
        for paragraph in re.split(r"\r\n|[\n\r]", comment):
            line = ""
            for word in "".join(map(_readable, paragraph)).split():
                if line and len(line) + 1 + len(word) > _COMMENT_WIDTH:
                    yield f"{indent}# {line}", None
                    line = word
                else:
                    line = f"{line} {word}" if line else word
            yield f"{indent}# {line}".rstrip(), None


def _readable(character: str) -> str:
    return character if _READABLE.fullmatch(character) or character == "\t" else f"\\u{ord(character):04x}"


def _flow(value: object) -> str:
    return flow(_escaped(value))


def _escaped(value: object) -> object:
    """The value with `${` escaped in all text that is not `Verbatim`."""
    match value:
        case Verbatim(text):
            return text
        case str():
            return literal(value)
        case Mapping():
            return {name: _escaped(each) for name, each in value.items()}
        case Sequence():
            return [_escaped(each) for each in value]
        case _:
            return value

"""
YAML text as nodes: plain data with the place of every value.

Nodes are built from the events of the YAML parser: tags never construct objects, and depth, aliases and duplicate keys
are limited while parsing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from ingest.config.problems import Kind, Place, Problem
from ingest.config.scalars import Plain, resolve
from ingest.masks import MASK

MAX_FILE_BYTES = 1_000_000  # ten times the largest known configurations
MAX_DEPTH = 32  # a pipeline file needs about ten
MAX_ALIASED = 10_000  # nodes repeated by all aliases of a file
TEXT_OF_A_NODE = 1_000  # characters; a longer text counts as several nodes

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is ten times faster
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_RESERVED_STARTS = "%@`"
_NEEDS_QUOTES = 'text with a ":" in it must be quoted'
_MISPLACED = "indent this line, or the one before it, like the other keys of its block"
_HINTS = (
    ("found unknown escape character", "use single quotes, in which a backslash has no special meaning"),
    ("found unexpected ':'", _NEEDS_QUOTES),
    ("mapping values are not allowed", _NEEDS_QUOTES),
    ("did not find expected node content", "quote this value"),
    ("did not find expected key", _MISPLACED),
    ("did not find expected '-'", _MISPLACED),
)

_IN_BRACKETS = "while parsing a flow"

NodePath = tuple[str | int, ...]
"""Keys and indexes from a node to one inside it."""


@dataclass(slots=True)
class ScalarNode:
    """
    A single value.

    Attributes:
        text: the text without quotes.
        value: the value by the YAML core schema.
        shift: columns from the scalar's place to the first character of its text; None if the text is not verbatim
            in the file.
        expanded: whether it contains an expanded variable or secret.
        secret: whether it must be masked.
    """

    place: Place
    text: str
    value: Plain
    shift: int | None = None
    quoted: bool = False
    expanded: bool = False
    secret: bool = False

    def __repr__(self) -> str:
        return f"ScalarNode({self.place}, {MASK if self.secret else repr(self.value)})"

    def at(self, column: int) -> Place:
        """The place of a column of the text, counted from 1."""
        if self.shift is None:
            return self.place
        return Place(self.place.file, self.place.line, self.place.column + self.shift + column - 1)


@dataclass(slots=True)
class SequenceNode:
    """A list."""

    place: Place
    items: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class MappingNode:
    """
    Keys and values; keys are always text.

    Attributes:
        keys: the place of each key.
    """

    place: Place
    entries: dict[str, "Node"] = field(default_factory=dict)
    keys: dict[str, Place] = field(default_factory=dict)


Node = ScalarNode | SequenceNode | MappingNode


def plain(node: Node, *, masked: bool = False) -> Any:
    """A node as plain data; `masked` replaces values that contain a secret."""
    match node:
        case ScalarNode():
            return MASK if masked and node.secret else node.value
        case SequenceNode():
            return [plain(item, masked=masked) for item in node.items]
        case MappingNode():
            return {key: plain(value, masked=masked) for key, value in node.entries.items()}


def locations(node: Node) -> dict[NodePath, Place]:
    """The places of this node and of all values inside it."""
    found: dict[NodePath, Place] = {(): node.place}
    children: Iterator[tuple[str | int, Node]]
    match node:
        case ScalarNode():
            return found
        case SequenceNode():
            children = enumerate(node.items)
        case MappingNode():
            children = iter(node.entries.items())
    for key, child in children:
        for path, place in locations(child).items():
            found[(key, *path)] = place
    return found


def text_under(node: Node, key: str) -> ScalarNode | None:
    """The value of a key if the node is a mapping and the value is text, else None."""
    child = node.entries.get(key) if isinstance(node, MappingNode) else None
    return child if isinstance(child, ScalarNode) and isinstance(child.value, str) else None


class BadYamlError(Exception):
    """The text cannot be parsed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def compose(text: str, file: str, problems: list[Problem]) -> Node | None:
    """
    The nodes of a file, None if it is empty; duplicate keys are added to the problems.

    Raises:
        BadYamlError: the text is not valid YAML, or exceeds a limit.
    """
    if bad := _UNREADABLE.search(text):
        raise BadYamlError(Problem(Kind.SYNTAX, _place_of(text, bad.start(), file), f"unreadable character {bad[0]!a}"))
    try:
        return _Composer(text, file, problems).document()
    except yaml.MarkedYAMLError as error:
        raise BadYamlError(_syntax_problem(error, text, file)) from error
    except yaml.YAMLError as error:
        raise BadYamlError(Problem(Kind.SYNTAX, Place(file, 1, 1), str(error).splitlines()[0])) from error


def _place_of(text: str, position: int, file: str) -> Place:
    before = re.split("\r\n|[\n\r\x85]", text[:position])
    return Place(file, len(before), len(before[-1]) + 1)


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = Place(file, 1, 1) if mark is None else Place(file, mark.line + 1, mark.column + 1)
    message = ": ".join(part for part in (error.context, error.problem) if part)
    lines = text.splitlines()
    hint = ""
    if place.line <= len(lines):
        line = lines[place.line - 1]
        hint = _hint(error.problem or "", line[: place.column - 1], line[place.column - 1 :])
    opened = error.context_mark
    if not hint and opened is not None and opened.line < place.line - 1 and message.startswith(_IN_BRACKETS):
        bracket = lines[opened.line][opened.column]
        hint = f"this is read as inside the {bracket} of line {opened.line + 1}; close it"
    return Problem(Kind.SYNTAX, place, message, hint)


def _hint(problem: str, before: str, rest: str) -> str:
    """A hint for a problem of the YAML library, from the line before and after the place; "" if there is none."""
    if rest[:1] and rest[0] in _RESERVED_STARTS:
        return f"text that starts with {rest[0]} must be quoted"
    if rest.startswith("{") and before.endswith("$"):
        return "inside { } and [ ], quote a value that contains ${; it can still be a number"
    if "\t" in before + rest[:1]:
        return "indent with spaces, not tabs"
    misplaced = "did not find expected key", "did not find expected '-'"
    if problem.startswith(misplaced) and not before.strip() and rest.startswith("-"):
        return 'indent this "-" like the other items of its list'
    return next((hint for start, hint in _HINTS if problem.startswith(start)), "")


@dataclass(slots=True)
class _Anchor:
    """
    A node that an alias can repeat.

    Attributes:
        size: number of its nodes, with aliases expanded; a long text counts as several.
        height: number of its levels.
    """

    node: Node
    size: int
    height: int


def _size(text: str) -> int:
    return 1 + len(text) // TEXT_OF_A_NODE


class _Composer:
    """Builds nodes from parser events; the check of the depth bounds the recursion."""

    def __init__(self, text: str, file: str, problems: list[Problem]) -> None:
        self._events = iter(yaml.parse(text, Loader=_LOADER))
        self._lines = text.split("\n")
        self._file = file
        self._problems = problems
        self._anchors: dict[str, _Anchor | None] = {}  # None while the node is incomplete
        self._aliased = 0

    def document(self) -> Node | None:
        next(self._events)  # start of the stream
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        root = self._node(next(self._events), 0).node
        next(self._events)  # end of the document
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            raise BadYamlError(Problem(Kind.SYNTAX, self._place(event), "a file has one document, this is a second"))
        return None if isinstance(root, ScalarNode) and root.value is None else root

    def _place(self, event: yaml.Event) -> Place:
        mark = event.start_mark
        return Place(self._file, 1, 1) if mark is None else Place(self._file, mark.line + 1, mark.column + 1)

    def _node(self, event: yaml.Event, depth: int) -> _Anchor:
        place = self._place(event)
        if depth > MAX_DEPTH:
            raise BadYamlError(Problem(Kind.TOO_LARGE, place, f"nested deeper than {MAX_DEPTH} levels"))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor or "", place, depth)
        if not isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent):
            raise BadYamlError(Problem(Kind.SYNTAX, place, "a value is missing"))
        tag = event.tag
        if tag is not None and tag not in {"!", "tag:yaml.org,2002:str"}:
            raise BadYamlError(
                Problem(Kind.SYNTAX, place, f'the tag "{tag}" is not allowed', "remove it; use quotes for text")
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            found = _Anchor(self._scalar(event, place), _size(event.value), 0)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self._sequence(place, depth)
        else:
            found = self._mapping(place, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = found
        return found

    def _alias(self, name: str, place: Place, depth: int) -> _Anchor:
        if name not in self._anchors:
            raise BadYamlError(Problem(Kind.SYNTAX, place, f'there is no anchor "&{name}" before this alias'))
        found = self._anchors[name]
        if found is None:
            raise BadYamlError(Problem(Kind.TOO_LARGE, place, f'the alias "*{name}" is inside its own anchor'))
        self._aliased += found.size
        if self._aliased > MAX_ALIASED:
            raise BadYamlError(Problem(Kind.TOO_LARGE, place, f"aliases repeat more than {MAX_ALIASED} values"))
        if depth + found.height > MAX_DEPTH:
            raise BadYamlError(Problem(Kind.TOO_LARGE, place, f"nested deeper than {MAX_DEPTH} levels"))
        return found

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> ScalarNode:
        text = event.value
        quoted = bool(event.style) or event.tag is not None
        shift = {None: 0, "": 0, "'": 1, '"': 1}.get(event.style)
        line = self._lines[place.line - 1] if place.line <= len(self._lines) else ""
        if shift is not None and not line.startswith(text, place.column - 1 + shift):
            shift = None
        return ScalarNode(place, text, text if quoted else resolve(text), shift, quoted)

    def _sequence(self, place: Place, depth: int) -> _Anchor:
        found = _Anchor(SequenceNode(place), 1, 0)
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            child = self._node(event, depth + 1)
            items.append(child.node)
            found.size += child.size
            found.height = max(found.height, child.height + 1)
        found.node = SequenceNode(place, items)
        return found

    def _mapping(self, place: Place, depth: int) -> _Anchor:
        node = MappingNode(place)
        found = _Anchor(node, 1, 0)
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1).node
            key_place = self._place(event)
            if not isinstance(key, ScalarNode):
                raise BadYamlError(
                    Problem(Kind.SYNTAX, key_place, "a key must be text", "quote a value that starts with { or [")
                )
            child = self._node(next(self._events), depth + 1)
            found.size += child.size + _size(key.text) - 1
            found.height = max(found.height, child.height + 1)
            if key.text in node.entries:
                first = node.keys[key.text]
                self._problems.append(
                    Problem(Kind.DUPLICATE_KEY, key_place, f'"{key.text}" is set twice', f"first on line {first.line}")
                )
                continue
            node.entries[key.text] = child.node
            node.keys[key.text] = key_place
        return found

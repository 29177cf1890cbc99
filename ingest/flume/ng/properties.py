"""
Parses properties files of Flume 1, with places.

Source: the format as documented for java.util.Properties.load; Flume trims values.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ingest.config import Kind
from ingest.config.nodes import NodePath
from ingest.flume.ng.variables import Variables
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Origin
from ingest.flume.utf16 import joined

_PARTS_OF_AGENT = re.compile(r"^[ \t]*[A-Za-z0-9_-]+\.(sources|sinks|channels)[ \t]*[=:. ]", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+")  # these are the only line terminators
_KEY = re.compile(r"(?:[^\\ \t\f=:]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SECRET = re.compile(r"pass(?:word|wd|phrase)|secret|jaas", re.IGNORECASE)  # in names of settings
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


@dataclass(frozen=True, slots=True)
class Property:
    """
    A key and its value.

    Attributes:
        at: offset of its line.
        comments: the comments above it.
    """

    value: str
    at: int
    comments: tuple[str, ...] = ()


def is_properties(text: str) -> bool:
    """Whether a text is a properties file of Flume 1 rather than data-flow text of Flume 0.9."""
    return _PARTS_OF_AGENT.search(text) is not None


def properties_of(original: Original) -> dict[str, Property]:
    """The properties by key; of a repeated key the last one, with a warning."""
    found: dict[str, Property] = {}
    comments: list[str] = []
    for at, end, line in _logical_lines(original.text):
        if not line:
            continue
        if line[0] in "#!":
            comments.append(line[1:].strip())
            continue
        match = _KEY.match(line)
        key = match[0] if match else ""
        separator = _SEPARATOR.match(line, len(key))
        head = line[: separator.end() if separator else len(key)]
        value = _unescaped(line[len(head) :]).strip()
        name = _unescaped(key)
        if _SECRET.search(name):  # if the name continues in the next line, it is masked, too
            original.hide(at + len(head) * original.text.startswith(head, at), end)
        if name in found:
            original.warning(at, f'"{name}" is set twice; the last one is used, as in Flume')
        found[name] = Property(value, at, tuple(comment for comment in comments if comment))
        comments = []
    if comments and found:
        last = next(reversed(found))
        found[last] = replace(found[last], comments=(*found[last].comments, *filter(None, comments)))
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and content of logical lines, joined at backslashes; comments are not continued."""
    joined, start = "", -1
    at = 0
    for line in _LINE.findall(text):
        content = line.strip("\r\n").lstrip(" \t\f")
        if start < 0:
            start = at + len(line) - len(line.lstrip(" \t\f"))
        at += len(line)
        is_comment = not joined and content[:1] in ("#", "!")
        if not is_comment and _ODD_BACKSLASHES.search(content):
            joined += content[:-1]
            continue
        yield start, at, joined + content
        joined, start = "", -1
    if joined:
        yield start, at, joined


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROL.get(match[2], match[2]), text)
    return joined(plain)


@dataclass(slots=True)
class Options:
    """
    The properties of one component.

    Attributes:
        prefix: prefix of their names, with the last dot.
        apart: prefixes, after `prefix`, of options that belong to other components.
    """

    original: Original
    properties: Mapping[str, Property]
    variables: Variables
    prefix: str
    apart: tuple[str, ...] = ()
    _requested: set[str] = field(default_factory=set)

    def text(self, name: str, default: str = "", keep: Collection[str] = ()) -> str:
        """An option whose value the import needs; `${NAME}` is text for names in `keep`."""
        found = self._found(name)
        return default if found is None else self.variables.known(found.value, found.at, name, keep)

    def open_text(self, name: str, default: str = "") -> str:
        """An option that may contain variables, each replaced by a mark."""
        found = self._found(name)
        return default if found is None else self.variables.opened(found.value, found.at)

    def raw(self, name: str, default: str = "") -> str:
        """An option as written, for display."""
        found = self._found(name)
        return default if found is None else found.value

    def _found(self, name: str) -> Property | None:
        self._requested.add(name)
        found = self.properties.get(self.prefix + name)
        return found if found is not None and found.value else None

    def has(self, name: str) -> bool:
        """Whether an option exists, possibly empty."""
        return self.prefix + name in self.properties

    def is_true(self, name: str, *, default: bool) -> bool:
        """An option that is true or false."""
        return self.text(name, "true" if default else "false").lower() == "true"

    def integer(self, name: str, default: int) -> int:
        """An option that is a whole number."""
        text = self.text(name, str(default))
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            return int(text)
        self.error(Kind.WRONG_TYPE, name, f'{name} is a whole number, not "{text}"')
        return default

    def words(self, name: str) -> list[str]:
        """An option that lists names."""
        return self.text(name).split()

    def below(self, name: str) -> dict[str, str]:
        """All options whose names start with `name`: the rest of the name -> value as written."""
        begin = self.prefix + name
        keys = [key for key in self.properties if key.startswith(begin)]
        self._requested |= {key.removeprefix(self.prefix) for key in keys}
        return {key.removeprefix(begin): self.properties[key].value for key in keys}

    def at(self, name: str = "") -> int:
        """The offset of an option; of the component's first option if it was left out."""
        found = self.properties.get(self.prefix + name)
        if found is not None:
            return found.at
        return min((each.at for key, each in self.properties.items() if key.startswith(self.prefix)), default=0)

    def origins(self, names: Mapping[NodePath, str]) -> dict[NodePath, Origin]:
        """The origins of our options, from the settings that exist."""
        return {
            path: Origin(self.original.place(self.at(name)), self.properties[self.prefix + name].value)
            for path, name in names.items()
            if self.has(name)
        }

    def comments(self) -> list[str]:
        """The comments above its properties."""
        return [comment for name in self.names() for comment in self.properties[self.prefix + name].comments]

    def names(self) -> list[str]:
        """The names of its options."""
        rest = [key.removeprefix(self.prefix) for key in self.properties if key.startswith(self.prefix)]
        return [name for name in rest if not name.startswith(self.apart)] if self.apart else rest

    def requested(self) -> frozenset[str]:
        """Names of options that were requested, whether they exist or not."""
        return frozenset(self._requested)

    def unused(self) -> list[str]:
        """Names of existing options that were not requested."""
        return [name for name in self.names() if name not in self._requested]

    def error(self, kind: Kind, name: str, message: str, hint: str = "") -> None:
        """Report an error, unless the option's value is unknown, which is reported already."""
        if self.has(name) and self.variables.is_unknown(self.at(name)):
            return
        self.original.error(kind, self.at(name), message, hint)

    def warn(self, name: str, message: str, hint: str = "", kind: Kind = Kind.NOT_AS_FLUME) -> None:
        """Report a warning."""
        self.original.warning(self.at(name), message, hint, kind)

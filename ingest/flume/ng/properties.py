"""
Properties files of Flume 1, with places.

Source: the format as documented for java.util.Properties.load; Flume trims values.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ingest.config import Kind
from ingest.config.nodes import Path
from ingest.flume.ng.variables import Variables
from ingest.flume.original import Original
from ingest.flume.patterns import ONE_CHARACTER, one_byte_in
from ingest.flume.pipelines.document import Origin
from ingest.flume.utf16 import joined

_PARTS_OF_AGENT = re.compile(r"^[ \t]*[A-Za-z0-9_-]+\.(sources|sinks|channels)[ \t]*[=:. ]", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+")  # no other character ends one
_KEY = re.compile(r"(?:[^\\ \t\f=:]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SECRET = re.compile(r"pass(?:word|wd|phrase)|secret|jaas", re.IGNORECASE)  # in names; a key-password has it too
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ODD_BACKSLASHES = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


@dataclass(frozen=True, slots=True)
class Property:
    """
    A key and its value.

    Attributes:
        at: offset of the line.
        comments: what stands above it.
    """

    value: str
    at: int
    comments: tuple[str, ...] = ()


def is_properties(text: str) -> bool:
    """Whether a text is a properties file of Flume 1, and no data-flow text of Flume 0.9."""
    return _PARTS_OF_AGENT.search(text) is not None


def properties_of(original: Original) -> dict[str, Property]:
    """What the file says; of a key that stands twice the last one counts, with a warning."""
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
        if _SECRET.search(name):  # one whose name continues in the next line is hidden with it
            original.hide(at + len(head) * original.text.startswith(head, at), end)
        if name in found:
            original.warning(at, f'"{name}" stands twice; the last one counts, as it did')
        found[name] = Property(value, at, tuple(comment for comment in comments if comment))
        comments = []
    if comments and found:
        last = next(reversed(found))
        found[last] = replace(found[last], comments=(*found[last].comments, *filter(None, comments)))
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Start and end of lines, and what is in them; those a backslash continues are one; comments do not continue."""
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
        prefix: what their names begin with, the last dot included.
        apart: of the rest, what belongs to components of their own.
    """

    original: Original
    properties: Mapping[str, Property]
    variables: Variables
    prefix: str
    apart: tuple[str, ...] = ()
    _asked: set[str] = field(default_factory=set)

    def text(self, name: str, default: str = "", keep: Collection[str] = ()) -> str:
        """An option whose value must be known now; what `${…}` has one of `keep` in it is no variable."""
        found = self._found(name)
        return default if found is None else self.variables.known(found.value, found.at, name, keep)

    def open_text(self, name: str, default: str = "") -> str:
        """An option in which variables may stand, each as a mark."""
        found = self._found(name)
        return default if found is None else self.variables.opened(found.value, found.at)

    def raw(self, name: str, default: str = "") -> str:
        """An option that is only shown."""
        found = self._found(name)
        return default if found is None else found.value

    def _found(self, name: str) -> Property | None:
        self._asked.add(name)
        found = self.properties.get(self.prefix + name)
        return found if found is not None and found.value else None

    def has(self, name: str) -> bool:
        """Whether an option is there, be it empty."""
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
        """All options whose names begin with this, without it, as they are written."""
        begin = self.prefix + name
        keys = [key for key in self.properties if key.startswith(begin)]
        self._asked |= {key.removeprefix(self.prefix) for key in keys}
        return {key.removeprefix(begin): self.properties[key].value for key in keys}

    def at(self, name: str = "") -> int:
        """Where an option stands; the component's first when it was left out."""
        found = self.properties.get(self.prefix + name)
        if found is not None:
            return found.at
        return min((each.at for key, each in self.properties.items() if key.startswith(self.prefix)), default=0)

    def origins(self, names: Mapping[Path, str]) -> dict[Path, Origin]:
        """Where options of ours stand that were made of these; of those that were left out nowhere."""
        return {
            path: Origin(self.original.place(self.at(name)), self.properties[self.prefix + name].value)
            for path, name in names.items()
            if self.has(name)
        }

    def comments(self) -> list[str]:
        """What stands above its properties."""
        return [comment for name in self.names() for comment in self.properties[self.prefix + name].comments]

    def names(self) -> list[str]:
        """The names of its options."""
        rest = [key.removeprefix(self.prefix) for key in self.properties if key.startswith(self.prefix)]
        return [name for name in rest if not name.startswith(self.apart)] if self.apart else rest

    def asked(self) -> frozenset[str]:
        """Names of options that were read, whether they are there or not."""
        return frozenset(self._asked)

    def unused(self) -> list[str]:
        """Names of options that were not read."""
        return [name for name in self.names() if name not in self._asked]

    def error(self, kind: Kind, name: str, message: str, hint: str = "") -> None:
        """Note what keeps the component from being imported, unless it is that a value is not known."""
        if self.has(name) and self.variables.is_unknown(self.at(name)):
            return
        self.original.error(kind, self.at(name), message, hint)

    def warn(self, name: str, message: str, hint: str = "", kind: Kind = Kind.NOT_AS_FLUME) -> None:
        """Note what the reader should look at."""
        self.original.warning(self.at(name), message, hint, kind)

    def warn_of_bytes(self, name: str, expression: str) -> None:
        """Warn of what is a character in a regular expression of Java, and a byte in ours."""
        note = one_byte_in(expression)
        if note:
            self.warn(name, note, ONE_CHARACTER)

"""
Properties of hbase-site.xml and of Hadoop's site files, or of a server's `/conf`, which has the same format and also
lists the defaults.

The XML may come from another machine, so a document type declaration is refused: without one there are no entities to
expand and no other files to read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ingest.api import ConfigError, NotFoundError

MAX_BYTES = 16 << 20
"""Of a configuration; all properties of HBase and Hadoop with their defaults take half a megabyte."""

_DEFAULTS = "-default.xml"
_VARIABLE = re.compile(r"\$\{([^}$ ]+)\}")
_MAX_VARIABLES = 20  # in one value, as in Hadoop


@dataclass(frozen=True, slots=True)
class Property:
    """
    A property with its value.

    Attributes:
        place: where it is, as `FILE:LINE`.
        is_default: `/conf` reports it as a default of the product; such a value was not set by hand.
    """

    value: str
    place: str = ""
    is_default: bool = False


Properties = Mapping[str, Property]
"""By name. Empty values are left out, as Hadoop does: HBase's own defaults have some for values that it calculates."""


def read_site(path: str, *, hint: str) -> Properties:
    """
    The properties in a file.

    Args:
        path: of the file.
        hint: of all errors: what the user can name in its place.

    Raises:
        NotFoundError: there is no such file, or it cannot be read.
        ConfigError: it is no Hadoop configuration; the message has the line.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotFoundError(f'"{path}" cannot be read: {reason}', hint=hint) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f'"{path}" is larger than {MAX_BYTES >> 20} MiB', hint=hint)
    return parsed(content, path, hint=hint)


def parsed(content: bytes, name: str, *, hint: str) -> Properties:
    """
    The properties in the text of a configuration; of a property that is listed twice, the last one counts.

    Args:
        content: XML.
        name: of the file or URL, for messages.
        hint: of all errors, as in `read_site`.

    Raises:
        ConfigError: it is no Hadoop configuration; the message has the line.
    """
    return _Reader(name, hint).read(content)


def expanded(values: Mapping[str, str]) -> dict[str, str]:
    """
    The values with other values in place of `${NAME}`, as Hadoop reads them, without Java's and the environment's.

    A name without a value stays, and so does what follows it.
    """
    return {name: _expanded(value, values) for name, value in values.items()}


def _expanded(value: str, values: Mapping[str, str]) -> str:
    for _ in range(_MAX_VARIABLES):
        found = _VARIABLE.search(value)
        if found is None or found[1] not in values:
            break
        value = value[: found.start()] + values[found[1]] + value[found.end() :]
    return value


@dataclass(slots=True)
class _Fields:
    """The elements of the property that is being read."""

    line: int
    texts: dict[str, str] = field(default_factory=dict)


class _Reader:
    """Reads one document."""

    def __init__(self, name: str, hint: str) -> None:
        self._name = name
        self._hint = hint
        self._path: list[str] = []
        self._fields: _Fields | None = None
        self._found: dict[str, Property] = {}
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def read(self, content: bytes) -> Properties:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            place = f"{self._name}:{error.lineno}:{error.offset + 1}"
            raise ConfigError(f"{place}: not XML: {expat.ErrorString(error.code)}", hint=self._hint) from error
        except (LookupError, ValueError) as error:  # of Python, to which expat passes encodings that it does not know
            raise self._mistake(f"the encoding cannot be read: {error}", "write it in UTF-8") from error
        return self._found

    def _refuse_doctype(self, *_: object) -> None:
        raise self._mistake("a document type declaration is not allowed", "remove <!DOCTYPE …>")

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._path and element != "configuration":
            raise self._mistake(f"the root element is <{element}>, not <configuration>")
        if element.rpartition(":")[2] == "include":
            raise self._mistake("included files are not read", "write the properties into this file")
        if self._path == ["configuration"] and element == "property":
            # name and value may be attributes instead of elements
            self._fields = _Fields(self._parser.CurrentLineNumber, dict(attributes))
        self._path.append(element)

    def _end(self, element: str) -> None:
        self._path.pop()
        if element != "property" or self._path != ["configuration"] or self._fields is None:
            return
        fields, self._fields = self._fields, None
        texts = {name: text.strip() for name, text in fields.texts.items()}
        if not texts.get("name"):
            raise self._mistake("a property has no name", line=fields.line)
        if texts.get("value"):
            is_default = texts.get("source", "").endswith(_DEFAULTS)
            self._found[texts["name"]] = Property(texts["value"], f"{self._name}:{fields.line}", is_default)

    def _text(self, text: str) -> None:
        if self._fields is not None and len(self._path) == len(("configuration", "property", "field")):
            name = self._path[-1]
            self._fields.texts[name] = self._fields.texts.get(name, "") + text

    def _mistake(self, message: str, remedy: str = "", *, line: int | None = None) -> ConfigError:
        hint = f"{remedy}; {self._hint}" if remedy else self._hint
        return ConfigError(f"{self._name}:{line or self._parser.CurrentLineNumber}: {message}", hint=hint)

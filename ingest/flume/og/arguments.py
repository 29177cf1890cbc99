"""Arguments of a Flume component, parsed by Flume's rules."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from ingest.config import Kind
from ingest.config.nodes import NodePath
from ingest.expressions import Pattern
from ingest.flume.escapes import Translated
from ingest.flume.og.tree import Argument, Call, Text
from ingest.flume.original import Original
from ingest.flume.patterns import UntranslatableError, pattern_of
from ingest.flume.pipelines.document import Origin

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?\s*")
_INT32 = range(-(1 << 31), 1 << 31)
_INT64 = range(-(1 << 63), 1 << 63)
_MAX_DIGITS = 4_000  # Python's limit is 4,300

Keywords = Mapping[str, Argument]
"""Keyword arguments of the enclosing `roll` and `collector`."""


class BadArgumentError(Exception):
    """A component cannot be translated; the problem is reported in the original."""


@dataclass(slots=True)
class Translation:
    """
    The translation of a component.

    Attributes:
        kind: our kind; "" for none.
        notes: notes for the user.
        arguments: path of an option -> index of the argument from which it is translated.
    """

    kind: str
    options: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    arguments: dict[NodePath, int] = field(default_factory=dict)


class Arguments:
    """
    The arguments of one component.

    Problems are reported in the original; an error raises BadArgumentError.
    """

    def __init__(self, original: Original, call: Call, keywords: Keywords) -> None:
        self.call = call
        self._original = original
        self._keywords = keywords
        self._requested: set[str] = set()

    def __len__(self) -> int:
        return len(self.call.args)

    def count(self, least: int, most: int | None = None) -> None:
        """Check the number of arguments."""
        found = len(self)
        if found < least or (most is not None and found > most):
            self.fail(Kind.MISSING_FIELD if found < least else Kind.CONFLICT, self.call.at, self._counted(least, most))

    def _counted(self, least: int, most: int | None) -> str:
        most_wanted = "" if least == most else f" to {most}"
        wanted = f"at least {least}" if most is None else f"{least}{most_wanted}"
        plural = "" if wanted in {"1", "at least 1"} else "s"
        return f"{self.call.name} takes {wanted} argument{plural}, not {len(self)}"

    def ignore_from(self, most: int) -> None:
        """Warn that Flume ignored further arguments."""
        if len(self) > most:
            self.warn(f"{self.call.name} ignores arguments after the first {most}", self.at(most))

    def at(self, index: int) -> int:
        """The offset of an argument; of the component if it was left out."""
        return self.call.args[index].at if index < len(self) else self.call.at

    def origins(self, arguments: Mapping[NodePath, int]) -> dict[NodePath, Origin]:
        """The origins of options, from the indexes of their arguments."""
        given = {path: self.call.args[index] for path, index in arguments.items() if index < len(self)}
        return {
            path: Origin(self._original.place(arg.at), arg.text) for path, arg in given.items() if isinstance(arg, Text)
        }

    def text(self, index: int, default: str | None = None) -> str:
        """An argument; without a default it is required."""
        if index >= len(self):
            if default is None:
                self.count(index + 1)
            return default or ""
        return self._text(self.call.args[index])

    def texts(self, start: int = 0) -> list[str]:
        """All arguments from an index on."""
        return [self._text(arg) for arg in self.call.args[start:]]

    def keyword(self, name: str) -> str | None:
        """A keyword argument of the component or of an enclosing one."""
        self._requested.add(name)
        value = self.call.kwargs.get(name, self._keywords.get(name))
        return None if value is None else self._text(value)

    def is_true(self, name: str) -> bool:
        """Whether a keyword argument is true; all other values, and none, are false."""
        return (self.keyword(name) or "").lower() == "true"

    def check_keywords(self) -> None:
        """Warn of keyword arguments that Flume ignored."""
        for name in self.call.kwargs:
            if name not in self._requested:
                self.warn(f'{self.call.name} has no keyword "{name}": Flume ignored it')

    def integer(self, index: int, what: str, *, least: int | None = None) -> int:
        """An argument that must be a whole number."""
        return self.as_integer(self.text(index), what, self.at(index), least=least)

    def as_integer(self, text: str, what: str, at: int, *, least: int | None = None) -> int:
        """Parse a text that must be a whole number."""
        number = self._whole(text, what, at, _INT32)
        if least is not None and number < least:
            self.fail(Kind.OUT_OF_RANGE, at, f"the {what} of {self.call.name} is {least} or more, not {number}")
        return number

    def long(self, index: int, what: str) -> int:
        """An argument that must be a 64-bit whole number."""
        return self._whole(self.text(index), what, self.at(index), _INT64)

    def _whole(self, text: str, what: str, at: int, known: range) -> int:
        if not _INTEGER.fullmatch(text):
            self.fail(Kind.WRONG_TYPE, at, f'the {what} of {self.call.name} is a whole number, not "{text}"')
        if len(text) > _MAX_DIGITS or int(text) not in known:
            limits = f"{known[0]} to {known[-1]}"
            self.fail(Kind.OUT_OF_RANGE, at, f"the {what} of {self.call.name} is {limits}, not {text[:40]}")
        return int(text)

    def number(self, index: int, what: str) -> float:
        """An argument that must be a number."""
        match = _FLOAT.fullmatch(self.text(index))
        if match is None:
            self.fail(
                Kind.WRONG_TYPE, self.at(index), f'the {what} of {self.call.name} is a number, not "{self.text(index)}"'
            )
        return float(match[1])

    def pattern(self, index: int, notes: list[str], translate: Callable[[str], Pattern] = pattern_of) -> Pattern:
        """An argument that is a Java regular expression; adds a note with the original if the translation differs."""
        try:
            found = translate(self.text(index))
        except UntranslatableError as error:
            self.fail(Kind.BAD_PATTERN, self.at(index), f"{error} (column {error.column} of the expression)")
        if found.text.removeprefix("(?a)") != self.text(index):
            notes.append(f"the original expression was {self.text(index)}")
        return found

    def warn(self, message: str, at: int | None = None, hint: str = "") -> None:
        """Report a warning."""
        self._original.warning(self.call.at if at is None else at, message, hint)

    def warn_of(self, *templates: Translated) -> None:
        """Report the notes of translated expressions as warnings."""
        for note in dict.fromkeys(note for template in templates for note in template.notes):
            self.warn(note)
        if any(template.is_zoned for template in templates):
            self.note_zone()

    def note_zone(self) -> None:
        """Note that the component depends on the time zone of Flume's machines."""
        self._original.zoned.append(self.call.at)

    def fail(self, kind: Kind, at: int, message: str, hint: str = "") -> NoReturn:
        """
        Report an error.

        Raises:
            BadArgumentError: always.
        """
        self._original.error(kind, at, message, hint)
        raise BadArgumentError(message)

    def _text(self, arg: Argument) -> str:
        if not isinstance(arg, Text):
            hint = f'quote it: "{arg.name}"'
            message = f'{self.call.name} requires text here; "{arg.name}" without quotes is a function'
            self.fail(Kind.WRONG_TYPE, arg.at, message, hint)
        return arg.text

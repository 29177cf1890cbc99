"""
Variables in values of Flume 1.

`${env:NAME}`, and `${NAME}` where an agent was started so, are variables of the environment, as `${NAME}` is here;
`${KEY}` of the file itself is what stands there. While a value is put into our words each variable is one character
that no file has, so that nothing else is made of it.

Source: EnvVarResolverProperties of Flume 1.8, which an agent had to be configured to use, and MapResolver of Flume
1.10, which is always on.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ingest.config import Kind
from ingest.config.writing import literal
from ingest.flume.original import Original
from ingest.flume.pipelines.document import Component, Pipeline, Verbatim
from ingest.flume.pipelines.report import Entry, Outcome, shown

_LOOKUP = re.compile(r"(?P<escape>\$)?\$\{(?P<inside>(?:[^${}]|\$(?!\{))*)\}")
_NESTED = re.compile(r"\$\{[^{}]*\{")
_OTHER = re.compile(r"\w+:.*|[\w-]+\[.*\]", re.DOTALL | re.ASCII)  # ${sys:…}, and ${filter['key']} of Flume 1.9
_BARE = re.compile(r"\w+", re.ASCII)
_OURS = re.compile(r"(?!secret\Z)[A-Za-z_][A-Za-z0-9_]*")
_FIRST_MARK = 0xF0000  # private use, and nowhere in the file
_IF_STARTED_SO = "; for an agent without EnvVarResolverProperties it was text: then write $"
_DEEPEST = 10


class Variables:
    """
    The variables of one file.

    Attributes:
        entries: what became of each that was met.
    """

    def __init__(self, original: Original, values: Mapping[str, str]) -> None:
        self._original = original
        self._values = values
        self._marks: dict[str, str] = {}
        self._table: dict[int, str] = {}
        self._unknown: set[int] = set()
        self._next = _FIRST_MARK
        self.entries: list[Entry] = []

    def known(self, value: str, at: int, name: str, keep: Collection[str] = ()) -> str:
        """A value that must be known now; what no import can know is an error."""
        before = len(self.entries)
        opened = self.opened(value, at, keep)
        found = [self._table[ord(character)] for character in opened if ord(character) in self._table]
        if not found:
            return opened
        del self.entries[before:]  # nothing stands for it
        if at not in self._unknown:
            message = f"{name} has {found[0]} in it, and the import must know its value"
            self._original.error(Kind.CONFLICT, at, message, "write the value in its place")
        self._unknown.add(at)
        return value

    def is_unknown(self, at: int) -> bool:
        """Whether an error says that the value of a line must be known."""
        return at in self._unknown

    def opened(self, value: str, at: int, keep: Collection[str] = (), *, depth: int = 0) -> str:
        """
        A value with a mark for each variable.

        Args:
            value: as it stands in the file.
            at: where.
            keep: names that are none of variables.
            depth: of values of the file in this one.
        """
        if "${" not in value:
            return value
        if _NESTED.search(value) or depth > _DEEPEST:
            self._left(value, at, "a variable inside of another, or of itself")
            return value

        def meant(found: re.Match[str]) -> str:
            inside = found["inside"]
            if inside in keep:
                return found[0]
            name, dash, default = inside.partition(":-")
            is_env = name.lower().startswith("env:")
            if found["escape"] and (is_env or _BARE.fullmatch(name) or _OTHER.fullmatch(name) or name in self._values):
                self._left(found[0], at, "with two $ it was text for Flume 1.10")
                return found[0][1:]
            if name in self._values and not is_env:
                inner = self.opened(self._values[name], at, depth=depth + 1)
                if inner.endswith("$"):
                    self._left(found[0], at, "its value ends with a $, which changes what is behind it here")
                    return found[0]
                self._tell(at, found[0], inner, "the file says what it is")
                return inner
            if is_env or _BARE.fullmatch(name):
                return self._variable(found[0], at, name[4 * is_env :], dash, default, is_env=is_env)
            if dash or _OTHER.fullmatch(name):
                self._left(found[0], at, "only variables of the environment are known here")
            return found[0]

        return _LOOKUP.sub(meant, value)

    def _variable(self, written: str, at: int, name: str, dash: str, default: str, *, is_env: bool) -> str:
        if not _OURS.fullmatch(name) or default.startswith("?"):
            what = "default with a question mark in front" if _OURS.fullmatch(name) else "variable of such a name"
            self._left(written, at, f"a pipeline file can have no {what}")
            return written
        ours = f"${{{name}:{default}}}" if dash else f"${{{name}}}"
        must = f"{name} may be set where the pipeline runs" if dash else f"set {name} where the pipeline runs"
        why = must if is_env or dash else f"{must}{_IF_STARTED_SO}{ours}"
        self._tell(at, written, ours, why)
        return self._mark(ours)

    def _mark(self, ours: str) -> str:
        if ours not in self._marks:
            while chr(self._next) in self._original.text:
                self._next += 1
            self._marks[ours] = chr(self._next)
            self._table[self._next] = ours
            self._next += 1
        return self._marks[ours]

    def _tell(self, at: int, written: str, by: str, why: str) -> None:
        self.entries.append(Entry(Outcome.REPLACED, self._original.place(at), shown(written), by, why))

    def _left(self, written: str, at: int, why: str) -> None:
        hint = "write the value in its place"
        message = f"{shown(written)} is left as text: {why}"
        place = self._original.place(at)
        if not any((problem.location, problem.message) == (place, message) for problem in self._original.problems):
            self._original.warning(at, message, hint)

    # marks back into words

    def has_any(self, text: str) -> bool:
        """Whether a text has a mark in it."""
        return any(ord(character) in self._table for character in text)

    def written(self, text: str) -> str:
        """A text with variables where it has marks."""
        return text.translate(self._table)

    def pipeline(self, made: Pipeline) -> Pipeline:
        """A pipeline with variables where it has marks."""
        source, sinks, steps = self._component(made.source), map(self._component, made.sinks), made.steps
        return replace(made, source=source, sinks=list(sinks), steps=[self._component(step) for step in steps])

    def _component(self, made: Component) -> Component:
        options = {name: self._value(value) for name, value in made.options.items()}
        return replace(made, options=options, comments=[self.written(comment) for comment in made.comments])

    def _value(self, value: object) -> object:
        match value:
            case str():
                return Verbatim(self.written(literal(value))) if self.has_any(value) else value
            case Mapping():
                return {name: self._value(each) for name, each in value.items()}
            case Sequence():
                return [self._value(each) for each in value]
            case _:
                return value

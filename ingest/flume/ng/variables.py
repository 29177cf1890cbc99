"""
Translates variables in values of Flume 1.

`${env:NAME}` is an environment variable, and so is `${NAME}` if the agent was configured for it; here it is `${NAME}`.
`${KEY}` of the file itself is replaced by its value. During translation each variable is a mark, a single character
that does not occur in the file, so that no other translation changes it.

Source: EnvVarResolverProperties of Flume 1.8, which must be configured, and MapResolver of Flume 1.10, which is always
enabled.
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
_FIRST_MARK = 0xF0000  # private use area
_IF_STARTED_SO = "; without EnvVarResolverProperties it was text: then write $"
_DEEPEST = 10


class Variables:
    """
    The variables of a file.

    Attributes:
        entries: the outcome for each variable.
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
        """A value that the import needs; an error if it contains environment variables."""
        before = len(self.entries)
        opened = self.opened(value, at, keep)
        found = [self._table[ord(character)] for character in opened if ord(character) in self._table]
        if not found:
            return opened
        del self.entries[before:]  # not translated
        if at not in self._unknown:
            message = f"{name} contains {found[0]}, and the import needs its value"
            self._original.error(Kind.CONFLICT, at, message, "write the value in its place")
        self._unknown.add(at)
        return value

    def is_unknown(self, at: int) -> bool:
        """Whether the value at an offset was reported as unknown."""
        return at in self._unknown

    def opened(self, value: str, at: int, keep: Collection[str] = (), *, depth: int = 0) -> str:
        """
        A value with variables replaced by marks.

        Args:
            value: the value as written.
            at: its offset.
            keep: names that are not variables.
            depth: depth of values that refer to each other.
        """
        if "${" not in value:
            return value
        if _NESTED.search(value) or depth > _DEEPEST:
            self._kept(value, at, "a variable inside another variable or itself")
            return value

        def replaced(found: re.Match[str]) -> str:
            inside = found["inside"]
            if inside in keep:
                return found[0]
            name, dash, default = inside.partition(":-")
            is_env = name.lower().startswith("env:")
            if found["escape"] and (is_env or _BARE.fullmatch(name) or _OTHER.fullmatch(name) or name in self._values):
                self._kept(found[0], at, "with two $ it is text in Flume 1.10")
                return found[0][1:]
            if name in self._values and not is_env:
                inner = self.opened(self._values[name], at, depth=depth + 1)
                if inner.endswith("$"):
                    self._kept(
                        found[0], at, "its value ends with a $, which would change the meaning of the following text"
                    )
                    return found[0]
                self._report(at, found[0], inner, "its value from the file")
                return inner
            if is_env or _BARE.fullmatch(name):
                return self._variable(found[0], at, name[4 * is_env :], dash, default, is_env=is_env)
            if dash or _OTHER.fullmatch(name):
                self._kept(found[0], at, "only environment variables are supported")
            return found[0]

        return _LOOKUP.sub(replaced, value)

    def _variable(self, written: str, at: int, name: str, dash: str, default: str, *, is_env: bool) -> str:
        if not _OURS.fullmatch(name) or default.startswith("?"):
            what = "default that starts with a question mark" if _OURS.fullmatch(name) else "variable with this name"
            self._kept(written, at, f"a pipeline file does not support a {what}")
            return written
        ours = f"${{{name}:{default}}}" if dash else f"${{{name}}}"
        must = f"{name} may be set where the pipeline runs" if dash else f"set {name} where the pipeline runs"
        why = must if is_env or dash else f"{must}{_IF_STARTED_SO}{ours}"
        self._report(at, written, ours, why)
        return self._mark(ours)

    def _mark(self, ours: str) -> str:
        if ours not in self._marks:
            while chr(self._next) in self._original.text:
                self._next += 1
            self._marks[ours] = chr(self._next)
            self._table[self._next] = ours
            self._next += 1
        return self._marks[ours]

    def _report(self, at: int, written: str, by: str, why: str) -> None:
        self.entries.append(Entry(Outcome.REPLACED, self._original.place(at), shown(written), by, why))

    def _kept(self, written: str, at: int, why: str) -> None:
        hint = "write the value in its place"
        message = f"{shown(written)} is kept as text: {why}"
        place = self._original.place(at)
        if not any((problem.location, problem.message) == (place, message) for problem in self._original.problems):
            self._original.warning(at, message, hint)

    def has_any(self, text: str) -> bool:
        """Whether a text contains a mark."""
        return any(ord(character) in self._table for character in text)

    def written(self, text: str) -> str:
        """A text with marks replaced by variables."""
        return text.translate(self._table)

    def pipeline(self, made: Pipeline) -> Pipeline:
        """A pipeline with marks replaced by variables."""
        source, sinks, decorators = self._component(made.source), map(self._component, made.sinks), made.decorators
        return replace(
            made, source=source, sinks=list(sinks), decorators=[self._component(decorator) for decorator in decorators]
        )

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

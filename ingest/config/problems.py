"""Problems of a configuration: their kinds, places and reports."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.masks import Masks

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # as YAML defines it
_MAX_MESSAGE = 1_000  # characters; enough for a list of all decorators
_MAX_SHOWN = 160  # characters; a longer line is cut around the place


class Kind(StrEnum):
    """All kinds of problems; `attr2hbase describe error KIND` explains each."""

    SYNTAX = "syntax"
    UNKNOWN_FIELD = "unknown-field"
    UNKNOWN_COMPONENT = "unknown-component"
    NOT_IMPORTED = "not-imported"
    MISSING_FIELD = "missing-field"
    WRONG_TYPE = "wrong-type"
    OUT_OF_RANGE = "out-of-range"
    NOT_ONE_OF = "not-one-of"
    DUPLICATE_KEY = "duplicate-key"
    DUPLICATE_LABEL = "duplicate-label"
    BAD_UNIT = "bad-unit"
    BAD_PATTERN = "bad-pattern"
    BAD_EXPRESSION = "bad-expression"
    UNDEFINED_VARIABLE = "undefined-variable"
    UNDEFINED_SECRET = "undefined-secret"  # noqa: S105 - a kind of problem
    UNKNOWN_REFERENCE = "unknown-reference"
    UNREACHABLE = "unreachable"
    CONFLICT = "conflict"
    TOO_LARGE = "too-large"
    MISSING_ROW_KEY = "missing-row-key"
    MISSING_CELLS = "missing-cells"
    NOT_A_CELL = "not-a-cell"
    UNDECLARED_FAMILY = "undeclared-family"
    REPLACED_CELL = "replaced-cell"
    SHARED_ROW_KEY = "shared-row-key"
    SAME_TIME = "same-time"
    OTHER_STORE = "other-store"
    UNSTABLE = "unstable"
    REORDERED = "reordered"
    DEPRECATED = "deprecated"
    DOUBTFUL = "doubtful"
    UNUSED = "unused"
    NOT_AS_FLUME = "not-as-flume"


EXPLANATIONS: dict[Kind, str] = {
    Kind.SYNTAX: "The text is not valid YAML, or uses a feature that is not allowed: tags, several documents, or keys "
    "that are not text. The place is where parsing stopped.",
    Kind.UNKNOWN_FIELD: "No option has this name. `attr2hbase describe NAME` lists the options of a component.",
    Kind.UNKNOWN_COMPONENT: "No decorator, sink, store or source has this name, or it cannot be imported. "
    "`attr2hbase describe` lists all components; a plugin must be installed or listed under `plugins`.",
    Kind.NOT_IMPORTED: "`attr2hbase import-flume` could not translate this part and wrote `not_imported` in its place.",
    Kind.MISSING_FIELD: "An option without a default was left out.",
    Kind.WRONG_TYPE: "The option requires a value of another type. Values are not converted: text that looks like a "
    "number must be quoted. Only a value with a `${VARIABLE}` is converted, quoted or not.",
    Kind.OUT_OF_RANGE: "The value has the right type but is too small, too large, too short or too long.",
    Kind.NOT_ONE_OF: "The value is not one of the allowed values.",
    Kind.DUPLICATE_KEY: "A mapping contains the same key twice.",
    Kind.DUPLICATE_LABEL: "Two decorators or sinks of a pipeline have the same label; metrics need unique labels.",
    Kind.BAD_UNIT: "A duration or size needs a unit, as in `5s` and `2MiB`.",
    Kind.BAD_PATTERN: "The regular expression does not compile; the place shows the mistake in it.",
    Kind.BAD_EXPRESSION: "A template, a condition or a `${…}` is malformed; the place shows the mistake in it. "
    "Write `%%` for a percent sign, `$${` for a literal `${`.",
    Kind.UNDEFINED_VARIABLE: "The environment variable is not set and has no default, as in `${NAME:default}`.",
    Kind.UNDEFINED_SECRET: "The secret does not exist, or `secrets` does not configure where secrets are read from.",
    Kind.UNKNOWN_REFERENCE: "The file refers to a store, table, family, chain, pipeline, file or plugin that does not "
    "exist.",
    Kind.UNREACHABLE: "No event can reach this decorator, sink or rule.",
    Kind.CONFLICT: "Options that are valid alone exclude each other, or together have an unintended effect.",
    Kind.TOO_LARGE: "The file, its nesting, its aliases or a chain exceeds a limit.",
    Kind.MISSING_ROW_KEY: "No decorator sets the attribute that holds the row key of the sink.",
    Kind.MISSING_CELLS: "No decorator sets an attribute that becomes a cell, so nothing is stored.",
    Kind.NOT_A_CELL: "The name of an attribute, or the prefix of all names that a decorator sets, starts with the "
    "sink's prefix but has no family and qualifier, so no cell is written.",
    Kind.UNDECLARED_FAMILY: "Cells are written to a family that the declared table does not have: the store creates it "
    "with its own defaults, or the events fail.",
    Kind.REPLACED_CELL: "A later cell of the same column always replaces this one.",
    Kind.SHARED_ROW_KEY: "Several events may have the same row key, so later ones overwrite earlier ones.",
    Kind.SAME_TIME: "All cells of a file have the same timestamp, because all lines have the time of the file.",
    Kind.OTHER_STORE: "The table is declared for one store and also written to another, to which the declaration does "
    "not apply.",
    Kind.UNSTABLE: "A row key may depend on a decorator whose result may differ on replay, so a replay may add a row.",
    Kind.REORDERED: "Events that bypass a buffering decorator are written first, so an older value may win.",
    Kind.DEPRECATED: "The option works, but a later version removes it; the message names its replacement.",
    Kind.DOUBTFUL: "The expression or option is valid, but probably a mistake.",
    Kind.UNUSED: "No pipeline uses the chain.",
    Kind.NOT_AS_FLUME: "The imported pipeline differs from Flume in this point, or needs a decision.",
}


class Severity(StrEnum):
    """Whether a pipeline can run with the problem."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a file; lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """
    An error or a warning.

    Attributes:
        hint: how to correct it, such as `did you mean "…"?`; may be "".
    """

    kind: Kind
    location: Place
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        severity = "warning: " if self.severity is Severity.WARNING else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.location}: {self.kind}: {severity}{self.message}{hint}"


@dataclass(frozen=True, slots=True)
class Report:
    """
    The problems of a configuration, ordered by place, without duplicates.

    Attributes:
        sources: file -> its lines, for excerpts.
    """

    problems: tuple[Problem, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that prevent a pipeline from running."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems that do not prevent a pipeline from running."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)

    def to_text(self) -> str:
        """Every problem as `file:line:column: kind: message`, with the line of the file and a caret under it."""
        return "\n".join(
            part for problem in self.problems for part in (str(problem), *self._excerpt(problem.location)) if part
        )

    def to_json(self) -> list[dict[str, object]]:
        """The same as plain data."""
        return [
            {
                "file": problem.location.file,
                "line": problem.location.line,
                "column": problem.location.column,
                "kind": problem.kind.value,
                "severity": problem.severity.value,
                "message": problem.message,
                "hint": problem.hint,
            }
            for problem in self.problems
        ]

    def _excerpt(self, location: Place) -> tuple[str, ...]:
        lines = self.sources.get(location.file, ())
        if not 0 < location.line <= len(lines):
            return ()
        line = lines[location.line - 1]
        if not line.strip():
            return ()
        at = min(location.column - 1, len(line))
        begin = max(0, min(at - _MAX_SHOWN // 2, len(line) - _MAX_SHOWN))
        end = begin + _MAX_SHOWN
        before, after = "…" if begin else "", "…" if end < len(line) else ""
        shown = "".join(character if character.isprintable() else " " for character in line[begin:end])
        number = f"{location.line:>5} | "
        caret = f"{'|':>{len(number) - 1}} {' ' * (len(before) + at - begin)}^"
        return f"{number}{before}{shown}{after}", caret


def report_of(problems: Iterable[Problem], sources: Mapping[str, str], masks: Masks) -> Report:
    """A report with secrets masked; the root file first, then included files in the order of reading."""
    order = {file: number for number, file in enumerate(sources)}
    unique = dict.fromkeys(
        Problem(
            problem.kind,
            problem.location,
            _one_line(masks.hide(problem.message)),
            _one_line(masks.hide(problem.hint)),
            problem.severity,
        )
        for problem in problems
    )
    return Report(
        tuple(sorted(unique, key=lambda problem: (order.get(problem.location.file, len(order)), problem.location))),
        {file: tuple(_LINE_BREAK.split(masks.hide(text))) for file, text in sources.items()},
    )


def _one_line(text: str) -> str:
    """The text cut to a maximum length, with control characters escaped: it may contain values of the file."""
    shown = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text[:_MAX_MESSAGE]
    )
    return shown if len(text) <= _MAX_MESSAGE else f"{shown}…"


def listed(names: Iterable[str], limit: int = 8) -> str:
    """Names sorted, quoted and joined with commas; those beyond the limit are only counted."""
    names = sorted(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(f'"{name}"' for name in names[:limit]) + more

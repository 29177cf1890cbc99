"""Problems of a configuration: kinds, places and reports."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.masks import Masks

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # what YAML counts as one
_MAX_MESSAGE = 1_000  # characters; a list of all decorators fits
_MAX_SHOWN = 160  # characters of a line of the file; of a longer one those around the place


class Kind(StrEnum):
    """All kinds of problems; each is explained by `ingest describe error`."""

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
    DOUBTFUL = "doubtful"
    UNUSED = "unused"
    NOT_AS_FLUME = "not-as-flume"


EXPLANATIONS: dict[Kind, str] = {
    Kind.SYNTAX: "The text is not YAML, or uses a part of YAML that configurations do not need: tags, several "
    "documents, keys that are not text. The place is where reading stopped.",
    Kind.UNKNOWN_FIELD: "There is no option of this name here. `ingest describe NAME` lists those of a component.",
    Kind.UNKNOWN_COMPONENT: "No decorator, sink, store or source has this name, or it cannot be imported. "
    "`ingest describe` lists them all; a plugin must be installed or named under `plugins`.",
    Kind.NOT_IMPORTED: "`ingest import-flume` could not translate what stood here and wrote `not_imported` instead.",
    Kind.MISSING_FIELD: "An option without a default was left out.",
    Kind.WRONG_TYPE: "A value of another type is wanted. Nothing is converted silently: text that looks like a number "
    "must be quoted. What has a `${VARIABLE}` in it is read as what is wanted, quoted or not.",
    Kind.OUT_OF_RANGE: "The value has the right type but is too small, too large, too short or too long.",
    Kind.NOT_ONE_OF: "Only some values are allowed here, and this is none of them.",
    Kind.DUPLICATE_KEY: "A key stands twice in one mapping; YAML libraries silently keep one of them.",
    Kind.DUPLICATE_LABEL: "Two decorators or sinks of a pipeline have one label; metrics need different ones.",
    Kind.BAD_UNIT: "Durations and sizes are written with a unit, as in `5s` and `2MiB`.",
    Kind.BAD_PATTERN: "The regular expression does not compile; the place points into it.",
    Kind.BAD_EXPRESSION: "A template, a condition or a `${…}` is malformed; the place points into it. `%%` is a "
    "percent sign, `$${` a literal `${`.",
    Kind.UNDEFINED_VARIABLE: "The environment has no such variable. Set it, or give a default: `${NAME:default}`.",
    Kind.UNDEFINED_SECRET: "There is no such secret, or `secrets` does not say where secrets are kept.",
    Kind.UNKNOWN_REFERENCE: "Something is named that this file does not declare: a store, table, family, chain, "
    "pipeline, file or plugin.",
    Kind.UNREACHABLE: "No event can ever reach this decorator, sink or rule.",
    Kind.CONFLICT: "Options that are fine alone do not go together, or together do something nobody wants.",
    Kind.TOO_LARGE: "The file, its nesting, its aliases or a chain are larger than any configuration needs.",
    Kind.MISSING_ROW_KEY: "No decorator sets the attribute that the sink takes the row key from.",
    Kind.MISSING_CELLS: "No decorator sets an attribute that becomes a cell, so nothing is stored.",
    Kind.NOT_A_CELL: "An attribute begins with the sink's prefix and has no family and qualifier, so it becomes no "
    "cell.",
    Kind.UNDECLARED_FAMILY: "Cells go to a family that the declared table does not have: the store creates it with its "
    "own defaults, or their events fail.",
    Kind.REPLACED_CELL: "A later cell of the same column always replaces this one.",
    Kind.SHARED_ROW_KEY: "Several events may get one row key, and each then writes over the one before.",
    Kind.SAME_TIME: "All cells of a file get one time, because lines of a file have the file's time.",
    Kind.OTHER_STORE: "The table is declared for one store and also written to another, where the declaration does "
    "not hold.",
    Kind.UNSTABLE: "A row key may be made of what a decorator sets whose result may differ on replay: a replay may "
    "add a row.",
    Kind.REORDERED: "Events that bypass a buffering decorator are written first, so an older value may win.",
    Kind.DOUBTFUL: "The expression or option is valid, and can hardly be meant as it is written.",
    Kind.UNUSED: "No pipeline uses the chain.",
    Kind.NOT_AS_FLUME: "The imported pipeline differs here from what Flume did, or needs a decision.",
}


class Severity(StrEnum):
    """Whether a pipeline can run with the problem."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A spot in a file; lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """
    One thing that is wrong.

    Attributes:
        hint: the way out, such as `did you mean "…"?`; "" when the message says it all.
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
    Problems of a configuration in the order of their places, each once.

    Attributes:
        sources: file -> its lines, for showing the line a problem is about.
    """

    problems: tuple[Problem, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that keep a pipeline from running."""
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems a pipeline can run with."""
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
    """A report without duplicates and without secrets; the root file first, then included ones as they were read."""
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
    """Text that can neither break a line nor drive a terminal, and ends somewhere; values of a file are in it."""
    shown = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text[:_MAX_MESSAGE]
    )
    return shown if len(text) <= _MAX_MESSAGE else f"{shown}…"


def listed(names: Iterable[str], limit: int = 8) -> str:
    """Names in quotes with commas, cut after some."""
    names = sorted(names)
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(f'"{name}"' for name in names[:limit]) + more

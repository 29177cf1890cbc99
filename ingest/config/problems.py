"""Problems of a configuration: their kinds, places and reports."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.api.reasons import Explained
from ingest.masks import Masks

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # as YAML defines it
_MAX_MESSAGE = 1_000  # characters; enough for a list of all decorators
_MAX_SHOWN = 160  # characters; a longer line is cut around the place


class Kind(Explained):
    """All kinds of problems; `attr2hbase describe error KIND` explains each."""

    SYNTAX = (
        "syntax",
        (
            "The text is not valid YAML, or uses a feature that is not allowed: tags, several documents, or keys that "
            "are not text. The place is where parsing stopped."
        ),
        "Correct the YAML at that place.",
    )
    UNKNOWN_FIELD = (
        "unknown-field",
        "No option has this name. `attr2hbase describe NAME` lists the options of a component.",
        "Correct the name, or remove the option.",
    )
    UNKNOWN_COMPONENT = (
        "unknown-component",
        (
            "No decorator, sink, store or source has this name, or it cannot be imported. `attr2hbase describe` lists "
            "all components; a plugin must be installed or listed under `plugins`."
        ),
        "Correct the name, or install and name the plugin.",
    )
    NOT_IMPORTED = (
        "not-imported",
        "`attr2hbase import-flume` could not translate this part and wrote `not_imported` in its place.",
        "Replace it as the message proposes, or remove it.",
    )
    MISSING_FIELD = ("missing-field", "An option without a default was left out.", "Add the option.")
    WRONG_TYPE = (
        "wrong-type",
        (
            "The option requires a value of another type. Values are not converted: text that looks like a number must "
            "be quoted. Only a value with a `${VARIABLE}` is converted, quoted or not."
        ),
        "Write a value of the type in the message.",
    )
    OUT_OF_RANGE = (
        "out-of-range",
        "The value has the right type but is too small, too large, too short or too long.",
        "Write a value within the limits in the message.",
    )
    NOT_ONE_OF = (
        "not-one-of",
        "The value is not one of the allowed values.",
        "Write one of the values in the message.",
    )
    DUPLICATE_KEY = ("duplicate-key", "A mapping contains the same key twice.", "Remove one of the two, or rename it.")
    DUPLICATE_LABEL = (
        "duplicate-label",
        "Two decorators or sinks of a pipeline have the same label; metrics need unique labels.",
        "Give one of the two another label.",
    )
    BAD_UNIT = (
        "bad-unit",
        "A duration or size needs a unit, as in `5s` and `2MiB`.",
        "Add a unit, as in `5s` or `2MiB`.",
    )
    BAD_PATTERN = (
        "bad-pattern",
        "The regular expression does not compile; the place shows the mistake in it.",
        "Correct the expression at that place.",
    )
    BAD_EXPRESSION = (
        "bad-expression",
        (
            "A template, a condition or a `${…}` is malformed; the place shows the mistake in it. Write `%%` for a "
            "percent sign, `$${` for a literal `${`."
        ),
        "Correct the expression at that place; the reference lists all functions.",
    )
    UNDEFINED_VARIABLE = (
        "undefined-variable",
        "The environment variable is not set and has no default, as in `${NAME:default}`.",
        "Set the variable, or write a default.",
    )
    UNDEFINED_SECRET = (
        "undefined-secret",
        "The secret does not exist, or `secrets` does not configure where secrets are read from.",
        "Create the secret, or correct its name or `secrets`.",
    )
    UNKNOWN_REFERENCE = (
        "unknown-reference",
        "The file refers to a store, table, family, chain, pipeline, file or plugin that does not exist.",
        "Declare it, or correct the name.",
    )
    UNREACHABLE = (
        "unreachable",
        "No event can reach this decorator, sink or rule.",
        "Remove it, or correct the condition before it.",
    )
    CONFLICT = (
        "conflict",
        "Options that are valid alone exclude each other, or together have an unintended effect.",
        "Change or remove one of the options that the message names.",
    )
    TOO_LARGE = (
        "too-large",
        "The file, its nesting, its aliases or a chain exceeds a limit.",
        "Split the file, or generate fewer options.",
    )
    MISSING_ROW_KEY = (
        "missing-row-key",
        "No decorator sets the attribute that holds the row key of the sink.",
        "Add `row_key`, or a `value` for that attribute.",
    )
    MISSING_CELLS = (
        "missing-cells",
        "No decorator sets an attribute that becomes a cell, so nothing is stored.",
        "Name an attribute PREFIXfamily:qualifier, or set `sys_family` or `write_body` of the sink.",
    )
    NOT_A_CELL = (
        "not-a-cell",
        (
            "The name of an attribute, or the prefix of all names that a decorator sets, starts with the sink's prefix "
            "but has no family and qualifier, so no cell is written."
        ),
        "Name it PREFIXfamily:qualifier, set `sys_family` of the sink, or use a name without the prefix.",
    )
    UNDECLARED_FAMILY = (
        "undeclared-family",
        (
            "Cells are written to a family that the declared table does not have: the store creates it with its own "
            "defaults, or the events fail."
        ),
        "Correct the family, declare it under `tables`, or set `on_unknown: create`.",
    )
    REPLACED_CELL = (
        "replaced-cell",
        "A later cell of the same column always replaces this one.",
        "Remove one of the two cells, or give it another qualifier.",
    )
    SHARED_ROW_KEY = (
        "shared-row-key",
        "Several events may have the same row key, so later ones overwrite earlier ones.",
        "Add the identity of the event: %{topic}-%{partition}-%{offset}.",
    )
    SAME_TIME = (
        "same-time",
        "All cells of a file have the same timestamp, because all lines have the time of the file.",
        "Set event times with the decorator `timestamp`, or use `timestamp: batch`.",
    )
    OTHER_STORE = (
        "other-store",
        "The table is declared for one store and also written to another, to which the declaration does not apply.",
        "Check that both copies are intended; read the other one with the tools of its store.",
    )
    UNSTABLE = (
        "unstable",
        "A row key may depend on a decorator whose result may differ on replay, so a replay may add a row.",
        "Use the identity of the event for row keys: %{topic}-%{partition}-%{offset}.",
    )
    REORDERED = (
        "reordered",
        "Events that bypass a buffering decorator are written first, so an older value may win.",
        "Use only parts of the row key in `when`, or use `timestamp: event`.",
    )
    DEPRECATED = (
        "deprecated",
        "The option works, but a later version removes it; the message names its replacement.",
        "Write what the message names.",
    )
    DOUBTFUL = (
        "doubtful",
        "The expression or option is valid, but probably a mistake.",
        "Write what the message proposes, or ignore the warning.",
    )
    UNUSED = ("unused", "No pipeline uses the chain.", "Remove the chain, or use it with `- chain: NAME`.")
    NOT_AS_FLUME = (
        "not-as-flume",
        "The imported pipeline differs from Flume in this point, or needs a decision.",
        "Compare the generated pipeline with the original at this place.",
    )


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

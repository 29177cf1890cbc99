"""The outcome for each part of the original."""

from dataclasses import dataclass, field
from enum import StrEnum

from ingest.config import Place, Problem, Report

_MAX_LINE = 72  # characters of the original in one line of a report


class Outcome(StrEnum):
    """The outcome for a part."""

    TRANSLATED = "translated"
    REPLACED = "replaced"
    LEFT_OUT = "left out"
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A part of the original.

    Attributes:
        original: its text, shortened if it is long.
        by: its replacement in the pipeline; "" for none.
        why: notes for the user, or why there is no replacement.
    """

    outcome: Outcome
    place: Place
    original: str
    by: str = ""
    why: str = ""

    def __str__(self) -> str:
        """As one line."""
        by = f" -> {self.by}" if self.by else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.outcome:<10}  {self.place.line}:{self.place.column}  {self.original}{by}{why}"

    def to_json(self) -> dict[str, object]:
        """The same as plain data."""
        return {
            "outcome": self.outcome.value.replace(" ", "_"),
            "line": self.place.line,
            "column": self.place.column,
            "original": self.original,
            "by": self.by,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Imported:
    """
    The result of an import.

    Attributes:
        yaml: the pipeline file.
        entries: the outcome for each part, in the order of the original.
        warnings: differences and decisions that the user should check.
        report: the warnings with excerpts.
    """

    yaml: str = field(repr=False)
    entries: tuple[Entry, ...]
    warnings: tuple[Problem, ...]
    report: Report = field(repr=False)


def shown(original: str) -> str:
    """A part of the original on one line, shortened if it is long."""
    line = " ".join(original.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"

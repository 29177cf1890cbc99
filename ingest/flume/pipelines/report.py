"""What became of each part of the original."""

from dataclasses import dataclass, field
from enum import StrEnum

from ingest.config import Place, Problem, Report

_MAX_LINE = 72  # characters of the original in one line of a report


class Outcome(StrEnum):
    """What can become of a part."""

    TRANSLATED = "translated"
    REPLACED = "replaced"
    LEFT_OUT = "left out"
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A part of the original.

    Attributes:
        original: as it was written, cut when it is long.
        by: what stands for it in the pipeline; "" for nothing.
        why: what the reader should know of it, or why nothing does.
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
    A pipeline file made of an old configuration.

    Attributes:
        yaml: the file.
        entries: what became of each part, in the order of the original.
        warnings: what the reader should look at.
        report: those, with the lines they are about.
    """

    yaml: str = field(repr=False)
    entries: tuple[Entry, ...]
    warnings: tuple[Problem, ...]
    report: Report = field(repr=False)


def shown(original: str) -> str:
    """A part of the original on one line, cut when it is long."""
    line = " ".join(original.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"

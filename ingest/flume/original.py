"""The imported text, with places and problems."""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from ingest.api import ConfigSyntaxError
from ingest.config import Kind, Place, Problem, Severity
from ingest.config.problems import Report, report_of
from ingest.masks import MASK, Masks


@dataclass(slots=True)
class Original:
    """
    A text and its problems.

    Attributes:
        file: its name, for messages.
        zoned: offsets of parts that depend on the time zone of Flume's machines.
    """

    file: str
    text: str = field(repr=False)
    problems: list[Problem] = field(default_factory=list)
    zoned: list[int] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list, repr=False)
    _hidden: list[tuple[int, int]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._lines = [0, *(at + 1 for at, character in enumerate(self.text) if character == "\n")]

    @property
    def has_errors(self) -> bool:
        """Whether an error prevents the import."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    def place(self, at: int) -> Place:
        """The place of an offset."""
        line = bisect_right(self._lines, at)
        return Place(self.file, line, at - self._lines[line - 1] + 1)

    def hide(self, start: int, stop: int) -> None:
        """Mask a part in excerpts; parts must be masked in order."""
        self._hidden.append((start, stop))

    def error(self, kind: Kind, at: int, message: str, hint: str = "") -> None:
        """Report an error, which prevents the import."""
        self.problems.append(Problem(kind, self.place(at), message, hint))

    def warning(self, at: int, message: str, hint: str = "", kind: Kind = Kind.NOT_AS_FLUME) -> None:
        """Report a warning."""
        self.problems.append(Problem(kind, self.place(at), message, hint, Severity.WARNING))

    def syntax_error(self, at: int, message: str, hint: str = "", kind: Kind = Kind.SYNTAX) -> ConfigSyntaxError:
        """Report an error and return the exception to raise, where parsing cannot continue."""
        self.error(kind, at, message, hint)
        return ConfigSyntaxError(str(self.problems[-1]), report=self.report())

    def report(self) -> Report:
        """All problems, with excerpts."""
        return report_of(self.problems, {self.file: self._shown()}, Masks())

    def _shown(self) -> str:
        pieces, end = [], 0
        for start, stop in self._hidden:
            line_breaks = re.findall(r"[\r\n]", self.text[start:stop])
            pieces += [self.text[end:start], MASK, *line_breaks]
            end = stop
        return "".join([*pieces, self.text[end:]])

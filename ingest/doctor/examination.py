"""Examinations run in order; each finds problems with a severity, or is skipped with the reason."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ingest.api import IngestError


class Severity(StrEnum):
    """How serious a finding is, the least serious first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    def reaches(self, other: "Severity") -> bool:
        """Whether this is at least as serious."""
        order = list(Severity)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One problem, with the numbers that show it and the remedy.

    Attributes:
        check: id of the check, such as `M5` or `retention`.
        message: the problem, with its numbers as text.
        subject: what was examined, such as a topic; "" if there is only one.
        numbers: the same numbers by name; sizes in bytes, times in seconds.
        property: the setting to change, as its product spells it; "" if none helps.
        value: the value to set.
        hint: what else to do.
        why: the reason, in one line.
        docs: the section of the documentation on it, `FILE#ANCHOR`.
    """

    check: str
    severity: Severity
    message: str
    subject: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    property: str = ""
    value: str = ""
    hint: str = ""
    why: str = ""
    docs: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """
    The result of a check that ran.

    Attributes:
        text: what is there, in a few words.
        findings: its problems; empty if there are none.
    """

    text: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """The check did not run."""

    reason: str


Key = tuple[str, str]
"""Id of a check, and its subject."""


@dataclass(frozen=True, slots=True)
class Examination:
    """
    One check of one subject.

    Attributes:
        run: examines it; an IngestError is a finding of severity error.
        needs: examinations without which this one means nothing.
        docs: the section of the documentation on it.
    """

    check: str
    subject: str
    run: Callable[[], Found | Skipped]
    needs: tuple[Key, ...] = ()
    docs: str = ""

    @property
    def key(self) -> Key:
        """Identifies it among the examinations of one run."""
        return self.check, self.subject


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an examination."""

    check: str
    subject: str
    result: Found | Skipped

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Its problems."""
        return self.result.findings if isinstance(self.result, Found) else ()

    @property
    def has_failed(self) -> bool:
        """Whether examinations that need this one are skipped."""
        return any(finding.severity.reaches(Severity.ERROR) for finding in self.findings)


def examine(examinations: Iterable[Examination]) -> Iterator[Outcome]:
    """
    Run examinations in order.

    One that needs a failed one is skipped, and so are those that need the skipped one.
    """
    failed: dict[Key, str] = {}
    for examination in examinations:
        blocked_by = next((failed[need] for need in examination.needs if need in failed), None)
        outcome = Outcome(
            examination.check,
            examination.subject,
            _run(examination) if blocked_by is None else Skipped(f"{blocked_by} failed"),
        )
        if blocked_by is not None:
            failed[examination.key] = blocked_by
        elif outcome.has_failed:
            failed[examination.key] = f'check "{examination.check}" of {examination.subject}'
        yield outcome


def worst(outcomes: Iterable[Outcome]) -> Severity | None:
    """The highest severity among the findings; None if there are none."""
    severities = {finding.severity for outcome in outcomes for finding in outcome.findings}
    return next((severity for severity in reversed(Severity) if severity in severities), None)


def _run(examination: Examination) -> Found | Skipped:
    try:
        return examination.run()
    except IngestError as error:
        problem = Finding(
            examination.check,
            Severity.ERROR,
            error.message,
            examination.subject,
            hint=error.hint or "",
            docs=examination.docs,
        )
        return Found(findings=(problem,))

"""Findings of the checks of a region server, with their link to the guide."""

from collections.abc import Mapping

from ingest.doctor.examination import Finding, Severity

GUIDE = "docs/guides/hbase-memory.md"


def docs_of(check: str) -> str:
    """The section of the guide on a check."""
    return f"{GUIDE}#{check.lower()}"


def finding(  # noqa: PLR0913 - the fields of a finding
    check: str,
    severity: Severity,
    message: str,
    numbers: Mapping[str, float | str],
    *,
    why: str,
    setting: tuple[str, str] | None = None,
    hint: str = "",
    subject: str = "",
) -> Finding:
    """
    A finding of a check.

    Args:
        check: its id.
        severity: of the problem.
        message: the problem with its numbers.
        numbers: of the message, by name.
        why: the reason, in one line.
        setting: property and value to set; None if none helps.
        hint: what else to do.
        subject: what was examined.
    """
    name, value = setting or ("", "")
    return Finding(check, severity, message, subject, numbers, name, value, hint, why, docs_of(check))

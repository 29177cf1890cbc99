"""Links to the guide on these checks."""

GUIDE = "docs/guides/doctor.md"


def docs_of(check: str) -> str:
    """The section of the guide on a check."""
    return f"{GUIDE}#{check}"

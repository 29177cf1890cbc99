"""What a check of a body store finds."""

from sinks.bodies.body_store import BodyStore
from sinks.bodies.checking import Finding


def findings(bodies: BodyStore, *, is_repair: bool = False) -> list[Finding]:
    """What is damaged, orphaned or dangling, without the progress of the check."""
    return [each for each in bodies.checked(is_repair=is_repair) if isinstance(each, Finding)]

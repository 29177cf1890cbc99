"""What a reader of a running pipeline wants to see of its events."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

MAX_ATTRIBUTES = 50
"""Names of attributes that are kept for a tap."""


@dataclass(frozen=True, slots=True)
class Tap:
    """
    A place of a pipeline whose events are shown.

    Attributes:
        id: of the tap.
        at: name of a decorator or sink; "" for the records that the source reads, or for all failed events.
        is_sink: whether it is a sink, of which the cells are shown.
        is_before: events that reach the decorator, in place of those that it sends.
        is_failed: events that fail there, with the error, in place of those that are sent.
        where: condition of the events; None for all.
    """

    id: str
    at: str = ""
    is_sink: bool = False
    is_before: bool = False
    is_failed: bool = False
    where: str | None = None


@dataclass(slots=True)
class TapCounts:
    """
    How many events the condition of a tap was compared with.

    Attributes:
        compared: events.
        met: those that meet it.
        failed: those for which it could not be evaluated.
        error: of the first one of these.
        absent: attributes that the condition names and that none of the events has.
        attributes: names that the first events have, at most `MAX_ATTRIBUTES`.
    """

    compared: int = 0
    met: int = 0
    failed: int = 0
    error: str = ""
    absent: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)

    def add(self, other: "TapCounts") -> None:
        """Add the counts of another task."""
        if other.compared:
            self.absent = self.absent & other.absent if self.compared else set(other.absent)
        self.compared += other.compared
        self.met += other.met
        self.failed += other.failed
        self.error = self.error or other.error
        self.attributes |= set(sorted(other.attributes - self.attributes)[: MAX_ATTRIBUTES - len(self.attributes)])

    def packed(self) -> list[Any]:
        """The same as plain data."""
        return [self.compared, self.met, self.failed, self.error, sorted(self.absent), sorted(self.attributes)]

    @classmethod
    def unpacked(cls, content: Sequence[Any]) -> Self:
        """The counts that `packed` has returned."""
        compared, met, failed, error, absent, attributes = content
        return cls(compared, met, failed, error, set(absent), set(attributes))

    def to_json(self) -> dict[str, Any]:
        """The same for readers."""
        return {
            "compared": self.compared,
            "met": self.met,
            "failed": self.failed,
            "error": self.error,
            "absent": sorted(self.absent),
            "attributes": sorted(self.attributes),
        }

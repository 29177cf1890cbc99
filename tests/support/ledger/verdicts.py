"""Verdicts: the outcome of each event, and what is wrong."""

from dataclasses import dataclass, field
from enum import StrEnum

from tests.support.ledger.observed import Key

SHOWN = 5  # examples of each kind in a message


class Verdict(StrEnum):
    """The outcome of one event, or the fault of one row."""

    STORED = "stored"
    DEAD_LETTERED = "dead-lettered"
    DROPPED_BY_RULE = "dropped by rule"
    PENDING = "pending"
    LOST = "lost"
    CORRUPT = "corrupt"
    PHANTOM = "phantom"
    DANGLING = "dangling"
    REGRESSED = "regressed"
    MIXED = "mixed"


@dataclass
class Judgement:
    """
    All verdicts.

    Attributes:
        verdicts: verdict of each event that is in the topic.
        wrong: verdict -> descriptions of what is wrong.
        acknowledged: events below an acknowledged offset.
    """

    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    wrong: dict[Verdict, list[str]] = field(default_factory=dict)
    acknowledged: set[Key] = field(default_factory=set)

    def add(self, verdict: Verdict, text: str) -> None:
        """Add a description of what is wrong."""
        self.wrong.setdefault(verdict, []).append(text)

    def having(self, verdict: Verdict) -> list[Key]:
        """Events with a verdict."""
        return [key for key, each in self.verdicts.items() if each is verdict]

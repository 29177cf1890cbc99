"""What a case in an event leads to: the choices that several components have for an option `on_<case>`."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from ingest.api.errors import EventError

T = TypeVar("T")


class OnMissing(StrEnum):
    """What an attribute that is to be read, but is not there, leads to."""

    EMPTY = "empty"
    UNSET = "unset"
    ERROR = "error"


class OnInvalid(StrEnum):
    """What a text that can not be read as what it should be leads to, or an absent one."""

    ERROR = "error"
    KEEP = "keep"


class Fate(StrEnum):
    """The same, or what a text that is not found leads to, for steps that drop events too."""

    ERROR = "error"
    KEEP = "keep"
    DROP = "drop"

    def keeps_or_raises(self, error: EventError) -> bool:
        """Whether an event passes that has this error, or is dropped; the error is raised if it is to fail."""
        if self is Fate.ERROR:
            raise error
        return self is Fate.KEEP

    def keeps_or_refuses(self, error: Callable[[T], EventError], what: T) -> bool:
        """
        The same where there is no error yet; it is made only if it is raised, for that takes longer than many a step.

        Args:
            error: makes the error.
            what: it is about.
        """
        if self is Fate.ERROR:
            raise error(what)
        return self is Fate.KEEP


class OnRepeated(StrEnum):
    """What several values of one name lead to."""

    FIRST = "first"
    JOIN = "join"
    LAST = "last"

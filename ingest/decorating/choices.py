"""The choices of options `on_<case>` that several components have."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from ingest.api.errors import EventError

T = TypeVar("T")


class OnMissing(StrEnum):
    """The action if an attribute that is read does not exist."""

    EMPTY = "empty"
    UNSET = "unset"
    ERROR = "error"


class OnInvalid(StrEnum):
    """The action if text does not have the expected format, or does not exist."""

    ERROR = "error"
    KEEP = "keep"


class FailureAction(StrEnum):
    """The action if text does not have the expected format or is not found, for decorators that may drop events."""

    ERROR = "error"
    KEEP = "keep"
    DROP = "drop"

    def keeps_or_raises(self, error: EventError) -> bool:
        """Whether an event with this error passes (True) or is dropped (False); for `error`, raises the error."""
        if self is FailureAction.ERROR:
            raise error
        return self is FailureAction.KEEP

    def keeps_or_refuses(self, error: Callable[[T], EventError], what: T) -> bool:
        """
        The same, but creates the error only to raise it, because that takes longer than many decorators.

        Args:
            error: creates the error.
            what: its argument.
        """
        if self is FailureAction.ERROR:
            raise error(what)
        return self is FailureAction.KEEP


class OnRepeated(StrEnum):
    """The action if one name has several values."""

    FIRST = "first"
    JOIN = "join"
    LAST = "last"


class WhiteSpace(StrEnum):
    """The meaning of white space around separators."""

    LENIENT = "lenient"
    STRICT = "strict"

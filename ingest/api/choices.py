"""What a case in an event leads to: the choices that several components have for an option `on_<case>`."""

from enum import StrEnum


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

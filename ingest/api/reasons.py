"""Codes that no error has: why events are dropped, why a pipeline is blocked, and members of enumerations."""

from enum import StrEnum
from typing import Self


def drop_reason(code: str, meaning: str, remedy: str) -> str:  # noqa: ARG001 - the reference reads them here
    """
    Declare why events are dropped; the code of an error has `dropped` in its class instead.

    Returns:
        The code.
    """
    return code


def blocked_reason(code: str, meaning: str, remedy: str) -> str:  # noqa: ARG001 - the reference reads them here
    """
    Declare why a pipeline is blocked though no error was raised.

    Returns:
        The code.
    """
    return code


class Explained(StrEnum):
    """
    An enumeration of codes, each declared as `NAME = "code", "its meaning", "what to do"`.

    Attributes:
        meaning: for `describe error`.
        remedy: what to do about it; "" if the error with this code has it.
    """

    meaning: str
    remedy: str

    def __new__(cls, code: str, meaning: str = "", remedy: str = "") -> Self:
        """A member; `meaning` has a default because a call of the class with a code looks the member up."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning, member.remedy = meaning, remedy
        return member

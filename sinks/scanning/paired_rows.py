"""The rows of two tables side by side, by their keys."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Protocol, TypeVar


class Keyed(Protocol):
    """A row."""

    @property
    def key(self) -> bytes:
        """The row key."""


R = TypeVar("R", bound=Keyed)


class Difference(StrEnum):
    """How the second of two tables differs from the first in a row."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


def paired(first: Iterator[R], second: Iterator[R]) -> Iterator[tuple[R | None, R | None]]:
    """
    The rows of both, in the order of their keys; None for the one that lacks a key.

    Args:
        first: rows with ascending keys.
        second: as well.
    """
    one, other = next(first, None), next(second, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one.key < other.key):
            yield one, None
            one = next(first, None)
        elif one is None or other.key < one.key:
            yield None, other
            other = next(second, None)
        else:
            yield one, other
            one, other = next(first, None), next(second, None)


def differing(
    first: Iterator[R], second: Iterator[R], content: Callable[[R], object]
) -> Iterator[tuple[R | None, R | None, Difference | None]]:
    """
    As `paired`, with what differs; None for rows of the same content.

    Args:
        first: rows with ascending keys.
        second: as well.
        content: of a row, which is compared.
    """
    for one, other in paired(first, second):
        if one is None or other is None:
            yield one, other, Difference.ADDED if one is None else Difference.REMOVED
        else:
            yield one, other, None if content(one) == content(other) else Difference.CHANGED
